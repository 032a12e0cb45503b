//! Flush: completes when the one-sided operations posted before have completed, at the target too,
//! and messages have been given to the lanes.
//!
//! A flush counts what it waits for: the one-sided operations in flight when it began (each has a
//! number, so that younger ones are told apart), its own turn in the queue of what waits for the
//! lane, and the lanes' confirmations. A rendezvous or a synchronous send is not waited for, since
//! the peer may receive it only after something that this flush comes before (`MPI_Win_flush`
//! after `MPI_Isend`). A flush that closes the endpoint waits for those too: they would be lost.
//! When all that has happened, and one-sided operations have been sent as messages, the target is
//! asked whether they have taken effect; it answers when it comes to the question, since messages
//! arrive in order.

use core::cell::RefCell;
use core::sync::atomic;
use std::rc::Rc;

use smallvec::SmallVec;

use super::Endpoint;
use crate::ucp::proto::Op;
use crate::ucp::request::{ReqRef, TagInfo};
use crate::ucp::rma::order::InFlight;
use crate::ucp::worker::{Posted, ReqOptions};
use crate::ucs::status::{Error, Result};
use crate::uct::Post;

/// What follows a flush.
#[derive(Clone, Copy)]
pub enum Then {
    Nothing,
    /// The endpoint is closed.
    Close,
    /// The peer has been told of the close, and answers.
    Left,
    /// A flush of the worker is told.
    Tell(ReqRef),
}

impl Then {
    fn is_close(&self) -> bool {
        matches!(self, Then::Close)
    }

    fn is_left(&self) -> bool {
        matches!(self, Then::Left)
    }
}

/// Set in the numbers of one-sided operations,
const ONE_SIDED: u64 = 1;
/// and of receives, and whatever else the peer's operations ask for.
pub const OF_PEER: u64 = 2;
/// Numbers grow by this, so that there is room for these.
const NEXT: u64 = 4;

/// A flush in flight.
pub struct Flush {
    /// Operations with a smaller number may be waited for.
    born: u64,
    remaining: usize,
    then: Then,
    result: Result<()>,
    /// The target has been asked.
    asked: Option<InFlight>,
}

impl Flush {
    /// Whether it waits for the operation with this number (0: something of its own).
    fn waits_for(&self, number: u64) -> bool {
        let kind = self.then.is_close() || number & ONE_SIDED != 0;
        number == 0 || number < self.born && kind
    }

    /// One of the things that it waits for has happened. True when it was the last.
    fn count(&mut self, result: Result<()>) -> bool {
        self.remaining = self.remaining.saturating_sub(1);
        if self.result.is_ok() {
            self.result = result;
        }
        self.remaining == 0
    }

    /// What remains is the target's answer.
    pub fn is_asked(&self) -> bool {
        self.asked.is_some()
    }
}

impl Endpoint {
    /// A message or stream operation of this endpoint begins.
    pub fn op_started(self: &Rc<Self>, req: ReqRef) {
        self.count_op(req, 0);
    }

    /// A one-sided operation of this endpoint begins.
    pub fn one_sided_started(self: &Rc<Self>, req: ReqRef) {
        self.one_sided.set(self.one_sided.get() + 1);
        self.count_op(req, ONE_SIDED);
    }

    /// Something begins that an operation of the peer asks for.
    pub fn service_started(self: &Rc<Self>, req: ReqRef) {
        self.count_op(req, OF_PEER);
    }

    fn count_op(self: &Rc<Self>, req: ReqRef, kind: u64) {
        self.started.set(self.started.get() + NEXT);
        self.in_flight.set(self.in_flight.get() + 1);
        req.set_ep(Some(self.clone()), self.started.get() | kind);
    }

    /// An operation with this number has ended.
    pub fn op_ended(self: &Rc<Self>, number: u64) {
        self.in_flight.set(self.in_flight.get().saturating_sub(1));
        if number & ONE_SIDED != 0 {
            self.one_sided.set(self.one_sided.get().saturating_sub(1));
        }
        self.release_held();
        if self.rare.get().is_none() {
            return;
        }
        if !self.has_flushes() {
            return self.gone_if_idle();
        }
        let waiting = self.rare().flushes.borrow().clone();
        // The callback of one may end others.
        let mut called = false;
        for req in waiting {
            if !called || self.still_waits(req) {
                called |= step(self, req, number, Ok(()));
            }
        }
        if number & OF_PEER != 0 {
            self.part();
        }
    }

