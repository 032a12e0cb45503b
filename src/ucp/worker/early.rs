//! Fragments that have come before the first of their message, which takes another lane.
#![forbid(unsafe_code)]

use core::cell::RefCell;

use hashbrown::{HashMap, HashSet};

use crate::ucp::wire::tag::Middle;
use crate::ucp::wire::{Identity, Origin};

/// Offset and bytes of a fragment.
pub type Fragment = (usize, Box<[u8]>);

/// By message, until the first fragment comes or the sender's endpoint is gone.
#[derive(Default)]
pub struct Early {
    kept: RefCell<HashMap<Identity, Vec<Fragment>>>,
    /// Endpoints that are gone while messages of theirs were under way: what still comes of these
    /// is for nobody. No endpoint has the name of an earlier one.
    gone: RefCell<HashSet<Origin>>,
}

impl Early {
    /// Keeps a fragment of a message that nothing is known of.
    pub fn keep(&self, middle: &Middle, payload: &[u8]) -> Option<()> {
        let offset = usize::try_from(middle.offset).ok()?;
        if self.gone.borrow().contains(&middle.identity.origin) {
            return None;
        }
        let mut kept = self.kept.borrow_mut();
        let fragments = kept.entry(middle.identity).or_default();
        fragments.push((offset, payload.into()));
        Some(())
    }

    /// The first fragment has come: those that were before it.
    pub fn take(&self, identity: &Identity) -> Vec<Fragment> {
        let mut kept = self.kept.borrow_mut();
        match kept.is_empty() {
            true => Vec::new(),
            false => kept.remove(identity).unwrap_or_default(),
        }
    }

    /// Whether there is something of this peer's endpoint.
    pub fn has_from(&self, origin: Origin) -> bool {
        let kept = self.kept.borrow();
        !kept.is_empty() && kept.keys().any(|identity| identity.origin == origin)
    }

    /// The peer's endpoint is gone. `parts`: with messages under way.
    pub fn forget(&self, origin: Origin, parts: bool) {
        if parts || self.has_from(origin) {
            self.gone.borrow_mut().insert(origin);
            let of_others = |identity: &Identity| identity.origin != origin;
            self.kept.borrow_mut().retain(|id, _| of_others(id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: Origin = Origin { worker: 7, conn: 1 };

    fn middle(seq: u64, offset: u64) -> Middle {
        let identity = Identity {
            origin: ORIGIN,
            seq,
        };
        Middle { identity, offset }
    }

    #[test]
    fn what_comes_early_waits_for_the_first() {
        let early = Early::default();
        assert!(!early.has_from(ORIGIN));
        assert_eq!(early.keep(&middle(4, 100), &[1, 2]), Some(()));
        assert_eq!(early.keep(&middle(4, 50), &[3]), Some(()));
        assert_eq!(early.keep(&middle(5, 9), &[4]), Some(()));
        assert!(early.has_from(ORIGIN));
        let taken = early.take(&middle(4, 0).identity);
        assert_eq!(taken, [(100, [1, 2].into()), (50, [3].into())]);
        assert!(early.take(&middle(4, 0).identity).is_empty());
        assert!(early.has_from(ORIGIN));
    }

    #[test]
    fn what_comes_from_an_endpoint_that_is_gone_is_for_nobody() {
        let early = Early::default();
        early.keep(&middle(4, 100), &[1, 2]);
        early.forget(ORIGIN, false);
        assert!(!early.has_from(ORIGIN));
        assert_eq!(early.keep(&middle(4, 50), &[3]), None);
        assert!(early.take(&middle(4, 0).identity).is_empty());
    }
}
