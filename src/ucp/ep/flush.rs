//! Flush: completes when all that was posted before has completed.
//!
//! A flush counts what it waits for: the operations in flight when it began (each has a number,
//! so that younger ones are told apart), its own turn in the queue of what waits for the lane,
//! and the lanes' confirmations.

use std::rc::Rc;

use super::Endpoint;
use crate::ucp::proto::Op;
use crate::ucp::request::ReqRef;
use crate::ucp::worker::{Posted, ReqOptions};
use crate::ucs::status::{Error, Result};
use crate::uct::Post;

/// What follows a flush.
#[derive(Clone, Copy)]
enum Then {
    Nothing,
    /// The endpoint is closed.
    Close,
    /// A flush of the worker is told.
    Tell(ReqRef),
}

/// A flush in flight.
pub struct Flush {
    /// Operations with a smaller number are waited for.
    born: u64,
    remaining: usize,
    then: Then,
    result: Result<()>,
}

impl Flush {
    /// One of the things that it waits for has happened. True when it was the last.
    fn count(&mut self, result: Result<()>) -> bool {
        self.remaining = self.remaining.saturating_sub(1);
        if self.result.is_ok() {
            self.result = result;
        }
        self.remaining == 0
    }
}

impl Endpoint {
    /// An operation of this endpoint begins.
    pub fn op_started(self: &Rc<Self>, req: ReqRef) {
        let number = self.started.get() + 1;
        self.started.set(number);
        self.in_flight.set(self.in_flight.get() + 1);
        req.set_ep(Some(self.clone()), number);
    }

    /// An operation with this number has ended.
    pub fn op_ended(self: &Rc<Self>, number: u64) {
        self.in_flight.set(self.in_flight.get().saturating_sub(1));
        if self.flushes.borrow().is_empty() {
            return;
        }
        let waiting = self.flushes.borrow().clone();
        for req in waiting {
            step(self, req, number, Ok(()));
        }
    }

    /// Begins a flush; with `close`, the endpoint is closed at its end.
    pub fn flush(self: &Rc<Self>, options: &ReqOptions, close: bool) -> Result<Posted> {
        if let Some(error) = self.failed.get().filter(|_| !close) {
            return Err(error);
        }
        let req = self.worker.new_request(options)?;
        self.begin_flush(req, if close { Then::Close } else { Then::Nothing });
        self.worker.settle(req, options)
    }

    /// A flush on behalf of a flush of the worker.
    pub(in crate::ucp) fn flush_for(self: &Rc<Self>, parent: ReqRef) -> Result<()> {
        self.check_usable()?;
        let req = self.worker.new_request(&ReqOptions::default())?;
        req.add_flags(crate::ucp::request::flag::RELEASED);
        self.begin_flush(req, Then::Tell(parent));
        Ok(())
    }

    /// Makes `req` a flush of this endpoint and takes its first step.
    fn begin_flush(self: &Rc<Self>, req: ReqRef, then: Then) {
        self.worker.name_op(req);
        req.set_ep(Some(self.clone()), 0);
        let remaining = self.in_flight.get() + 1;
        let born = self.started.get() + 1;
        req.set_op(Op::Flush(Flush {
            born,
            remaining,
            then,
            result: Ok(()),
        }));
        self.flushes.borrow_mut().push(req);
        self.submit(req);
    }

    /// Its turn has come: all that was posted before it has been given to the lanes.
    pub(super) fn flush_lanes(self: &Rc<Self>, req: ReqRef, mut flush: Flush) {
        if self.failed.get().is_none() {
            for lane in self.lanes() {
                // A broken lane tells by the failure of the endpoint.
                if let Ok(Post::Pending) = lane.flush(req.id()) {
                    flush.remaining += 1;
                }
            }
        }
        req.set_op(Op::Flush(flush));
        step(self, req, 0, Ok(()));
    }

    /// A lane has confirmed.
    pub fn lane_flushed(self: &Rc<Self>, req: ReqRef, result: Result<()>) {
        step(self, req, 0, result);
    }

    pub(super) fn end_flushes(self: &Rc<Self>, error: Error) {
        let waiting = core::mem::take(&mut *self.flushes.borrow_mut());
        for req in waiting {
            if let Op::Flush(flush) = req.take_op() {
                end(self, req, flush.then, Err(error));
            }
        }
    }
}

/// Something that a flush may wait for has happened: an operation's end, by its number, or (0)
/// something of the flush's own.
fn step(ep: &Rc<Endpoint>, req: ReqRef, number: u64, result: Result<()>) {
    match req.take_op() {
        Op::Flush(mut flush) => {
            if number >= flush.born || !flush.count(result) {
                return req.set_op(Op::Flush(flush));
            }
            ep.flushes.borrow_mut().retain(|other| *other != req);
            end(ep, req, flush.then, flush.result);
        }
        other => req.set_op(other),
    }
}

fn end(ep: &Rc<Endpoint>, req: ReqRef, then: Then, result: Result<()>) {
    match then {
        Then::Nothing => ep.worker.finish(req, result),
        Then::Close => {
            ep.close_now();
            // A close has done its work whatever became of the ways to the peer.
            ep.worker.finish(req, Ok(()));
        }
        Then::Tell(parent) => {
            ep.worker.finish(req, result);
            ep.worker.child_flushed(parent, result);
        }
    }
}
