//! A lane to a peer that may not be connected yet, and of which it may not be known whether it leads
//! there, with others that could do instead: a host has addresses that only itself can use, as
//! bridges of containers, or that a firewall hides. Nothing is accepted for sending before the peer
//! has answered, so that another way can be tried without loss.
//!
//! Where nobody waits to hear of the peer's death, a connection is made when it is first used: many
//! endpoints are made in advance, and never used.

use core::cell::{Cell, OnceCell, RefCell};
use std::rc::{Rc, Weak};

use hashbrown::{HashMap, HashSet};

use crate::sys::hostid::Process;
use crate::ucs::status::{Error, Result};
use crate::uct::{Ep, EpParams, Iface, IoVec, IoVecMut, Post, Vitals, Which};

/// A way that can be tried.
pub struct Way {
    pub iface: Rc<dyn Iface>,
    /// Index of the interface in the worker.
    pub local: u8,
    /// The device's address, and from `split` on the interface's.
    addresses: Box<[u8]>,
    split: usize,
}

impl Way {
    pub fn new(iface: Rc<dyn Iface>, local: u8, device_addr: &[u8], iface_addr: &[u8]) -> Way {
        Way {
            iface,
            local,
            addresses: [device_addr, iface_addr].concat().into(),
            split: device_addr.len(),
        }
    }

    fn open(&self, token: u64) -> Result<Rc<dyn Ep>> {
        let (device_addr, iface_addr) = self
            .addresses
            .split_at_checked(self.split)
            .ok_or(Error::InvalidAddr)?;
        self.iface.create_ep(&EpParams {
            device_addr,
            iface_addr,
            token,
        })
    }

    fn is_same(&self, other: &Way) -> bool {
        (self.local, self.split) == (other.local, other.split) && self.addresses == other.addresses
    }
}

/// Ways to one peer, best first. Shared by the endpoints to it.
pub type Ways = Vec<Way>;

/// What the endpoints of a worker to the same peer share.
#[derive(Default)]
pub struct KnownWays {
    by_peer: RefCell<HashMap<u64, Weak<Ways>>>,
    names: RefCell<HashSet<Name>>,
}

/// What a peer calls itself, as endpoints hold it: by a pointer of one word.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Name(Rc<Box<str>>);

impl core::ops::Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl core::borrow::Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self
    }
}

/// So few are never looked through for those that nobody uses any more.
const FEW: usize = 16;

impl KnownWays {
    /// `name`, or the same that another endpoint has.
    pub fn name(&self, name: &str) -> Name {
        let mut names = self.names.borrow_mut();
        if let Some(known) = names.get(name) {
            return known.clone();
        }
        if names.len() >= FEW && names.len() == names.capacity() {
            names.retain(|name| Rc::strong_count(&name.0) > 1);
        }
        let name = Name(Rc::new(name.into()));
        names.insert(name.clone());
        name
    }

    /// `ways`, or the same that another endpoint to `peer` has.
    pub fn share(&self, peer: u64, ways: Ways) -> Rc<Ways> {
        let mut by_peer = self.by_peer.borrow_mut();
        let known = by_peer.get(&peer).and_then(Weak::upgrade);
        let is_same = |known: &Rc<Ways>| {
            known.len() == ways.len() && known.iter().zip(&ways).all(|(a, b)| a.is_same(b))
        };
        if let Some(known) = known.filter(is_same) {
            return known;
        }
        if by_peer.len() >= FEW && by_peer.len() == by_peer.capacity() {
            by_peer.retain(|_, ways| ways.strong_count() != 0);
        }
        let ways = Rc::new(ways);
        by_peer.insert(peer, Rc::downgrade(&ways));
        ways
    }
}

/// What can still be tried.
struct Left {
    /// Of the endpoint.
    token: u64,
    ways: Rc<Ways>,
    /// What is tried; `None` before the first use.
    lane: Option<Rc<dyn Ep>>,
    /// The way that it takes, and whether it is waited for without hurry.
    current: u8,
    patient: bool,
    /// Those not tried yet, a bit each.
    untried: u16,
    /// Those given up for slowness once: the last resort.
    slow: u16,
}

impl Left {
    fn way(&self) -> Option<&Way> {
        self.ways.get(usize::from(self.current))
    }

    /// Goes on to the next; false if there is none.
    fn next(&mut self) -> bool {
        let (from, patient) = match self.untried {
            0 => (&mut self.slow, true),
            _ => (&mut self.untried, false),
        };
        if *from == 0 {
            return false;
        }
        self.current = from.trailing_zeros() as u8;
        self.patient = patient;
        *from &= *from - 1;
        true
    }

