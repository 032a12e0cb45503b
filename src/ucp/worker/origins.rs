//! The endpoints of a worker by the peers' endpoints that they lead back to.

use core::cell::RefCell;
use std::rc::Rc;

use hashbrown::HashMap;

use crate::ucp::ep::Endpoint;
use crate::ucp::wire::Origin;

/// See the module. The last one found is at hand: messages of one peer often follow each other.
#[derive(Default)]
pub struct Origins {
    all: RefCell<HashMap<Origin, Rc<Endpoint>>>,
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
        let ep = self.all.borrow().get(&origin).cloned()?;
        let before = self.last.replace(Some((origin, ep.clone())));
        drop(before);
        Some(ep)
    }

    pub fn insert(&self, origin: Origin, ep: Rc<Endpoint>) {
        let last = self.last.take();
        let before = self.all.borrow_mut().insert(origin, ep);
        drop((last, before));
    }

    /// Forgets that `origin` leads to `ep`, if it does.
    pub fn remove(&self, origin: Origin, ep: &Rc<Endpoint>) {
        let last = self.last.take();
        let mut all = self.all.borrow_mut();
        let found = all.get(&origin).is_some_and(|other| Rc::ptr_eq(other, ep));
        let before = found.then(|| all.remove(&origin));
        drop(all);
        drop((last, before));
    }
}
