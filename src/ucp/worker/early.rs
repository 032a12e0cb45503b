//! Fragments that have come before the first of their message, which takes another lane.
//!
//! There are not many of them. The first is given to its lane before the others are given to theirs,
//! and these get at most [`AHEAD`] bytes of the message for each byte that it has given to that lane
//! (`eager/fragments.rs`). So all that is early is at most so many times what one lane holds. A peer
//! beyond twice that is confused or hostile; its endpoint fails. Senders that have no endpoint here
//! share one such bound.
#![forbid(unsafe_code)]

use core::cell::{OnceCell, RefCell};

use hashbrown::{HashMap, HashSet};

use super::Worker;
use crate::sys::sockbuf;
use crate::ucp::proto::eager::AHEAD;
use crate::ucp::wire::tag::Middle;
use crate::ucp::wire::{Identity, Origin};
use crate::ucs::status::Error;

/// Offset and bytes of a fragment.
pub type Fragment = (usize, Box<[u8]>);

/// What keeping a fragment costs beside its bytes, about.
const COST: usize = 64;

/// Whom a fragment comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum From {
    /// An endpoint that has one here.
    Peer,
    Stranger,
}

/// What has become of a fragment.
#[derive(PartialEq, Eq, Debug)]
enum Kept {
    Yes,
    /// Its endpoint is gone.
    No,
    /// There are too many, of these bytes; nothing of its endpoint is kept any more.
    TooMuch(usize),
}

/// Cost of what is kept of an endpoint.
#[derive(Default, Clone, Copy)]
struct Cost {
    all: usize,
    /// Of this, what came before it had an endpoint here.
    strange: usize,
}

#[derive(Default)]
struct Store {
    by_message: HashMap<Identity, Vec<Fragment>>,
    by_origin: HashMap<Origin, Cost>,
    /// The cost of all that came from strangers.
    strange: usize,
}

impl Store {
    fn add(&mut self, identity: Identity, fragment: Fragment, from: From) {
        let cost = cost(&fragment);
        let sum = self.by_origin.entry(identity.origin).or_default();
        sum.all += cost;
        if from == From::Stranger {
            sum.strange += cost;
            self.strange += cost;
        }
        self.by_message.entry(identity).or_default().push(fragment);
    }

    /// What counts against the bound of fragments from `origin`.
    fn count(&self, origin: Origin, from: From) -> usize {
        match from {
            From::Peer => self.by_origin.get(&origin).map_or(0, |sum| sum.all),
            From::Stranger => self.strange,
        }
    }

    fn take(&mut self, identity: &Identity) -> Vec<Fragment> {
        let Some(fragments) = self.by_message.remove(identity) else {
            return Vec::new();
        };
        let cost: usize = fragments.iter().map(cost).sum();
        if let Some(sum) = self.by_origin.get_mut(&identity.origin) {
            sum.all = sum.all.saturating_sub(cost);
            let strange = sum.strange.min(sum.all);
            self.strange = self.strange.saturating_sub(sum.strange - strange);
            sum.strange = strange;
            if sum.all == 0 {
                self.by_origin.remove(&identity.origin);
            }
        }
        fragments
    }

    fn forget(&mut self, origin: Origin) {
        if let Some(sum) = self.by_origin.remove(&origin) {
            self.strange = self.strange.saturating_sub(sum.strange);
            self.by_message.retain(|id, _| id.origin != origin);
        }
    }
}

fn cost((_, bytes): &Fragment) -> usize {
    bytes.len() + COST
}

/// By message, until the first fragment comes or the sender's endpoint is gone.
#[derive(Default)]
pub struct Early {
    kept: RefCell<Store>,
    /// Endpoints that are gone while messages of theirs were under way: what still comes of these
    /// is for nobody. No endpoint has the name of an earlier one.
    gone: RefCell<HashSet<Origin>>,
    bound: OnceCell<usize>,
}

impl Early {
    /// Most bytes that are kept of one endpoint, and of all strangers.
    fn bound(&self) -> usize {
        /// Least that a lane is taken to hold, with what waits for the kernel.
        const LEAST: usize = 16 << 20;
        *self
            .bound
            .get_or_init(|| sockbuf::most_in_tcp().max(LEAST).saturating_mul(2 * AHEAD))
    }

    /// Keeps a fragment of a message that nothing is known of.
    fn keep(&self, middle: &Middle, payload: &[u8], from: From) -> Kept {
        let origin = middle.identity.origin;
        let Ok(offset) = usize::try_from(middle.offset) else {
            return Kept::No;
        };
        if self.gone.borrow().contains(&origin) {
            return Kept::No;
        }
        let count = self.kept.borrow().count(origin, from);
        if count.saturating_add(payload.len()) > self.bound() {
            self.forget(origin, true);
            return Kept::TooMuch(count);
        }
        let fragment = (offset, payload.into());
        self.kept.borrow_mut().add(middle.identity, fragment, from);
        Kept::Yes
    }

    /// The first fragment has come: those that were before it.
    pub fn take(&self, identity: &Identity) -> Vec<Fragment> {
        let mut kept = self.kept.borrow_mut();
        match kept.by_message.is_empty() {
            true => Vec::new(),
            false => kept.take(identity),
        }
    }

    /// Whether there is something of this peer's endpoint.
    pub fn has_from(&self, origin: Origin) -> bool {
        self.kept.borrow().by_origin.contains_key(&origin)
    }

    /// The peer's endpoint is gone. `parts`: with messages under way.
    pub fn forget(&self, origin: Origin, parts: bool) {
        if parts || self.has_from(origin) {
            self.gone.borrow_mut().insert(origin);
            self.kept.borrow_mut().forget(origin);
        }
    }
}

