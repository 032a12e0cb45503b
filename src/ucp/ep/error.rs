//! Failure of an endpoint.

use core::cell::RefCell;
use core::ffi::c_void;
use std::rc::Rc;

use super::{Endpoint, EpOptions};
use crate::sys::hostid::Process;
use crate::ucp::address::NO_NAME;
pub use crate::ucp::proto::verdict::ErrorMode;
use crate::ucp::proto::verdict::{Standing, Verdict, verdict};
use crate::ucp::wire::wireup;
use crate::ucs::status::{Error, Result, Status};
use crate::uct;

/// `ucp_err_handler_cb_t`: user's argument, endpoint, status.
pub type ErrorCb = unsafe extern "C" fn(*mut c_void, *mut c_void, Status);

/// `ucp_err_handler_t`
#[derive(Clone, Copy, Debug)]
pub struct ErrorHandler {
    pub cb: ErrorCb,
    pub arg: *mut c_void,
}

impl Endpoint {
    /// What the failure of a lane operation means here. `survivors`: lanes that the operation could
    /// go on with.
    pub fn verdict(&self, error: Error, survivors: usize, budget: u32) -> Verdict {
        let standing = Standing {
            mode: self.error_mode(),
            failed: self.failed.get(),
            survivors,
            budget,
        };
        verdict(error, standing)
    }

    /// The lane that was chosen to ask whether the peer is alive.
    fn keepalive_lane(&self) -> Option<&dyn uct::Ep> {
        self.lane_at(self.config().lanes.keepalive.unwrap_or_default())
    }

    /// Asks that lane.
    pub fn check_peer(&self) -> Result<()> {
        match self.keepalive_lane() {
            Some(lane) if self.error_mode() == ErrorMode::None => lane.check(),
            Some(lane) => lane.check_host(),
            None => Ok(()),
        }
    }

    /// The process behind that lane, where only the kernel tells of its end.
    pub fn peer_process(&self) -> Option<Process> {
        self.keepalive_lane()?.process()
    }

    /// Something here goes on only when the peer does its part.
    pub fn awaits_peer(&self) -> bool {
        self.in_flight.get() != 0
            || self.has_flushes()
            || self.is_blocked()
            || self.order_so_far().is_some_and(|order| order.is_asked())
            || self.worker.tag.has_part_from(self.peer_origin())
            || self.worker.early.has_from(self.peer_origin())
    }

    /// A receive waits for bytes that only this peer can send.
    pub fn awaits_bytes(&self) -> bool {
        let stream = self.stream_so_far().map(RefCell::borrow);
        stream.is_some_and(|stream| stream.as_ref().is_some_and(|stream| stream.is_awaited()))
    }

    /// The peer is known to have closed in good order.
    pub fn peer_left(&self) -> bool {
        self.is_wired() && self.am_lane().peer_left()
    }

    /// What the peer calls itself, or what stands for that.
    pub fn given_peer_name(&self) -> &str {
        &self.peer_name
    }

    /// What to call the peer in messages: the name that it gave itself, or where it is.
    pub fn peer_name(&self) -> String {
        if &*self.peer_name != NO_NAME {
            return self.peer_name.to_string();
        }
        let worker = self.remote_worker();
        let place = self.is_wired().then(|| self.am_lane().peer()).flatten();
        match place {
            Some(place) => format!("worker {worker:#x} ({place})"),
            None => format!("worker {worker:#x}"),
        }
    }

    /// Handles errors, over shared memory: no lane tells of the peer's death.
    pub fn is_near_with_errors(&self) -> bool {
        let lane = || {
            self.config()
                .lanes
                .all
                .get(usize::from(self.config().lanes.am))
                .map(|am| am.local)
        };
        self.error_mode() != ErrorMode::None
            && self.is_wired()
            && lane().is_some_and(|local| self.worker.is_intra_node(local))
    }

    /// A lane has failed. True if another way to the peer is tried instead: nothing has been sent
    /// by the lane yet.
    pub fn try_another_way(&self, error: Error) -> bool {
        let Some(attempts) = self.attempts().filter(|_| self.failed.get().is_none()) else {
            return false;
        };
        let goes_on = attempts.failed(error);
        if goes_on {
            let peer = self.peer_name();
            crate::ucs_diag!("one address of {peer} leads nowhere ({error}): trying another");
        }
        if let Some(local) = attempts.local().filter(|_| goes_on) {
            self.worker.activate(local);
        }
        goes_on
    }

    pub fn error_mode(&self) -> ErrorMode {
        self.with_options(|options| options.mode)
    }

    /// The peer or all ways to it are lost. What is in flight is ended at the worker's next
    /// progress, and then the user's handler is called; from now on, posts return the error.
    pub fn fail(self: &Rc<Self>, error: Error) {
        if self.failed.get().is_some() {
            return;
        }
        self.failed.set(Some(error));
        self.fast_max.set(-1);
        self.worker.unwatch_peer(self);
        self.worker.note_failure(self.clone());
    }

    /// The peer's end is closed, but its worker lives: it is told that this end is given up, since
    /// parts of our messages may have arrived there, and be waiting for the rest.
    /// The same where a lane beside that of messages has failed.
    pub fn fail_with_peer(self: &Rc<Self>, error: Error) {
        if self.failed.get().is_none() {
            self.tell_peer.set(true);
            self.fail(error);
        }
    }

    /// A connection by socket address has come to nothing. The peer's worker may live all the same, and
    /// have parts of messages.
    pub(in crate::ucp) fn come_to_nothing(self: &Rc<Self>, error: Error) {
        match self.is_wired() && self.awaits_peer() {
            true => self.fail_with_peer(error),
            false => self.fail(error),
        }
    }

    /// The second half of [`Endpoint::fail`].
    pub fn end_failed(self: &Rc<Self>) {
        let Some(error) = self.failed.get() else {
            return;
        };
        // The peer has closed, and nothing is lost by that.
        let quiet = self.peer_stopped.get() && !self.awaits_peer();
        self.let_go();
        self.end_pending(error);
        self.fail_held(error);
        self.worker.finish_all_of(self, error);
        self.end_flushes(error);
        self.end_stream(error, false);
        self.worker.end_parts_from(self.peer_origin(), error);
        // A peer that lives, and hears nothing of how our lane has ended.
        let unheard = self.is_wired() && self.am_lane().below().is_some();
        if self.tell_peer.take() || unheard {
            self.set_announced(true);
            self.say_closed(wireup::Kind::Aborted);
        }
        let EpOptions { mode, handler, .. } = self.options();
        match handler {
            Some(handler) if mode != ErrorMode::None && self.is_owned() => {
                self.worker.call_error_handler(self, handler, error);
            }
            _ if self.is_owned() && !quiet => {
                crate::ucs_error!("connection to {} failed: {error}", self.peer_name());
            }
            _ => {
                let name = self.peer_name();
                crate::ucs_diag!("connection from {name} failed: {error}");
                if !self.is_held() {
                    self.worker.forget_endpoint(self);
                }
            }
        }
    }
}