    /// Opens the first that can be opened, from the current one on.
    ///
    /// # Errors
    /// Of the last, if none can be opened.
    fn open(&mut self) -> Result<Rc<dyn Ep>> {
        loop {
            let opened = self.way().ok_or(Error::Unreachable)?.open(self.token);
            match opened {
                Ok(ep) => {
                    if !self.patient && (self.untried | self.slow) != 0 {
                        ep.hurry();
                    }
                    self.lane = Some(ep.clone());
                    return Ok(ep);
                }
                Err(error) if !self.next() => return Err(error),
                Err(_) => {}
            }
        }
    }
}

/// See the module. It lies in its endpoint, of which there are thousands.
pub struct Attempts {
    /// What is used, once the peer has answered or nothing else is left to be tried: what follows is
    /// the lane's own affair.
    proven: OnceCell<Rc<dyn Ep>>,
    /// `None` then, and when nothing could be opened at all.
    left: Cell<Option<Box<Left>>>,
}

impl Attempts {
    /// There is one way, and it is open.
    pub fn settled(lane: Rc<dyn Ep>) -> Attempts {
        Attempts {
            proven: OnceCell::from(lane),
            left: Cell::new(None),
        }
    }

    /// Begins with the first of `ways` that can be opened; with `lazy` when it is first used. Nothing
    /// is left to be tried where there is only one, and it is opened now. Returns the index of the
    /// interface as well.
    ///
    /// # Errors
    /// Of the last, if none can be opened.
    pub fn begin(ways: Rc<Ways>, lazy: bool, token: u64) -> Result<(Attempts, u8)> {
        let count = ways.len().min(u16::BITS as usize);
        let mut left = Left {
            token,
            lane: None,
            current: 0,
            patient: false,
            // All but the first.
            untried: ((1_u32 << count) - 1) as u16 & !1,
            slow: 0,
            ways,
        };
        if !lazy {
            let ep = left.open()?;
            if left.untried == 0 {
                let local = left.way().map_or(0, |way| way.local);
                return Ok((Attempts::settled(ep), local));
            }
        }
        let local = left.way().map_or(0, |way| way.local);
        let attempts = Attempts {
            proven: OnceCell::new(),
            left: Cell::new(Some(Box::new(left))),
        };
        Ok((attempts, local))
    }

    /// What it has come to: this, once it has.
    #[inline(always)]
    pub fn proven(&self) -> Option<&Rc<dyn Ep>> {
        self.proven.get()
    }

    /// The lane, if it was the only way from the start.
    ///
    /// # Errors
    /// `Unreachable` if that is not so.
    pub fn into_proven(self) -> Result<Rc<dyn Ep>> {
        self.proven.into_inner().ok_or(Error::Unreachable)
    }

    fn with_left<T>(&self, f: impl FnOnce(&mut Left) -> T) -> Option<T> {
        let mut left = self.left.take()?;
        let value = f(&mut left);
        self.left.set(Some(left));
        Some(value)
    }

    /// Index of the interface in use, as long as that may change.
    pub fn local(&self) -> Option<u8> {
        self.with_left(|left| left.way().map(|way| way.local))?
    }

    /// The way that is being tried has failed. Goes on with another; false if there is none, or
    /// the peer had answered.
    pub fn failed(&self, error: Error) -> bool {
        if self.lane_if_proven().is_some() {
            return false;
        }
        let Some(mut left) = self.left.take() else {
            return false;
        };
        if error == Error::EndpointTimeout && !left.patient {
            left.slow |= 1 << left.current;
        }
        let old = left.lane.take();
        if left.next() && left.open().is_ok() {
            self.left.set(Some(left));
            return true;
        }
        // What is asked of it from now on ends as it did.
        if let Some(old) = old {
            let _ = self.proven.set(old);
        }
        false
    }

    #[inline]
    fn lane_if_proven(&self) -> Option<&Rc<dyn Ep>> {
        let proven = self.proven.get();
        if proven.is_some() {
            proven
        } else {
            self.prove()
        }
    }

    /// Looks whether the peer has answered.
    #[cold]
    fn prove(&self) -> Option<&Rc<dyn Ep>> {
        let answered = |left: &mut Left| {
            let lane = left.lane.as_ref()?;
            let up = lane.vitals().is_none_or(|vitals| vitals.answered);
            up.then(|| lane.clone())
        };
        let lane = self.with_left(answered)??;
        let left = self.left.take();
        drop(left);
        Some(self.proven.get_or_init(|| lane))
    }

