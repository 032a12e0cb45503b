//! What wakes a sleeping worker to look whether its peers are alive: a timer on the asynchronous
//! thread, which exists as long as there are endpoints to be checked.

use core::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::Worker;
use crate::ucp::ep::{Endpoint, ErrorMode};
use crate::ucs::async_thread::Timer;

/// See the module. A worker that never sleeps has no use for one.
#[derive(Default)]
pub struct Alarm {
    /// Tokens of the endpoints that are checked.
    watched: RefCell<BTreeSet<u64>>,
    timer: RefCell<Option<Timer>>,
}

impl Alarm {
    /// It has gone off since [`Alarm::take_due`] was called last.
    pub fn is_due(&self) -> bool {
        self.timer.borrow().as_ref().is_some_and(Timer::is_due)
    }

    pub fn take_due(&self) -> bool {
        self.timer.borrow().as_ref().is_some_and(Timer::take_due)
    }
}

impl Worker {
    /// The endpoint's peer is to be checked from now on, if the endpoint's mode asks for that.
    pub(in crate::ucp) fn watch_peer(&self, ep: &Endpoint) {
        if ep.is_near_with_errors() {
            self.near_with_errors.set(true);
            self.watch_process(ep);
        }
        let (Some(events), Some(interval)) = (&self.events, self.keepalive.interval()) else {
            return;
        };
        let wanted = ep.error_mode() != ErrorMode::None && ep.is_wired() && ep.failure().is_none();
        if !wanted || !self.alarm.watched.borrow_mut().insert(ep.token()) {
            return;
        }
        let mut timer = self.alarm.timer.borrow_mut();
        if timer.is_none() {
            let signal = events.signaller();
            // Without a thread, which is logged, peers are checked while the worker progresses.
            *timer = Timer::start(interval, Arc::new(move || signal.signal())).ok();
        }
    }

    /// The end of the peer's process wakes the worker.
    fn watch_process(&self, ep: &Endpoint) {
        if let Some(events) = &self.events
            && ep.failure().is_none()
            && let Some(process) = ep.peer_process()
        {
            self.deaths.watch(events, process, ep.token());
        }
    }

    /// The endpoint has failed or gone.
    pub(in crate::ucp) fn unwatch_peer(&self, ep: &Endpoint) {
        if self.events.is_some()
            && let Some(process) = ep.peer_process()
        {
            self.deaths.unwatch(process, ep.token());
        }
        let mut watched = self.alarm.watched.borrow_mut();
        if watched.remove(&ep.token()) && watched.is_empty() {
            drop(self.alarm.timer.take());
        }
    }
}
