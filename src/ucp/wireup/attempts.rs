//! A lane of which it is not known yet whether it leads to the peer, with others that could do
//! instead: a host has addresses that only itself can use, as bridges of containers, or that a
//! firewall hides. Nothing is accepted for sending before the peer has answered, so that another
//! way can be tried without loss.

use core::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use crate::ucs::status::{Error, Result};
use crate::uct::{Ep, EpParams, Iface, IoVec, IoVecMut, Post, Vitals, Which};

/// A way that can be tried.
pub struct Way {
    pub iface: Rc<dyn Iface>,
    /// Index of the interface in the worker.
    pub local: u8,
    pub device_addr: Box<[u8]>,
    pub iface_addr: Box<[u8]>,
    /// It was given up for slowness once: it is the last resort.
    pub patient: bool,
}

impl Way {
    fn open(&self, token: u64) -> Result<Rc<dyn Ep>> {
        self.iface.create_ep(&EpParams {
            device_addr: &self.device_addr,
            iface_addr: &self.iface_addr,
            token,
        })
    }
}

/// See the module.
pub struct Attempts {
    /// Of the endpoint.
    token: u64,
    /// The peer has answered: what follows is the lane's own affair.
    proven: Cell<bool>,
    current: RefCell<Rc<dyn Ep>>,
    /// What is tried now, and what is left.
    trying: RefCell<Option<Way>>,
    others: RefCell<VecDeque<Way>>,
}

impl Attempts {
    /// Begins with the first of `ways` that can be opened. Nothing is wrapped where there is only
    /// one.
    ///
    /// # Errors
    /// Of the last, if none can be opened.
    pub fn begin(mut ways: VecDeque<Way>, token: u64) -> Result<Opened> {
        let mut result = Err(Error::Unreachable);
        while let Some(way) = ways.pop_front() {
            match way.open(token) {
                Ok(ep) if ways.is_empty() => return Ok(Opened::Only(ep, way.local)),
                Ok(ep) => {
                    ep.hurry();
                    return Ok(Opened::First(Rc::new(Attempts {
                        token,
                        proven: Cell::new(false),
                        current: RefCell::new(ep),
                        trying: RefCell::new(Some(way)),
                        others: RefCell::new(ways),
                    })));
                }
                Err(error) => result = Err(error),
            }
        }
        result
    }

    /// Index of the interface in use, as long as that may change.
    pub fn local(&self) -> Option<u8> {
        self.trying.borrow().as_ref().map(|way| way.local)
    }

    /// The way that is being tried has failed. Goes on with another; false if there is none, or
    /// the peer had answered.
    pub fn failed(&self, error: Error) -> bool {
        if self.is_proven() {
            return false;
        }
        let failed = self.trying.take();
        if let Some(way) = failed.filter(|way| error == Error::EndpointTimeout && !way.patient) {
            let patient = true;
            self.others.borrow_mut().push_back(Way { patient, ..way });
        }
        loop {
            let Some(way) = self.others.borrow_mut().pop_front() else {
                return false;
            };
            crate::ucs_diag!(
                "the peer can't be reached by one of its addresses ({error}): trying another"
            );
            let Ok(ep) = way.open(self.token) else {
                continue;
            };
            if !way.patient {
                ep.hurry();
            }
            self.trying.replace(Some(way));
            let old = self.current.replace(ep);
            drop(old);
            return true;
        }
    }

    fn is_proven(&self) -> bool {
        if self.proven.get() {
            return true;
        }
        let up = self
            .current
            .borrow()
            .vitals()
            .is_none_or(|vitals| vitals.up);
        if up {
            self.proven.set(true);
            self.trying.take();
            self.others.take();
        }
        up
    }

    fn lane(&self) -> Rc<dyn Ep> {
        self.current.borrow().clone()
    }

    fn when_proven(&self, post: impl FnOnce(&dyn Ep) -> Result<Post>) -> Result<Post> {
        match self.is_proven() {
            true => post(&*self.lane()),
            false => Ok(Post::NoResource),
        }
    }
}

/// What [`Attempts::begin`] gives.
pub enum Opened {
    /// A plain lane, with the index of its interface.
    Only(Rc<dyn Ep>, u8),
    First(Rc<Attempts>),
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
        self.lane().flush(token)
    }

    fn let_go(&self, which: Which) -> bool {
        self.lane().let_go(which)
    }

    fn cut(&self, error: Error) -> bool {
        self.lane().cut(error)
    }

    fn watch(&self) {
        self.lane().watch();
    }

    fn hurry(&self) {
        self.lane().hurry();
    }

    fn vitals(&self) -> Option<Vitals> {
        self.lane().vitals()
    }

    /// A failure of what is being tried is told by events.
    fn check(&self) -> Result<()> {
        if !self.is_proven() {
            return Ok(());
        }
        self.lane().check()
    }
}