    /// What is tried or used now.
    fn lane(&self) -> Option<Rc<dyn Ep>> {
        match self.proven.get() {
            Some(lane) => Some(lane.clone()),
            None => self.with_left(|left| left.lane.clone())?,
        }
    }

    /// The peer has not answered yet.
    pub fn is_open(&self) -> bool {
        self.proven.get().is_none()
    }

    /// Begins before the first use. False if nothing can be opened now: the first use tries again,
    /// and tells.
    pub fn begin_early(&self) -> bool {
        let begin = |left: &mut Left| {
            if left.lane.is_some() {
                return true;
            }
            let before = (left.current, left.patient, left.untried, left.slow);
            let opened = left.open().is_ok();
            if !opened {
                (left.current, left.patient, left.untried, left.slow) = before;
            }
            opened
        };
        self.with_left(begin).unwrap_or(true)
    }

    /// The first use, unless it was before.
    #[cold]
    fn begin_now(&self) -> Result<()> {
        let open = |left: &mut Left| match &left.lane {
            Some(_) => Ok(()),
            None => left.open().map(|_| ()),
        };
        match self.with_left(open) {
            Some(Err(error)) => {
                let left = self.left.take();
                drop(left);
                Err(error)
            }
            Some(Ok(())) => Ok(()),
            // The way that was tried has failed, and no other is left.
            None => Err(Error::Unreachable),
        }
    }

    #[inline]
    fn when_proven(&self, post: impl FnOnce(&dyn Ep) -> Result<Post>) -> Result<Post> {
        match self.lane_if_proven() {
            Some(lane) => post(&**lane),
            None => self.begin_now().map(|()| Post::NoResource),
        }
    }
}

impl Ep for Attempts {
    fn am_short(&self, id: u8, header: u64, payload: &[u8]) -> Result<Post> {
        self.when_proven(|ep| ep.am_short(id, header, payload))
    }

    fn am_bcopy(
        &self,
        id: u8,
        max_len: usize,
        pack: &mut dyn FnMut(&mut [u8]) -> usize,
    ) -> Result<Post> {
        self.when_proven(|ep| ep.am_bcopy(id, max_len, pack))
    }

    fn am_zcopy(&self, id: u8, header: &[u8], iov: &[IoVec], token: u64) -> Result<Post> {
        self.when_proven(|ep| ep.am_zcopy(id, header, iov, token))
    }

    fn get_zcopy(&self, iov: &[IoVecMut], remote: u64, rkey: u64, token: u64) -> Result<Post> {
        self.when_proven(|ep| ep.get_zcopy(iov, remote, rkey, token))
    }

    fn get_leased(&self, iov: &[IoVecMut], remote: u64, lease: u64, token: u64) -> Result<Post> {
        self.when_proven(|ep| ep.get_leased(iov, remote, lease, token))
    }

    fn put_zcopy(&self, iov: &[IoVec], remote: u64, rkey: u64, token: u64) -> Result<Post> {
        self.when_proven(|ep| ep.put_zcopy(iov, remote, rkey, token))
    }

    fn flush(&self, token: u64) -> Result<Post> {
        self.lane().map_or(Ok(Post::Done), |ep| ep.flush(token))
    }

    fn let_go(&self, which: Which) -> bool {
        self.lane().is_some_and(|ep| ep.let_go(which))
    }

    fn cut(&self, error: Error) -> bool {
        self.lane().is_some_and(|ep| ep.cut(error))
    }

    fn watch(&self) {
        if let Some(ep) = self.lane() {
            ep.watch();
        }
    }

    fn hurry(&self) {
        if let Some(ep) = self.lane() {
            ep.hurry();
        }
    }

    fn connect(&self) -> Result<()> {
        match self.proven.get() {
            Some(_) => Ok(()),
            None => self.begin_now(),
        }
    }

    fn peer_left(&self) -> bool {
        self.lane().is_some_and(|ep| ep.peer_left())
    }

    fn process(&self) -> Option<Process> {
        self.lane_if_proven().and_then(|ep| ep.process())
    }

    fn peer(&self) -> Option<String> {
        self.lane().and_then(|ep| ep.peer())
    }

    fn vitals(&self) -> Option<Vitals> {
        match self.lane() {
            Some(ep) => ep.vitals(),
            None => Some(Vitals::default()),
        }
    }

    /// A failure of what is being tried is told by events.
    fn check(&self) -> Result<()> {
        self.lane_if_proven().map_or(Ok(()), |ep| ep.check())
    }

    fn check_host(&self) -> Result<()> {
        self.lane_if_proven().map_or(Ok(()), |ep| ep.check_host())
    }
}
