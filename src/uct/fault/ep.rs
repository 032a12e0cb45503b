//! Endpoints with faults.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Instant;

use crate::sys::hostid::Process;
use crate::ucs::status::{Error, Result};
use crate::uct::{Ep, IoVec, IoVecMut, Post, Route, Transfer, Vitals, Which};

use super::plan::Fate;
use super::{Shared, Told, name_of};

/// What outlives the endpoint for as long as something is to be told of it.
pub struct Lane {
    shared: Rc<Shared>,
    inner: RefCell<Option<Rc<dyn Ep>>>,
    pub token: u64,
    pub dead: Cell<Option<Error>>,
    /// Its failure has been told.
    pub told: Cell<bool>,
    /// Tokens of operations that are under way.
    pending: RefCell<Vec<u64>>,
    /// A message whose fate is to pass, and that the lane has no room for yet: it was packed to see
    /// what it is.
    held: RefCell<Option<(u8, Vec<u8>)>>,
    /// Since when an operation has waited for [`super::plan::Plan::delay`].
    since: Cell<Option<Instant>>,
}

impl Lane {
    pub fn new(shared: Rc<Shared>, inner: Rc<dyn Ep>, token: u64) -> Lane {
        Lane {
            shared,
            inner: RefCell::new(Some(inner)),
            token,
            dead: Cell::new(None),
            told: Cell::new(false),
            pending: RefCell::default(),
            held: RefCell::default(),
            since: Cell::new(None),
        }
    }

    /// Sends the message that is held. False if it still is.
    pub fn send_held(&self) -> bool {
        let mut held = self.held.borrow_mut();
        let (Some((id, bytes)), Some(inner)) = (&*held, self.inner()) else {
            return true;
        };
        if self.dead.get().is_none() && send_bytes(&*inner, *id, bytes) == Ok(Post::NoResource) {
            return false;
        }
        *held = None;
        true
    }

    fn inner(&self) -> Option<Rc<dyn Ep>> {
        self.inner.borrow().clone()
    }

    fn check_by(&self, ask: impl Fn(&dyn Ep) -> Result<()>) -> Result<()> {
        match (self.dead.get(), self.inner()) {
            (Some(error), _) => Err(error),
            (None, Some(inner)) => ask(&*inner),
            (None, None) => Ok(()),
        }
    }

    /// An operation has ended.
    pub fn ended(&self, token: u64) {
        self.pending.borrow_mut().retain(|other| *other != token);
    }

    /// The lane is dead, but what it has taken arrives.
    fn end(self: &Rc<Self>, error: Error) {
        if self.dead.replace(Some(error)).is_none() {
            crate::ucs_diag!("fault injection: a lane ends: {error}");
            self.shared.tell(Told::Failed(self.clone(), error));
        }
    }

    /// The lane is dead: what is under way fails, then the endpoint.
    pub fn kill(self: &Rc<Self>, error: Error) {
        if self.dead.replace(Some(error)).is_some() {
            return;
        }
        crate::ucs_diag!("fault injection: a lane dies: {error}");
        // A transport that can be cut tells by itself what follows.
        if self.inner().is_some_and(|inner| inner.cut(error)) {
            return;
        }
        if let Some(inner) = self.inner() {
            inner.let_go(Which::All);
        }
        for token in self.pending.take() {
            self.shared.tell(Told::Completed(token, Err(error)));
        }
        self.shared.tell(Told::Failed(self.clone(), error));
    }
}

fn send_bytes(lane: &dyn Ep, id: u8, bytes: &[u8]) -> Result<Post> {
    lane.am_bcopy(id, bytes.len(), &mut |to| match to.get_mut(..bytes.len()) {
        Some(to) => {
            to.copy_from_slice(bytes);
            bytes.len()
        }
        None => 0,
    })
}

pub struct FaultEp(Rc<Lane>);

impl FaultEp {
    pub fn new(lane: Rc<Lane>) -> FaultEp {
        FaultEp(lane)
    }

    /// The lane below, if it may be given something now.
    fn ready(&self) -> Result<Option<Rc<dyn Ep>>> {
        let lane = &self.0;
        if let Some(error) = lane.dead.get() {
            return Err(error);
        }
        let inner = lane.inner().ok_or(Error::NotConnected)?;
        Ok((!self.waits() && lane.send_held()).then_some(inner))
    }