impl Worker {
    /// Keeps a fragment of a message that nothing is known of. `None`: it is for nobody.
    pub(in crate::ucp) fn keep_early(&self, middle: &Middle, payload: &[u8]) -> Option<()> {
        let origin = middle.identity.origin;
        let ep = self.endpoint_of(origin);
        let from = if ep.is_some() {
            From::Peer
        } else {
            From::Stranger
        };
        match self.early.keep(middle, payload, from) {
            Kept::Yes => return Some(()),
            Kept::No => {}
            Kept::TooMuch(count) => {
                let peer = self.name_of(origin);
                crate::ucs_error!(
                    "{peer} sends fragments of messages that it has not begun, {count} bytes so far: they are dropped"
                );
                if let Some(ep) = ep {
                    ep.fail_with_peer(Error::ExceedsLimit);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: Origin = Origin { worker: 7, conn: 1 };
    const OTHER: Origin = Origin { worker: 7, conn: 2 };

    fn middle_of(origin: Origin, seq: u64, offset: u64) -> Middle {
        let identity = Identity { origin, seq };
        Middle { identity, offset }
    }

    fn middle(seq: u64, offset: u64) -> Middle {
        middle_of(ORIGIN, seq, offset)
    }

    fn small(bound: usize) -> Early {
        let early = Early::default();
        early.bound.set(bound).expect("new");
        early
    }

    #[test]
    fn what_comes_early_waits_for_the_first() {
        let early = Early::default();
        assert!(!early.has_from(ORIGIN));
        let keep = |middle: &Middle, bytes: &[u8]| early.keep(middle, bytes, From::Peer);
        assert_eq!(keep(&middle(4, 100), &[1, 2]), Kept::Yes);
        assert_eq!(keep(&middle(4, 50), &[3]), Kept::Yes);
        assert_eq!(keep(&middle(5, 9), &[4]), Kept::Yes);
        assert!(early.has_from(ORIGIN));
        let taken = early.take(&middle(4, 0).identity);
        assert_eq!(taken, [(100, [1, 2].into()), (50, [3].into())]);
        assert!(early.take(&middle(4, 0).identity).is_empty());
        assert!(early.has_from(ORIGIN));
        assert_eq!(early.take(&middle(5, 0).identity).len(), 1);
        assert!(!early.has_from(ORIGIN));
    }

    #[test]
    fn what_comes_from_an_endpoint_that_is_gone_is_for_nobody() {
        let early = Early::default();
        early.keep(&middle(4, 100), &[1, 2], From::Peer);
        early.forget(ORIGIN, false);
        assert!(!early.has_from(ORIGIN));
        assert_eq!(early.keep(&middle(4, 50), &[3], From::Peer), Kept::No);
        assert!(early.take(&middle(4, 0).identity).is_empty());
    }

    #[test]
    fn a_peer_has_a_bound_and_others_are_left_alone() {
        const SIZE: usize = 1000;
        let early = small(10 * (SIZE + COST));
        early.keep(&middle_of(OTHER, 1, 5), &[1; SIZE], From::Peer);
        let mut kept = 0;
        while kept < 1000 && early.keep(&middle(kept, 5), &[2; SIZE], From::Peer) == Kept::Yes {
            kept += 1;
        }
        assert_eq!(kept, 10);
        assert!(!early.has_from(ORIGIN), "it holds no memory");
        assert_eq!(early.keep(&middle(99, 5), &[2], From::Peer), Kept::No);
        assert_eq!(early.take(&middle_of(OTHER, 1, 0).identity).len(), 1);
    }

    #[test]
    fn what_was_taken_counts_no_more() {
        let early = small(10_000);
        for seq in 0..1000 {
            for offset in 0..4 {
                assert_eq!(
                    early.keep(&middle(seq, offset), &[3; 1000], From::Peer),
                    Kept::Yes
                );
            }
            assert_eq!(early.take(&middle(seq, 0).identity).len(), 4);
        }
    }

    #[test]
    fn strangers_share_a_bound() {
        let early = small(10_000);
        let stranger = |conn| Origin { worker: 8, conn };
        let kept = |conn| {
            early.keep(&middle_of(stranger(conn), 0, 7), &[4; 936], From::Stranger) == Kept::Yes
        };
        assert_eq!((0..1000).take_while(|conn| kept(*conn)).count(), 10);
        // Empty ones cost something too.
        let early = small(10_000);
        let kept =
            |seq| early.keep(&middle_of(stranger(0), seq, 7), &[], From::Stranger) == Kept::Yes;
        assert!((0..1000).take_while(|seq| kept(*seq)).count() < 200);
        // One that has introduced itself meanwhile.
        let early = small(10_000);
        early.keep(&middle(0, 7), &[5; 5000], From::Stranger);
        early.keep(&middle(1, 7), &[5; 1000], From::Peer);
        assert_eq!(early.kept.borrow().strange, 5000 + COST);
        early.take(&middle(1, 0).identity);
        assert_eq!(early.kept.borrow().strange, 5000 + COST);
        early.take(&middle(0, 0).identity);
        assert_eq!(early.kept.borrow().strange, 0);
        early.keep(&middle(2, 7), &[5; 5000], From::Stranger);
        early.forget(ORIGIN, false);
        assert_eq!(early.kept.borrow().strange, 0);
    }

    #[test]
    fn the_bound_is_far_beyond_what_a_lane_holds() {
        let early = Early::default();
        assert!(early.bound() >= 512 << 20);
        assert!(early.bound() / (2 * AHEAD) >= sockbuf::most_in_tcp());
    }
}