    /// It has not ended meanwhile.
    fn still_waits(&self, req: ReqRef) -> bool {
        self.flushes()
            .is_some_and(|all| all.borrow().contains(&req))
    }

    /// `ucp_ep_flush_nbx`.
    pub fn flush(self: &Rc<Self>, options: &ReqOptions) -> Result<Posted> {
        self.check_usable()?;
        self.worker.acknowledge_all();
        if self.has_nothing_to_flush() {
            self.worker.serve_peers();
            return self.worker.now(options, Ok(()), TagInfo::default(), 0);
        }
        self.flush_as(options, Then::Nothing)
    }

    /// The end of an endpoint that is not closed by force.
    pub(super) fn flush_and_close(self: &Rc<Self>, options: &ReqOptions) -> Result<Posted> {
        self.worker.acknowledge_all();
        let posted = self.flush_as(options, Then::Close);
        self.tell_closing();
        posted
    }

    fn flush_as(self: &Rc<Self>, options: &ReqOptions, then: Then) -> Result<Posted> {
        let req = self.worker.new_request(options)?;
        self.begin_flush(req, then);
        self.worker.settle(req, options)
    }

    /// Everything is complete already.
    pub(in crate::ucp) fn has_nothing_to_flush(&self) -> bool {
        // What was written to mapped memory is visible before what follows the flush.
        atomic::fence(atomic::Ordering::SeqCst);
        let done = |lane: &dyn crate::uct::Ep| matches!(lane.flush(0), Ok(Post::Done));
        self.is_wired()
            && self.failed.get().is_none()
            && self.one_sided.get() == 0
            && self.order_so_far().is_none_or(|order| order.is_flushed())
            && !self.is_blocked()
            && !self.has_flushes()
            && self.lanes().all(done)
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
    pub(in crate::ucp) fn begin_flush(self: &Rc<Self>, req: ReqRef, then: Then) {
        if !self.hold_flush(req, then) {
            self.start_flush(req, then);
        }
    }

    /// The same whatever is held: that was posted later.
    pub(in crate::ucp) fn start_flush(self: &Rc<Self>, req: ReqRef, then: Then) {
        self.worker.name_op(req);
        req.set_ep(Some(self.clone()), 0);
        let waits_for = match then {
            Then::Close => &self.in_flight,
            Then::Nothing | Then::Tell(_) | Then::Left => &self.one_sided,
        };
        let remaining = waits_for.get() as usize + 1;
        let born = self.started.get() + NEXT;
        req.set_op(Op::Flush(Flush {
            born,
            remaining,
            then,
            result: Ok(()),
            asked: None,
        }));
        self.rare().flushes.borrow_mut().push(req);
        self.submit(req);
    }

    /// Its turn has come: all that was posted before it has been given to the lanes.
    pub(super) fn flush_lanes(self: &Rc<Self>, req: ReqRef, mut flush: Flush) {
        // Numbered messages are looked after beyond the end of the endpoint. A close doesn't wait for
        // the peer's progress: it may be waiting for ours, in its launcher.
        let leaves = || self.config().lanes.numbered && flush.then.is_close();
        if self.failed.get().is_none() && !leaves() {
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

    /// A close in order waits for something.
    pub(super) fn is_closing(&self) -> bool {
        self.find_flush(Then::is_close).is_some()
    }

    /// The closing flush `req` goes on until the peer has answered our farewell.
    pub(super) fn await_farewell(&self, req: ReqRef) {
        req.set_op(Op::Flush(Flush {
            born: 0,
            remaining: 1,
            then: Then::Left,
            result: Ok(()),
            asked: None,
        }));
        self.rare().flushes.borrow_mut().push(req);
    }

    /// Whether that is waited for.
    pub(super) fn has_left(&self) -> bool {
        self.find_flush(Then::is_left).is_some()
    }

    fn find_flush(&self, wanted: fn(&Then) -> bool) -> Option<ReqRef> {
        let waiting = self.flushes().map(|all| all.borrow().clone());
        let mut waiting = waiting.unwrap_or_default().into_iter();
        waiting.find(|req| is_flush(*req, |flush| wanted(&flush.then)))
    }

    pub(super) fn end_flushes(self: &Rc<Self>, error: Error) {
        let waiting = self.flushes().map(RefCell::take).unwrap_or_default();
        for req in waiting {
            if let Op::Flush(flush) = req.take_op() {
                let then = flush.then;
                drop(flush);
                self.end_flush(req, then, Err(error));
            }
        }
    }

    /// The target has answered.
    pub(in crate::ucp) fn flush_answered(self: &Rc<Self>, req: ReqRef, result: Result<()>) {
        step(self, req, 0, result);
        self.release_held();
    }

    /// The peer's end of the connection is closed. A flush that closes ours needs no answer.
    pub(in crate::ucp) fn peer_has_closed(self: &Rc<Self>) {
        let closing: SmallVec<[ReqRef; 2]> = {
            let Some(flushes) = self.flushes() else {
                return;
            };
            let flushes = flushes.borrow();
            flushes.iter().copied().filter(|req| closes(*req)).collect()
        };
        for req in closing {
            if self.still_waits(req) {
                self.flush_answered(req, Ok(()));
            }
        }
        self.ask_again();
    }

    pub(in crate::ucp) fn end_flush(self: &Rc<Self>, req: ReqRef, then: Then, result: Result<()>) {
        let told = self
            .order_so_far()
            .map_or(Ok(()), |order| order.take_failure());
        let result = result.and(told);
        match then {
            // Operations that the failure has ended were counted like others.
            Then::Nothing => self.worker.finish(req, result.and(self.check_usable())),
            Then::Close if self.waits_for_notice() => self.leave(req),
            Then::Close => {
                let result = self.check_usable();
                match self.may_be_needed() {
                    true => self.linger(),
                    false => self.close_now(),
                }
                self.worker.finish(req, result);
            }
            Then::Left => {
                self.close_now();
                self.worker.finish(req, Ok(()));
            }
            Then::Tell(parent) => {
                self.worker.finish(req, result);
                // An endpoint that has failed has nothing left to wait for.
                let result = if self.failed.get().is_some() {
                    Ok(())
                } else {
                    result
                };
                self.worker.child_flushed(parent, result);
            }
        }
    }
}

/// Whether this is a flush that closes, and waits for the target's answer.
fn closes(req: ReqRef) -> bool {
    is_flush(req, |flush| flush.is_asked() && flush.then.is_close())
}

/// Whether this is a flush of which that is so.
fn is_flush(req: ReqRef, is_so: impl FnOnce(&Flush) -> bool) -> bool {
    let op = req.take_op();
    let is = matches!(&op, Op::Flush(flush) if is_so(flush));
    req.set_op(op);
    is
}

/// Something that a flush may wait for has happened: an operation's end, by its number, or (0)
/// something of the flush's own. True if that was the last: the flush has ended.
fn step(ep: &Rc<Endpoint>, req: ReqRef, number: u64, result: Result<()>) -> bool {
    match req.take_op() {
        Op::Flush(mut flush) => {
            if !flush.waits_for(number) || !flush.count(result) {
                req.set_op(Op::Flush(flush));
                return false;
            }
            let ask = flush.asked.is_none()
                && flush.result.is_ok()
                && ep.failed.get().is_none()
                && ep.order_so_far().is_some_and(|order| order.needs_flush());
            if ask {
                flush.remaining = 1;
                flush.asked = Some(ep.ask_flush(req.id()));
                req.set_op(Op::Flush(flush));
                return false;
            }
            if let Some(flushes) = ep.flushes() {
                flushes.borrow_mut().retain(|other| *other != req);
            }
            let (then, result) = (flush.then, flush.result);
            drop(flush);
            ep.end_flush(req, then, result);
            true
        }
        other => {
            req.set_op(other);
            false
        }
    }
}