    /// One operation of this `kind` and of `bytes`, with its token if it can complete later.
    fn post(
        &self,
        kind: &str,
        bytes: usize,
        token: Option<u64>,
        post: impl FnOnce(&dyn Ep) -> Result<Post>,
    ) -> Result<Post> {
        match self.ready()? {
            Some(inner) => self.decide(&inner, kind, bytes, token, post),
            None => Ok(Post::NoResource),
        }
    }

    fn decide(
        &self,
        inner: &Rc<dyn Ep>,
        kind: &str,
        bytes: usize,
        token: Option<u64>,
        post: impl FnOnce(&dyn Ep) -> Result<Post>,
    ) -> Result<Post> {
        let lane = &self.0;
        let plan = &lane.shared.plan;
        let error = Error::ConnectionReset;
        match plan.next_of(kind, bytes, token.is_some()) {
            Fate::Pass => {
                let result = post(&**inner);
                match (result, token) {
                    (Ok(Post::Pending), Some(token)) => lane.pending.borrow_mut().push(token),
                    (Ok(Post::NoResource) | Err(_), _) => plan.undo(kind, bytes),
                    _ => {}
                }
                result
            }
            Fate::Refuse => {
                lane.kill(error);
                Err(error)
            }
            Fate::Fail => {
                if let Some(token) = token {
                    lane.shared.tell(Told::Completed(token, Err(error)));
                }
                lane.kill(error);
                Ok(if token.is_some() {
                    Post::Pending
                } else {
                    Post::Done
                })
            }
            Fate::FailLate => {
                let Some(token) = token else {
                    // It is to arrive: the lane ends without being cut.
                    let result = post(&**inner)?;
                    match result {
                        Post::NoResource => plan.undo(kind, bytes),
                        _ => lane.end(error),
                    }
                    return Ok(result);
                };
                match post(&**inner)? {
                    Post::NoResource => {
                        plan.undo(kind, bytes);
                        return Ok(Post::NoResource);
                    }
                    Post::Done => {
                        lane.shared.tell(Told::Completed(token, Err(error)));
                        // What was sent is to arrive: the lane ends without being cut.
                        lane.end(error);
                    }
                    Post::Pending => lane.shared.doomed.borrow_mut().push((token, lane.clone())),
                }
                Ok(Post::Pending)
            }
        }
    }

    /// Whether an operation has to wait for its delay.
    fn waits(&self) -> bool {
        let Some(delay) = self.0.shared.plan.delay else {
            return false;
        };
        let now = Instant::now();
        match self.0.since.get() {
            Some(since) if now - since >= delay => {
                self.0.since.set(None);
                false
            }
            Some(_) => true,
            None => {
                self.0.since.set(Some(now));
                true
            }
        }
    }
}

fn total(iov: &[IoVec]) -> usize {
    iov.iter().map(|part| part.len).sum()
}

impl Ep for FaultEp {
    fn am_short(&self, id: u8, header: u64, payload: &[u8]) -> Result<Post> {
        let kind = name_of(id, &header.to_ne_bytes());
        self.post(kind, 8 + payload.len(), None, |ep| {
            ep.am_short(id, header, payload)
        })
    }

    fn am_bcopy(
        &self,
        id: u8,
        max_len: usize,
        pack: &mut dyn FnMut(&mut [u8]) -> usize,
    ) -> Result<Post> {
        let lane = &self.0;
        if !lane.shared.plan.is_choosy() {
            return self.post("", max_len, None, |ep| ep.am_bcopy(id, max_len, pack));
        }
        let Some(inner) = self.ready()? else {
            return Ok(Post::NoResource);
        };
        let mut bytes = vec![0; max_len];
        let len = pack(&mut bytes).min(max_len);
        bytes.truncate(len);
        let kind = name_of(id, &bytes);
        self.decide(&inner, kind, len, None, |ep| {
            match send_bytes(ep, id, &bytes)? {
                Post::NoResource => {
                    *lane.held.borrow_mut() = Some((id, bytes));
                    Ok(Post::Done)
                }
                post => Ok(post),
            }
        })
    }

