//! The endpoints of a worker by the peers' endpoints that they lead back to.

use core::cell::RefCell;
use core::hash::BuildHasher;
use std::rc::Rc;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::ucp::ep::Endpoint;
use crate::ucp::wire::Origin;

/// See the module. The last one found is at hand: messages of one peer often follow each other.
#[derive(Default)]
pub struct Origins {
    /// Each by its peer's endpoint.
    all: RefCell<HashTable<Rc<Endpoint>>>,
    hasher: DefaultHashBuilder,
    last: RefCell<Option<(Origin, Rc<Endpoint>)>>,
}

impl Origins {
    #[inline]
    pub fn get(&self, origin: Origin) -> Option<Rc<Endpoint>> {
        if let Some((last, ep)) = &*self.last.borrow()
            && *last == origin
        {
            return Some(ep.clone());
        }
        self.look_up(origin)
    }

    fn look_up(&self, origin: Origin) -> Option<Rc<Endpoint>> {
        let hash = self.hasher.hash_one(origin);
        let found = |ep: &Rc<Endpoint>| ep.peer_origin() == origin;
        let ep = self.all.borrow().find(hash, found)?.clone();
        let before = self.last.replace(Some((origin, ep.clone())));
        drop(before);
        Some(ep)
    }

    /// From now on its peer's endpoint leads to `ep`, and not to another any more.
    pub fn insert(&self, ep: Rc<Endpoint>) {
        let origin = ep.peer_origin();
        let before = self.take(origin, |_| true);
        let hash = self.hasher.hash_one(origin);
        let rehash = |ep: &Rc<Endpoint>| self.hasher.hash_one(ep.peer_origin());
        self.all.borrow_mut().insert_unique(hash, ep, rehash);
        drop(before);
    }

    /// Forgets that its peer's endpoint leads to `ep`, if it does.
    pub fn remove(&self, ep: &Rc<Endpoint>) {
        let before = self.take(ep.peer_origin(), |other| Rc::ptr_eq(other, ep));
        drop(before);
    }

    /// Takes it out if `is_it`, and forgets the last one found.
    fn take(&self, origin: Origin, is_it: impl Fn(&Rc<Endpoint>) -> bool) -> Taken {
        let hash = self.hasher.hash_one(origin);
        let found = |ep: &Rc<Endpoint>| ep.peer_origin() == origin && is_it(ep);
        let mut all = self.all.borrow_mut();
        let entry = all.find_entry(hash, found).ok();
        Taken {
            _last: self.last.take(),
            _entry: entry.map(|entry| entry.remove().0),
        }
    }
}

/// What is dropped when nothing is borrowed any more: the end of an endpoint may come back here.
struct Taken {
    _last: Option<(Origin, Rc<Endpoint>)>,
    _entry: Option<Rc<Endpoint>>,
}
