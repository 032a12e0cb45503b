//! A lane to a peer that may not be connected yet, and of which it may not be known whether it leads
//! there, with others that could do instead: a host has addresses that only itself can use, as
//! bridges of containers, or that a firewall hides. Nothing is accepted for sending before the peer
//! has answered, so that another way can be tried without loss.
//!
//! Where nobody waits to hear of the peer's death, a connection is made when it is first used: many
//! endpoints are made in advance, and never used.

use core::cell::RefCell;
use std::rc::{Rc, Weak};

use hashbrown::{HashMap, HashSet};

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
    names: RefCell<HashSet<Rc<str>>>,
}

/// So few are never looked through for those that nobody uses any more.
const FEW: usize = 16;

impl KnownWays {
    /// `name`, or the same that another endpoint has.
    pub fn name(&self, name: &str) -> Rc<str> {
        let mut names = self.names.borrow_mut();
        if let Some(known) = names.get(name) {
            return known.clone();
        }
        if names.len() >= FEW && names.len() == names.capacity() {
            names.retain(|name| Rc::strong_count(name) > 1);
        }
        let name: Rc<str> = name.into();
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
    ways: Rc<Ways>,
    /// The one that is being tried, and whether it is waited for without hurry.
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
    fn open(&mut self, token: u64) -> Result<Rc<dyn Ep>> {
        loop {
            let opened = self.way().ok_or(Error::Unreachable)?.open(token);
            match opened {
                Ok(ep) => {
                    if !self.patient && (self.untried | self.slow) != 0 {
                        ep.hurry();
                    }
                    return Ok(ep);
                }
                Err(error) if !self.next() => return Err(error),
                Err(_) => {}
            }
        }
    }
}

/// See the module.
pub struct Attempts {
    /// Of the endpoint.
    token: u64,
    /// What is tried or used now; `None` before the first use.
    current: RefCell<Option<Rc<dyn Ep>>>,
    /// `None` once the peer has answered: what follows is the lane's own affair.
    left: RefCell<Option<Left>>,
}

impl Attempts {
    /// Begins with the first of `ways` that can be opened; with `lazy` when it is first used. Nothing
    /// is wrapped where there is only one, and it is opened now.
    ///
    /// # Errors
    /// Of the last, if none can be opened.
    pub fn begin(ways: Rc<Ways>, lazy: bool, token: u64) -> Result<Opened> {
        let count = ways.len().min(u16::BITS as usize);
        let mut left = Left {
            current: 0,
            patient: false,
            // All but the first.
            untried: ((1_u32 << count) - 1) as u16 & !1,
            slow: 0,
            ways,
        };
        let mut current = None;
        if !lazy {
            let ep = left.open(token)?;
            if left.untried == 0 {
                let local = left.way().map_or(0, |way| way.local);
                return Ok(Opened::Only(ep, local));
            }
            current = Some(ep);
        }
        Ok(Opened::First(Rc::new(Attempts {
            token,
            current: RefCell::new(current),
            left: RefCell::new(Some(left)),
        })))
    }

    /// Index of the interface in use, as long as that may change.
    pub fn local(&self) -> Option<u8> {
        Some(self.left.borrow().as_ref()?.way()?.local)
    }

    /// The way that is being tried has failed. Goes on with another; false if there is none, or
    /// the peer had answered.
    pub fn failed(&self, error: Error) -> bool {
        if self.is_proven() {
            return false;
        }
        let Some(mut left) = self.left.take() else {
            return false;
        };
        if error == Error::EndpointTimeout && !left.patient {
            left.slow |= 1 << left.current;
        }
        if !left.next() {
            return false;
        }
        let Ok(ep) = left.open(self.token) else {
            return false;
        };
        self.left.replace(Some(left));
        let old = self.current.replace(Some(ep));
        drop(old);
        true
    }

    fn is_proven(&self) -> bool {
        if self.left.borrow().is_none() {
            return true;
        }
        let up = match &*self.current.borrow() {
            Some(ep) => ep.vitals().is_none_or(|vitals| vitals.answered),
            None => false,
        };
        if up {
            self.left.take();
        }
        up
    }

    fn lane(&self) -> Option<Rc<dyn Ep>> {
        self.current.borrow().clone()
    }

    /// The first use.
    #[cold]
    fn begin_now(&self) -> Result<()> {
        if let Some(mut left) = self.left.take() {
            let ep = left.open(self.token)?;
            self.left.replace(Some(left));
            self.current.replace(Some(ep));
        }
        Ok(())
    }

    fn when_proven(&self, post: impl FnOnce(&dyn Ep) -> Result<Post>) -> Result<Post> {
        if self.is_proven() {
            return match self.lane() {
                Some(lane) => post(&*lane),
                // The way that was tried has failed, and no other is left.
                None => Err(Error::Unreachable),
            };
        }
        let begun = self.current.borrow().is_some();
        match begun {
            true => Ok(Post::NoResource),
            false => self.begin_now().map(|()| Post::NoResource),
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
        let begun = self.current.borrow().is_some();
        if begun { Ok(()) } else { self.begin_now() }
    }

    fn peer_left(&self) -> bool {
        self.lane().is_some_and(|ep| ep.peer_left())
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
        match self.lane() {
            Some(ep) if self.is_proven() => ep.check(),
            _ => Ok(()),
        }
    }

    fn check_host(&self) -> Result<()> {
        match self.lane() {
            Some(ep) if self.is_proven() => ep.check_host(),
            _ => Ok(()),
        }
    }
}
