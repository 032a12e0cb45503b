//! Closing.

use std::rc::Rc;

use super::Endpoint;
use crate::ucp::request::TagInfo;
use crate::ucp::wire::wireup;
use crate::ucp::worker::{Posted, ReqOptions};
use crate::ucs::status::{Error, Result};
use crate::uct::{Lease, Which};

impl Endpoint {
    /// `ucp_ep_close_nbx`: at once with `force`, else after a flush. The handle is the user's no
    /// more from here on. Without `force`, an endpoint that has failed, or fails meanwhile, gives its
    /// failure.
    pub fn close(self: &Rc<Self>, options: &ReqOptions, force: bool) -> Result<Posted> {
        self.set_owned(false);
        self.lent.set(false);
        if force {
            // A farewell that still waits for room would be given up with the rest.
            let alive = self.failed.get().is_none() || self.has_farewell();
            // Parts of messages may have gone to a peer that has not needed our address so far.
            if alive && (self.is_blocked() || self.in_flight.get() != 0) {
                self.set_announced(true);
            }
            self.abandon(Error::Canceled);
            if alive {
                // The peer may wait for answers of ours.
                self.say_closed(wireup::Kind::Aborted);
            }
            self.close_now();
            return Ok(Posted::Now(Ok(()), TagInfo::default()));
        }
        self.flush_and_close(options)
    }

    /// The peer has closed its end and no user holds this one.
    pub fn drop_unowned(self: &Rc<Self>) {
        if !self.is_idle() {
            return;
        }
        // A receive that began meanwhile has introduced it once more, perhaps.
        if self.failed.get().is_none() {
            self.say_closed(wireup::Kind::Closed);
        }
        if self.is_idle() {
            self.worker.forget_endpoint(self);
        }
    }

    fn is_idle(&self) -> bool {
        self.in_flight.get() == 0
            && !self.is_blocked()
            && self.order_so_far().is_none_or(|order| order.is_quiet())
    }

    /// Users get their buffers back when their requests complete, so lanes have to leave them alone
    /// before that, and peers that read them have to notice.
    pub(super) fn let_go(&self) {
        if let Some(lease) = self.rare.get().and_then(|rare| rare.lease.get()) {
            lease.revoke();
        }
        for lane in self.lanes() {
            lane.let_go(Which::All);
        }
    }

    /// Key of the lease under which the peer reads what is announced to it.
    pub(in crate::ucp) fn lease(&self) -> u64 {
        self.rare().lease.get_or_init(Lease::new).key()
    }

    /// Ends whatever is in flight.
    pub fn abandon(self: &Rc<Self>, error: Error) {
        let error = self.failed.get().unwrap_or(error);
        self.failed.set(Some(error));
        self.fast_max.set(-1);
        self.let_go();
        self.end_pending(error);
        self.fail_held(error);
        self.worker.finish_all_of(self, error);
        self.end_flushes(error);
        self.end_stream(error, false);
        self.worker.end_parts_from(self.peer_origin(), error);
    }

    /// Out of the worker's tables; the last reference drops the lanes.
    pub fn close_now(self: &Rc<Self>) {
        if self.failed.get().is_none() {
            self.say_closed(wireup::Kind::Closed);
        }
        self.worker.forget_endpoint(self);
        self.end_stream(Error::Canceled, true);
    }
}
