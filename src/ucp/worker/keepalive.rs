//! Asking now and then whether peers are alive.
//!
//! Most deaths are told by a lane itself. Shared memory tells nothing: a peer that was killed just
//! says no more. So endpoints with error handling are checked every `UCX_KEEPALIVE_INTERVAL`,
//! `UCX_KEEPALIVE_NUM_EPS` of them at a time, while progress has nothing else to do. A sleeping
//! worker is woken for it, see [`super::alarm`].

use core::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::Worker;
use crate::ucp::ep::{Endpoint, ErrorMode};
use crate::ucs::config::Config;

/// When to look next, and where to go on.
pub struct Keepalive {
    interval: Option<Duration>,
    most: usize,
    next: Cell<Option<Instant>>,
    /// Token of the endpoint that was checked last.
    last: Cell<u64>,
}

impl Keepalive {
    pub fn new(config: &Config) -> Keepalive {
        let seconds = config.time("KEEPALIVE_INTERVAL");
        let most = usize::try_from(config.uint("KEEPALIVE_NUM_EPS")).unwrap_or(usize::MAX);
        Keepalive {
            // An interval of 0 or without an end is none.
            interval: Duration::try_from_secs_f64(seconds)
                .ok()
                .filter(|interval| !interval.is_zero() && most != 0),
            most,
            next: Cell::new(None),
            last: Cell::new(0),
        }
    }

    /// Time between two looks; none if there are to be none.
    pub(super) fn interval(&self) -> Option<Duration> {
        self.interval
    }
}

impl Worker {
    /// Checks peers, if it is time.
    pub(super) fn keep_alive(&self, now: Instant) {
        let keepalive = &self.keepalive;
        let Some(interval) = keepalive.interval else {
            return;
        };
        let woken = self.alarm.take_due();
        match keepalive.next.get() {
            Some(next) if now < next && !woken => return,
            // The first interval begins with the first look.
            None if !woken => return keepalive.next.set(Some(now + interval)),
            _ => keepalive.next.set(Some(now + interval)),
        }
        for ep in self.next_to_check() {
            keepalive.last.set(ep.token());
            if let Err(error) = ep.check_peer() {
                ep.fail(error);
            }
        }
    }

    /// The endpoints whose turn it is, after those of the last round.
    fn next_to_check(&self) -> Vec<Rc<Endpoint>> {
        let endpoints = self.endpoints.borrow();
        let checked = |ep: &&Rc<Endpoint>| {
            ep.error_mode() != ErrorMode::None && ep.failure().is_none() && ep.is_wired()
        };
        let mut due: Vec<_> = endpoints.values().filter(checked).cloned().collect();
        let last = self.keepalive.last.get();
        due.sort_unstable_by_key(|ep| (ep.token() <= last, ep.token()));
        due.truncate(self.keepalive.most);
        due
    }
}
