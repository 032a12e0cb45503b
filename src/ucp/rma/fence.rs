//! Fence: what was posted before it takes effect before what is posted after it.
//!
//! Nothing is done as long as the operations before it are over, or all go the same, ordered
//! way. Otherwise what comes later is held until they are over.

use core::sync::atomic;
use std::rc::Rc;

use super::order::{Fence, Held, InFlight, Kind, Way};
use crate::ucp::ep::Endpoint;
use crate::ucp::ep::flush::Then;
use crate::ucp::proto::Op;
use crate::ucp::request::{ReqRef, flag};
use crate::ucp::worker::{ReqOptions, Worker};
use crate::ucs::status::{Error, Result};

impl Worker {
    /// Orders what follows on each endpoint after what was posted there.
    pub fn fence(&self) {
        atomic::fence(atomic::Ordering::SeqCst);
        let listed = self.take_one_sided();
        for ep in listed {
            if ep.fence() {
                self.list_one_sided(ep);
            }
        }
    }
}

impl Endpoint {
    /// False if nothing here needs to be ordered.
    fn fence(self: &Rc<Self>) -> bool {
        let order = self.order();
        if !order.held.borrow().is_empty() {
            order.held.borrow_mut().push_back(Held::Fence);
            return true;
        }
        let fence = order.fence_now();
        order.set_fence(match fence {
            Fence::Open => fence,
            _ => fence.max(order.fence()),
        });
        if fence == Fence::Open {
            order.list(false);
        }
        fence != Fence::Open
    }

    /// A message has gone to the target, or is queued.
    pub fn note_message(self: &Rc<Self>) {
        self.order().set_unflushed(true);
        self.note_one_sided();
    }

    /// An operation begins that a fence may have to wait for.
    pub fn note_one_sided(self: &Rc<Self>) {
        if self.order().list(true) {
            self.worker().list_one_sided(self.clone());
        }
    }

    /// Counts an operation of this endpoint as long as the result lives.
    pub(in crate::ucp) fn count_one_sided(self: &Rc<Self>, kind: Kind) -> InFlight {
        self.note_one_sided();
        self.order().count(kind)
    }

    /// Begins an operation, or holds it behind a fence.
    pub(in crate::ucp) fn begin_one_sided(self: &Rc<Self>, req: ReqRef, way: Way) {
        if self.order().allows(way) {
            return self.begin_now(req, way);
        }
        self.hold(Held::Op(req, way));
        self.release_held();
    }

    fn begin_now(self: &Rc<Self>, req: ReqRef, way: Way) {
        self.one_sided_started(req);
        match way {
            Way::Message | Way::Rails => {
                self.announce();
                if self.is_blocked() {
                    // A fence that comes before its turn has to know of it.
                    let op = match req.take_op() {
                        Op::Get(mut flight) => {
                            flight.prepare(self);
                            Op::Get(flight)
                        }
                        Op::Put(mut flight) => {
                            flight.prepare(self);
                            Op::Put(flight)
                        }
                        Op::Atomic(mut flight) => {
                            flight.prepare(self);
                            Op::Atomic(flight)
                        }
                        other => other,
                    };
                    req.set_op(op);
                }
                self.submit(req);
            }
            // These need no room on the lane for messages.
            Way::Mapped | Way::Lane => self.resume(req),
        }
    }

    /// A flush that begins while something is held begins behind that. False if nothing is.
    pub(in crate::ucp) fn hold_flush(self: &Rc<Self>, req: ReqRef, then: Then) -> bool {
        let waits = self
            .order_so_far()
            .is_some_and(|order| !order.held.borrow().is_empty());
        if waits {
            self.hold(Held::Flush(req, then));
        }
        waits
    }

    fn hold(&self, held: Held) {
        // Whatever comes now stays behind it.
        self.order().set_fence(Fence::All);
        self.order().held.borrow_mut().push_back(held);
    }

    /// An operation has ended, or a flush was answered: lets go what waited for that.
    pub(in crate::ucp) fn release_held(self: &Rc<Self>) {
        let Some(order) = self.order_so_far() else {
            return;
        };
        if order.held.borrow().is_empty() || order.operations() != 0 {
            return;
        }
        if order.releasing.replace(true) {
            return;
        }
        let mut at_fence = true;
        while at_fence && !order.needs_flush() && order.operations() == 0 {
            at_fence = self.release_until_fence();
        }
        order.releasing.set(false);
        if !at_fence {
            order.set_fence(Fence::Open);
        } else if order.held.borrow().is_empty() {
            order.set_fence(order.fence_now());
        } else if order.operations() == 0 {
            self.ask_for_release();
        }
    }

    /// Begins what is held up to the next fence. True if there is one.
    fn release_until_fence(self: &Rc<Self>) -> bool {
        loop {
            let next = self.order().held.borrow_mut().pop_front();
            match next {
                None => return false,
                Some(Held::Fence) => return true,
                Some(Held::Op(req, way)) => self.begin_now(req, way),
                Some(Held::Flush(req, then)) => self.start_flush(req, then),
            }
        }
    }

    /// Asks the target whether the messages have taken effect.
    fn ask_for_release(self: &Rc<Self>) {
        if self.order().asking.replace(true) {
            return;
        }
        match self.worker().new_request(&ReqOptions::default()) {
            Ok(req) => {
                req.add_flags(flag::RELEASED);
                let id = self.worker().name_op(req);
                req.set_ep(Some(self.clone()), 0);
                req.set_op(Op::Fence(self.ask_flush(id)));
            }
            Err(error) => {
                self.order().asking.set(false);
                self.fail_held(error);
            }
        }
    }

    /// The answer to [`Endpoint::ask_for_release`].
    pub(super) fn fence_answered(self: &Rc<Self>, req: ReqRef, result: Result<()>) {
        self.order().asking.set(false);
        if let Err(error) = result {
            self.order().note_failure(error);
        }
        self.worker().finish(req, Ok(()));
        self.release_held();
    }

    /// An operation has failed. If nobody holds its request, the next flush tells.
    pub(in crate::ucp) fn one_sided_failed(self: &Rc<Self>, req: ReqRef, error: Error) {
        if req.has_flags(flag::RELEASED) {
            self.order().note_failure(error);
        }
        if error == Error::ConnectionReset {
            // The process that had the memory is gone, and the endpoint's peer with it.
            self.fail(error);
        }
        self.worker().finish(req, Err(error));
    }

    /// Ends what is held.
    pub(in crate::ucp) fn fail_held(self: &Rc<Self>, error: Error) {
        loop {
            let next = self.order().held.borrow_mut().pop_front();
            match next {
                None => return,
                Some(Held::Fence) => {}
                Some(Held::Op(req, _)) => self.worker().finish(req, Err(error)),
                Some(Held::Flush(req, then)) => self.end_flush(req, then, Err(error)),
            }
        }
    }
}
