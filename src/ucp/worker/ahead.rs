//! Connections made ahead of their first use.
//!
//! Endpoints connect when they are first used, and a first message waits for the peer. A program that
//! uses its endpoints one after the other would wait for each. So when they are used in the order in
//! which they were made, the next ones begin to connect, in windows that grow as long as that goes on,
//! as a file system reads ahead: no more connections are made in vain than were used.

use core::cell::Cell;
use core::ops::RangeInclusive;
use std::rc::Rc;

use smallvec::SmallVec;

use super::Worker;
use crate::ucp::ep::Endpoint;

/// Connections made ahead at a time.
const MOST: u64 = 64;

/// How far connections have been made.
#[derive(Default)]
pub struct Ahead {
    /// The endpoint that had to wait last, and the last that has been begun with it.
    start: Cell<u64>,
    end: Cell<u64>,
    window: Cell<u64>,
}

impl Ahead {
    /// The endpoint with this token has to wait for its connection: those to begin now.
    fn after(&self, token: u64) -> Option<RangeInclusive<u64>> {
        let (start, end) = (self.start.get(), self.end.get());
        if token > start && token <= end {
            // It has been begun with others.
            return None;
        }
        let window = match token == end + 1 && end != 0 {
            true => (2 * self.window.get()).clamp(1, MOST),
            false => 0,
        };
        self.start.set(token);
        self.window.set(window);
        self.end.set(token + window);
        (window != 0).then(|| token + 1..=token + window)
    }
}

impl Worker {
    /// The endpoint with this token has to wait for its connection.
    #[cold]
    pub(in crate::ucp) fn connect_ahead(&self, token: u64) {
        let Some(tokens) = self.ahead.after(token) else {
            return;
        };
        let next: SmallVec<[Rc<Endpoint>; 16]> = {
            let endpoints = self.endpoints.borrow();
            let all = endpoints.range(tokens).map(|(_, ep)| ep);
            all.filter(|ep| ep.is_owned()).cloned().collect()
        };
        for ep in next {
            if !ep.connect_early() {
                // No descriptors, for instance: who needs it will be told.
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many are begun in all when these are used, each of which waits unless it was begun.
    fn begun(order: impl Iterator<Item = u64>) -> (usize, usize) {
        let ahead = Ahead::default();
        let mut up = std::collections::BTreeSet::new();
        let mut waits = 0;
        for token in order {
            if up.insert(token) {
                waits += 1;
                up.extend(ahead.after(token).into_iter().flatten());
            }
        }
        (up.len(), waits)
    }

    #[test]
    fn one_after_the_other_waits_seldom() {
        let (begun, waits) = begun(1..=1000);
        assert!(
            begun <= 1000 + MOST as usize && waits < 25,
            "{begun} {waits}"
        );
    }

    #[test]
    fn no_more_are_made_in_vain_than_were_used() {
        for used in 1..=200 {
            let (begun, _) = begun(1..=used);
            assert!(begun <= 2 * used as usize, "{begun} for {used}");
        }
    }

    #[test]
    fn in_another_order_nothing_is_made_ahead() {
        assert_eq!(begun((1..=1000).rev()), (1000, 1000));
        assert_eq!(begun((1..=1000).map(|token| token * 3)), (1000, 1000));
    }

    #[test]
    fn what_is_on_its_way_begins_nothing() {
        let ahead = Ahead::default();
        assert_eq!(ahead.after(5), None);
        assert_eq!(ahead.after(6), Some(7..=7));
        assert_eq!(ahead.after(7), None);
        assert_eq!(ahead.after(8), Some(9..=10));
        assert_eq!(ahead.after(9), None);
        assert_eq!(ahead.after(20), None);
        assert_eq!(ahead.after(21), Some(22..=22));
    }
}
