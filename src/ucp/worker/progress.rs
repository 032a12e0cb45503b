//! Progress.

use std::rc::Rc;
use std::time::{Duration, Instant};

use super::Worker;
use crate::ucp::ep::{Endpoint, ErrorHandler};
use crate::ucs::status::Error;

/// After so many rounds without an event the clock is looked at.
pub(super) const IDLE_ROUNDS: u32 = 64;

/// One idle round counts as much as so many busy ones.
const IDLE_WEIGHT: u32 = 64;
pub(super) const LOOK_AFTER: u32 = IDLE_ROUNDS * IDLE_WEIGHT;

/// Interfaces that no endpoint uses are polled at this distance: only a peer's first message can
/// arrive there, and a poll may be a system call.
const LOOK_EVERY: Duration = Duration::from_micros(50);

/// Interfaces that have a bit of their own in the mask of those in use.
const NEAR: usize = u64::BITS as usize;

impl Worker {
    /// Moves everything on that can be moved now, and returns the number of events. Called from
    /// inside a callback it does nothing.
    pub fn progress(&self) -> usize {
        if self.in_progress.replace(true) {
            return 0;
        }
        let mut count = 0;
        let mut active = self.active.get();
        while active != 0 {
            let index = active.trailing_zeros() as usize;
            active &= active - 1;
            count += self.poll(index);
        }
        for (index, gate) in &self.gated {
            if gate.is_open() {
                count += self.poll(*index);
            }
        }
        if self.far_active.get() {
            count += self.poll_far();
        }
        count += self.round_over(count != 0);
        if self.cm.is_active() {
            count += self.sockaddr_round();
        }
        if self.has_work.get() {
            count += self.work_off();
        }
        self.in_progress.set(false);
        count
    }

    #[inline(always)]
    fn poll(&self, index: usize) -> usize {
        match self.ifaces.get(index) {
            Some(open) => open.iface.progress(self),
            None => 0,
        }
    }

    #[cold]
    fn poll_far(&self) -> usize {
        (NEAR..self.ifaces.len()).map(|i| self.poll(i)).sum()
    }

    /// The interface is polled at each progress from now on.
    pub(super) fn poll_always(&self, index: usize) {
        if index < NEAR {
            self.active.set(self.active.get() | 1 << index);
        } else {
            self.far_active.set(true);
        }
    }

    /// Looks around after so many idle rounds, and less often while there is always something to
    /// do: one peer's traffic must not hide another's death.
    #[inline]
    fn round_over(&self, busy: bool) -> usize {
        let rounds = self.rounds.get() + if busy { 1 } else { IDLE_WEIGHT };
        if rounds < LOOK_AFTER {
            self.rounds.set(rounds);
            return 0;
        }
        self.rounds.set(0);
        self.look_around()
    }

    /// Now and then looks at connections by socket address: it takes a system call.
    #[cold]
    fn sockaddr_round(&self) -> usize {
        let rounds = self.sockaddr_rounds.get() + 1;
        if rounds < IDLE_ROUNDS {
            self.sockaddr_rounds.set(rounds);
            return 0;
        }
        self.sockaddr_rounds.set(0);
        self.poll_sockaddr()
    }

    /// Polls the interfaces that no endpoint uses, if that is due.
    #[cold]
    fn look_around(&self) -> usize {
        let now = Instant::now();
        if self
            .last_look
            .get()
            .is_some_and(|last| now - last < LOOK_EVERY)
        {
            return 0;
        }
        self.last_look.set(Some(now));
        self.keep_alive(now);
        self.poll_quiet_ifaces()
    }

    /// Polls the interfaces that no endpoint uses.
    fn poll_quiet_ifaces(&self) -> usize {
        let mut count = 0;
        for index in 0..self.ifaces.len() {
            let active = match index < NEAR {
                true => self.active.get() & 1 << index != 0,
                false => self.far_active.get(),
            };
            if active {
                continue;
            }
            let n = self.poll(index);
            if n != 0 {
                // A peer has found us here: more will come.
                self.poll_always(index);
            }
            count += n;
        }
        count
    }

    /// Polls every interface.
    pub(in crate::ucp) fn poll_all(&self) -> usize {
        (0..self.ifaces.len()).map(|index| self.poll(index)).sum()
    }

    /// The slow part: what waits for room, and endpoints that have failed.
    #[inline(never)]
    fn work_off(&self) -> usize {
        let mut count = 0;
        let blocked = self.blocked.borrow().len();
        for _ in 0..blocked {
            let Some(ep) = self.blocked.borrow_mut().pop_front() else {
                break;
            };
            if ep.run_pending() {
                count += 1;
            } else {
                self.blocked.borrow_mut().push_back(ep);
            }
        }
        loop {
            let Some(ep) = self.failed.borrow_mut().pop() else {
                break;
            };
            ep.end_failed();
            count += 1;
        }
        count += self.serve_links();
        let idle = self.blocked.borrow().is_empty()
            && self.failed.borrow().is_empty()
            && self.links.is_idle();
        self.has_work.set(!idle);
        count
    }

    /// Something of this endpoint waits for room.
    pub fn block(&self, ep: Rc<Endpoint>) {
        self.blocked.borrow_mut().push_back(ep);
        self.has_work.set(true);
        self.blocked_while_armed();
    }

    /// True if a lane has refused something for lack of room.
    pub(super) fn is_blocked(&self) -> bool {
        !self.blocked.borrow().is_empty()
    }

    /// The endpoint has failed: the rest is done at the next progress.
    pub fn note_failure(&self, ep: Rc<Endpoint>) {
        self.failed.borrow_mut().push(ep);
        self.has_work.set(true);
        if let Some(events) = &self.events {
            events.signal();
        }
    }

    /// Tells the user that an endpoint has failed.
    #[allow(unsafe_code)]
    pub fn call_error_handler(&self, ep: &Rc<Endpoint>, handler: ErrorHandler, error: Error) {
        let handle = Rc::as_ptr(ep).cast_mut().cast();
        // SAFETY: the user gave function and argument for this call; the endpoint is alive.
        unsafe { (handler.cb)(handler.arg, handle, error.into()) };
    }
}