    fn am_zcopy(&self, id: u8, header: &[u8], iov: &[IoVec], token: u64) -> Result<Post> {
        let kind = name_of(id, header);
        self.post(kind, header.len() + total(iov), Some(token), |ep| {
            ep.am_zcopy(id, header, iov, token)
        })
    }

    fn get_zcopy(&self, iov: &[IoVecMut], remote: u64, rkey: u64, token: u64) -> Result<Post> {
        let bytes = iov.iter().map(|part| part.len).sum();
        self.post("get", bytes, Some(token), |ep| {
            ep.get_zcopy(iov, remote, rkey, token)
        })
    }

    fn put_zcopy(&self, iov: &[IoVec], remote: u64, rkey: u64, token: u64) -> Result<Post> {
        self.post("put", total(iov), Some(token), |ep| {
            ep.put_zcopy(iov, remote, rkey, token)
        })
    }

    fn get_list(&self, list: &[Transfer], token: u64) -> Result<Post> {
        let bytes = list.iter().map(|part| part.len).sum();
        self.post("get", bytes, Some(token), |ep| ep.get_list(list, token))
    }

    fn put_list(&self, list: &[Transfer], token: u64) -> Result<Post> {
        let bytes = list.iter().map(|part| part.len).sum();
        self.post("put", bytes, Some(token), |ep| ep.put_list(list, token))
    }

    fn device_ep(&self) -> Result<u64> {
        let inner = self.0.inner().ok_or(Error::NotConnected)?;
        inner.device_ep()
    }

    fn get_leased(&self, iov: &[IoVecMut], remote: u64, lease: u64, token: u64) -> Result<Post> {
        let bytes = iov.iter().map(|part| part.len).sum();
        self.post("get", bytes, Some(token), |ep| {
            ep.get_leased(iov, remote, lease, token)
        })
    }

    fn flush(&self, token: u64) -> Result<Post> {
        if let Some(error) = self.0.dead.get() {
            return Err(error);
        }
        let Some(inner) = self.0.inner() else {
            return Err(Error::NotConnected);
        };
        if !self.0.send_held() {
            return Ok(Post::NoResource);
        }
        if self.0.shared.plan.is_choosy() {
            return self.post("flush", 0, Some(token), |ep| ep.flush(token));
        }
        let result = inner.flush(token);
        if result == Ok(Post::Pending) {
            self.0.pending.borrow_mut().push(token);
        }
        result
    }

    fn let_go(&self, which: Which) -> bool {
        let found = self.0.inner().is_some_and(|inner| inner.let_go(which));
        let kept = |token: &u64| !which.includes(*token);
        self.0.pending.borrow_mut().retain(kept);
        found
    }

    fn cut(&self, error: Error) -> bool {
        self.0.kill(error);
        true
    }

    fn below(&self) -> Option<Rc<dyn Ep>> {
        self.0.dead.get().and_then(|_| self.0.inner())
    }

    fn route(&self) -> Option<Box<dyn Route>> {
        self.0.inner()?.route()
    }

    fn watch(&self) {
        if let Some(inner) = self.0.inner() {
            inner.watch();
        }
    }

    fn hurry(&self) {
        if let Some(inner) = self.0.inner() {
            inner.hurry();
        }
    }

    fn peer_left(&self) -> bool {
        self.0.inner().is_some_and(|inner| inner.peer_left())
    }

    fn process(&self) -> Option<Process> {
        self.0.inner().and_then(|inner| inner.process())
    }

    fn peer(&self) -> Option<String> {
        self.0.inner().and_then(|inner| inner.peer())
    }

    fn vitals(&self) -> Option<Vitals> {
        self.0.inner().and_then(|inner| inner.vitals())
    }

    fn check(&self) -> Result<()> {
        self.0.check_by(|inner| inner.check())
    }

    fn check_host(&self) -> Result<()> {
        self.0.check_by(|inner| inner.check_host())
    }
}

impl Drop for FaultEp {
    fn drop(&mut self) {
        self.0.told.set(true);
        self.0.inner.take();
    }
}
