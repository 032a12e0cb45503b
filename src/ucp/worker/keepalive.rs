//! Asking now and then whether peers are alive.
//!
//! Most deaths are told by a lane itself. Shared memory tells nothing: a peer that was killed just
//! says no more. So endpoints with error handling are checked every `UCX_KEEPALIVE_INTERVAL`,
//! `UCX_KEEPALIVE_NUM_EPS` of them at a time, while progress has nothing else to do. A sleeping
//! worker is woken for it, see [`super::alarm`].
//!
//! Endpoints of which something is awaited are checked more often, whatever their error handling:
//! an operation on a peer that is gone ends with an error, it is not waited for without an end.

use core::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use smallvec::SmallVec;

use super::Worker;
use super::tokens::Tokens;
use crate::ucp::ep::{Endpoint, ErrorMode};
use crate::ucs::config::Config;

/// How often peers are looked at of which something is awaited, and how many at a time. A look
/// at a process of this host takes a few microseconds.
const WATCH_EVERY: Duration = Duration::from_millis(50);
const WATCH_MOST: usize = 16;

/// Endpoints that one round looks through for those to be checked.
const LOOK_MOST: usize = 1024;

/// Rounds of polling in which what a dead peer has left is heard, while others go on sending.
const LAST_WORDS: usize = 1000;

/// When to look next, and where to go on.
struct Tour {
    interval: Option<Duration>,
    most: usize,
    next: Cell<Option<Instant>>,
    /// Token of the endpoint that was looked at last.
    last: Cell<u64>,
}

/// See the module.
pub struct Keepalive {
    all: Tour,
    awaited: Tour,
    /// Of peers that have said that they go.
    left: Tour,
}

impl Keepalive {
    pub fn new(config: &Config) -> Keepalive {
        let seconds = config.time("KEEPALIVE_INTERVAL");
        let most = usize::try_from(config.uint("KEEPALIVE_NUM_EPS")).unwrap_or(usize::MAX);
        // An interval of 0 or without an end is none.
        let interval = Duration::try_from_secs_f64(seconds)
            .ok()
            .filter(|interval| !interval.is_zero() && most != 0);
        Keepalive {
            all: Tour::new(interval, most),
            awaited: Tour::new(Some(WATCH_EVERY), WATCH_MOST),
            left: Tour::new(Some(WATCH_EVERY), LOOK_MOST),
        }
    }

    /// Time between two looks; none if there are to be none.
    pub(super) fn interval(&self) -> Option<Duration> {
        self.all.interval
    }
}

impl Tour {
    fn new(interval: Option<Duration>, most: usize) -> Tour {
        Tour {
            interval,
            most,
            next: Cell::new(None),
            last: Cell::new(0),
        }
    }

    /// `woken`: it is time whatever the clock says.
    fn is_due(&self, now: Instant, woken: bool) -> bool {
        let Some(interval) = self.interval else {
            return false;
        };
        let next = self.next.get();
        if next.is_some_and(|next| now < next) && !woken {
            return false;
        }
        self.next.set(Some(now + interval));
        // The first interval begins with the first look.
        next.is_some() || woken
    }

    /// The endpoints whose turn it is among those that are `wanted`, after those of the last round.
    fn choose(
        &self,
        endpoints: &Tokens,
        wanted: impl Fn(&Endpoint) -> bool,
    ) -> SmallVec<[Rc<Endpoint>; 16]> {
        let last = self.last.get();
        let (before, after) = (endpoints.range(..=last), endpoints.range(last + 1..));
        let usable = |ep: &&Rc<Endpoint>| ep.failure().is_none() && ep.is_wired() && wanted(ep);
        let mut seen = last;
        let chosen = after
            .chain(before)
            .take(LOOK_MOST)
            .inspect(|(token, _)| seen = *token)
            .map(|(_, ep)| ep)
            .filter(usable)
            .take(self.most)
            .cloned()
            .collect();
        self.last.set(seen);
        chosen
    }
}

impl Worker {
    /// Checks peers, if it is time.
    pub(super) fn keep_alive(&self, now: Instant) {
        self.links.hurry();
        let Keepalive { all, awaited, left } = &self.keepalive;
        let woken = self.alarm.take_due() || self.deaths.is_due();
        let due_awaited = awaited.is_due(now, woken);
        if due_awaited {
            self.look_at_mercy();
            self.mourn();
        }
        if due_awaited && self.watches_host() {
            let gone = |ep: &Endpoint| ep.is_near_with_errors() && ep.peer_left();
            for ep in left.choose(&self.endpoints.borrow(), gone) {
                self.check_peer(&ep, gone);
            }
        }
        if due_awaited && (self.awaits_something() || self.watches_host()) {
            let due = |ep: &Endpoint| {
                ep.awaits_peer()
                    || ep.awaits_bytes()
                    || ep.is_near_with_errors()
                    || ep.is_lingering()
            };
            for ep in awaited.choose(&self.endpoints.borrow(), due) {
                self.check_peer(&ep, due);
                ep.end_overdue(now);
                ep.end_lingering(now);
            }
        }
        if all.is_due(now, woken) {
            let handles_errors = |ep: &Endpoint| ep.error_mode() != ErrorMode::None;
            for ep in all.choose(&self.endpoints.borrow(), handles_errors) {
                self.check_peer(&ep, handles_errors);
            }
        }
    }

    /// Looks at the endpoints whose peer's process has ended.
    fn mourn(&self) {
        if !self.deaths.collect() {
            return;
        }
        for token in self.deaths.take() {
            if let Some(ep) = self.endpoint_by_token(token) {
                self.check_peer(&ep, |ep| ep.failure().is_none());
            }
        }
    }

    /// Whether there may be endpoints with error handling by memory of this host: nobody else tells
    /// of their peers' deaths, and who only waits for a receive awaits nothing of them here.
    fn watches_host(&self) -> bool {
        self.near_with_errors.get()
    }

    /// Whether any endpoint can be awaiting something of its peer.
    fn awaits_something(&self) -> bool {
        self.has_work.get()
            || self.awaits_bytes.get()
            || self.lingering.get() != 0
            || !self.ops.borrow().is_empty()
            || !self.tag.fragments.borrow().is_empty()
    }

    /// Fails the endpoint if its peer is gone. What the peer said before may still be here, and
    /// is heard first.
    fn check_peer(&self, ep: &Rc<Endpoint>, still: impl Fn(&Endpoint) -> bool) {
        let Err(error) = ep.check_peer() else { return };
        for _ in 0..LAST_WORDS {
            if self.poll_all() == 0 {
                break;
            }
        }
        if still(ep) {
            ep.fail(error);
        }
    }
}
