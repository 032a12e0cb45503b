//! What waits for room on the lane, in order. As long as anything waits, everything later waits
//! behind it.

use core::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

use super::{Endpoint, Message, Wired};
use crate::ucp::failover::Reliable;
use crate::ucp::proto::{Driven, Flight, Op, Stage, amo, rma, rndv};
use crate::ucp::request::ReqRef;
use crate::ucp::wire::{Writer, am, wireup};
use crate::ucp::wireup::attempts::Attempts;
use crate::ucp::worker::Worker;
use crate::ucs::status::{Error, Result};
use crate::uct::Post;

/// Something to send.
pub enum Pending {
    /// An operation's next step.
    Op(ReqRef),
    /// A message that belongs to the endpoint, since the operation behind it may be gone.
    Control(Message),
}

/// What waits. Queues that have run empty lend their memory to the next: few endpoints wait at a time.
#[derive(Default)]
pub struct Queue {
    items: Cell<Option<Box<Waiting>>>,
}

/// Memory of a queue.
#[derive(Default)]
pub struct Waiting(VecDeque<Pending>);

impl Queue {
    /// Longer ones don't keep their memory.
    const KEEP: usize = 64;

    #[inline]
    fn is_empty(&self) -> bool {
        self.with(|items| items.is_empty()).unwrap_or(true)
    }

    /// Runs `f`, which must not come back here, on what waits, if that has any memory.
    #[inline]
    fn with<T>(&self, f: impl FnOnce(&mut VecDeque<Pending>) -> T) -> Option<T> {
        let mut items = self.items.take()?;
        let value = f(&mut items.0);
        self.items.set(Some(items));
        Some(value)
    }

    fn any(&self, is_it: impl Fn(&Pending) -> bool) -> bool {
        self.with(|items| items.iter().any(is_it)).unwrap_or(false)
    }

    fn retain(&self, keep: impl Fn(&Pending) -> bool) {
        self.with(|items| items.retain(keep));
    }

    fn push_back(&self, pending: Pending, worker: &Worker) {
        let items = self.items.take().or_else(|| worker.idle_queue.take());
        let mut items = items.unwrap_or_default();
        items.0.push_back(pending);
        self.items.set(Some(items));
    }

    fn push_front(&self, pending: Pending) {
        let mut items = self.items.take().unwrap_or_default();
        items.0.push_front(pending);
        self.items.set(Some(items));
    }

    fn pop_front(&self) -> Option<Pending> {
        self.with(VecDeque::pop_front)?
    }

    /// The first operation, whatever else is before it.
    fn pop_op(&self) -> Option<ReqRef> {
        self.with(|items| {
            let at = items.iter().position(|p| matches!(p, Pending::Op(_)))?;
            match items.remove(at)? {
                Pending::Op(req) => Some(req),
                Pending::Control(_) => None,
            }
        })?
    }

    /// It is empty.
    fn rest(&self, worker: &Worker) {
        let items = self.items.take();
        if let Some(items) = items.filter(|items| items.0.capacity() <= Queue::KEEP) {
            worker.idle_queue.set(Some(items));
        }
    }
}

/// What one try came to.
enum Tried {
    Gone,
    Blocked,
}

impl Endpoint {
    pub fn is_blocked(&self) -> bool {
        !self.pending.is_empty()
    }

    pub(super) fn attempts(&self) -> Option<&Attempts> {
        self.wired.get().map(Wired::attempts)
    }

    /// Begins to connect if that has been left for later. False if it can't be done now.
    pub(in crate::ucp) fn connect_early(&self) -> bool {
        self.attempts().is_none_or(Attempts::begin_early)
    }

    pub fn is_queued(&self, req: ReqRef) -> bool {
        let is_it = |p: &Pending| matches!(p, Pending::Op(other) if *other == req);
        self.pending.any(is_it)
    }

    /// An operation that waits for its turn does so no more.
    pub fn unqueue(&self, req: ReqRef) {
        let is_it = |p: &Pending| matches!(p, Pending::Op(other) if *other == req);
        self.pending.retain(|p| !is_it(p));
    }

    /// Queues an operation whose flight is stored in it.
    pub fn queue(self: &Rc<Self>, req: ReqRef) {
        self.push(Pending::Op(req));
    }

    /// Runs an operation now, or queues it behind others.
    pub fn submit(self: &Rc<Self>, req: ReqRef) {
        if self.is_blocked() {
            self.queue(req);
        } else if let Tried::Blocked = self.run(req) {
            self.queue(req);
        }
    }

    fn push(self: &Rc<Self>, pending: Pending) {
        if !self.is_blocked() {
            self.fast_max.set(-1);
            self.worker.block(self.clone());
            if self.attempts().is_some_and(Attempts::is_open) {
                self.worker.connect_ahead(self.token);
            }
        }
        self.pending.push_back(pending, &self.worker);
    }

    /// Sends a small message of ours, after what is queued.
    pub fn send_control(self: &Rc<Self>, id: u8, len: usize, encode: impl Fn(&mut Writer<'_>)) {
        self.send_message(Message::new(id, len, encode));
    }

    pub fn send_message(self: &Rc<Self>, message: Message) {
        if self.failed.get().is_some() {
            return;
        }
        if !self.is_blocked() {
            match self.post(&message, false) {
                Ok(Post::NoResource) => {}
                Ok(_) => return,
                Err(error) => return self.fail(error),
            }
        }
        self.push(Pending::Control(message));
    }

    /// Announces us and sends these messages, before what is queued.
    pub fn send_ahead(self: &Rc<Self>, messages: impl Iterator<Item = Message>) {
        let announcement = self.announcement();
        self.set_relied_on();
        let all = core::iter::once(announcement).chain(messages);
        if self.is_blocked() {
            let all: Vec<Message> = all.collect();
            for message in all.into_iter().rev() {
                self.pending.push_front(Pending::Control(message));
            }
        } else {
            all.for_each(|message| self.send_message(message));
        }
    }

    /// `last`: the last word of an endpoint that may have failed, which goes by what is left of the lane.
    pub(super) fn post(&self, message: &Message, last: bool) -> Result<Post> {
        let lane = self.am_lane();
        match message.post(lane) {
            Err(error) if last => lane
                .below()
                .map_or(Err(error), |below| message.post(&*below)),
            posted => posted,
        }
    }

    /// Makes sure that the peer can answer: it gets our address, ahead of what needs an answer.
    pub fn announce(self: &Rc<Self>) {
        if !self.announced.get() {
            self.set_relied_on();
            self.send_message(self.announcement());
        }
    }

    /// The ends rely on each other: one has asked for the other, and both will say when they are closed.
    pub(super) fn set_relied_on(&self) {
        self.announced.set(true);
        if let Some(link) = self.link() {
            link.reopen();
        }
    }

    /// What numbers the messages of the connection, if the peer's or these are.
    fn link(&self) -> Option<Rc<Reliable>> {
        self.worker.links.find(self.peer.get())
    }

    fn announcement(&self) -> Message {
        self.word_with_address(wireup::Kind::Request)
    }

    /// "I have closed", for a peer that shall answer whether it still has an endpoint or not.
    pub(super) fn question(&self) -> Message {
        self.word_with_address(wireup::Kind::Closed)
    }

    fn word_with_address(&self, kind: wireup::Kind) -> Message {
        let header = wireup::Wireup {
            kind,
            origin: self.origin(),
            to: self.remote_worker(),
        };
        let address = self.worker.address();
        let len = wireup::Wireup::LEN + address.len();
        Message::new(am::WIREUP, len, |w| {
            header.encode(w);
            w.bytes(&address);
        })
    }

    /// Whether the peer has, or will have before any later message, an endpoint for this connection.
    #[inline]
    pub fn is_announced(&self) -> bool {
        self.announced.get()
    }

    pub fn set_announced(&self, announced: bool) {
        self.announced.set(announced);
    }

    /// A message about this side of the connection that needs nothing more.
    pub(super) fn word(&self, kind: wireup::Kind) -> Message {
        let header = wireup::Wireup {
            kind,
            origin: self.origin(),
            to: self.remote_worker(),
        };
        Message::new(am::WIREUP, wireup::Wireup::LEN, |w| header.encode(w))
    }

    /// Tells the peer, once, that this side of the connection is gone. If the lane has no room for
    /// that now, the endpoint lives on in the worker's queue until it has.
    pub(in crate::ucp) fn say_closed(self: &Rc<Self>, kind: wireup::Kind) {
        let link = self.link();
        // Numbered messages are looked after until both ends have said this, the second one too.
        let owed =
            self.announced.replace(false) || link.as_ref().is_some_and(|link| link.owes_word());
        if !self.is_wired() || !owed {
            return;
        }
        if let Some(link) = link {
            link.say_closed();
        }
        self.say_last(self.word(kind));
    }

    /// The last word of this side of the connection.
    pub(super) fn say_last(self: &Rc<Self>, message: Message) {
        if self.is_blocked() || matches!(self.post(&message, true), Ok(Post::NoResource)) {
            self.push(Pending::Control(message));
        }
    }

    /// Sends a message although the endpoint has failed or is being closed.
    pub(in crate::ucp) fn send_last(self: &Rc<Self>, message: Message) {
        if self.is_wired()
            && (self.is_blocked() || matches!(self.post(&message, false), Ok(Post::NoResource)))
        {
            self.push(Pending::Control(message));
        }
    }

    /// Sends what waits. True when nothing waits any more.
    pub fn run_pending(self: &Rc<Self>) -> bool {
        loop {
            let front = self.pending.pop_front();
            let tried = match front {
                None => {
                    self.pending.rest(&self.worker);
                    if self.failed.get().is_none() {
                        self.fast_max.set(self.config().fast_max);
                    }
                    self.gone_if_idle();
                    return true;
                }
                Some(Pending::Op(req)) => match self.run(req) {
                    Tried::Gone => continue,
                    Tried::Blocked => Pending::Op(req),
                },
                Some(Pending::Control(message)) => {
                    match self.post(&message, self.failed.get().is_some()) {
                        // A last word to a peer that has died meanwhile.
                        Ok(Post::NoResource)
                            if self.failed.get().is_some() && self.check_peer().is_err() =>
                        {
                            continue;
                        }
                        Ok(Post::NoResource) => Pending::Control(message),
                        Ok(_) => continue,
                        Err(error) => {
                            self.fail(error);
                            continue;
                        }
                    }
                }
            };
            self.pending.push_front(tried);
            return false;
        }
    }

    /// Whether [`Endpoint::say_closed`] has found no room yet.
    pub(super) fn has_farewell(&self) -> bool {
        let waits =
            |p: &Pending| matches!(p, Pending::Control(message) if message.id == am::WIREUP);
        self.failed.get().is_some() && self.pending.any(waits)
    }

    /// Ends what waits. Flushes are left to [`Endpoint::end_flushes`], which tells whom they are for.
    /// A callback may close the endpoint, which ends the others and leaves a last word.
    pub(super) fn end_pending(self: &Rc<Self>, error: Error) {
        self.pending.retain(|p| matches!(p, Pending::Op(_)));
        while let Some(req) = self.pending.pop_op() {
            match req.take_op() {
                op @ Op::Flush(_) => req.set_op(op),
                op => {
                    drop(op);
                    self.worker.finish(req, Err(error));
                }
            }
        }
    }

    /// Nothing leaves before there are lanes. Where there will be none, since the connection has
    /// failed, a close has nothing to wait for.
    fn run_unwired(self: &Rc<Self>, req: ReqRef) -> Tried {
        match req.take_op() {
            Op::Flush(flush) if self.failed.get().is_some() => {
                self.flush_lanes(req, flush);
                Tried::Gone
            }
            op => {
                req.set_op(op);
                Tried::Blocked
            }
        }
    }

    /// Takes one step of whatever the request is doing.
    fn run(self: &Rc<Self>, req: ReqRef) -> Tried {
        if !self.is_wired() {
            return self.run_unwired(req);
        }
        match req.take_op() {
            Op::Eager(flight) => {
                let sync = flight.stage().is_sync();
                self.drive(req, flight, Op::Eager, |ep, ()| {
                    if sync && req.id() != 0 {
                        req.set_op(Op::SyncWait);
                    } else {
                        ep.worker.finish(req, Ok(()));
                    }
                })
            }
            Op::EagerZcopy(flight) => self.drive(req, flight, Op::EagerZcopy, |ep, ()| {
                ep.worker.finish(req, Ok(()));
            }),
            Op::AmEager(flight) => self.drive(req, flight, Op::AmEager, |ep, ()| {
                ep.worker.finish(req, Ok(()));
            }),
            Op::Announce(flight) => self.drive(req, flight, Op::Announce, |ep, announced| {
                announced.wait(req, ep);
            }),
            Op::Stream(flight) => self.step(req, flight, Op::Stream, rndv::stream::settle),
            Op::RndvPut(flight) => self.step(req, flight, Op::RndvPut, rndv::put::settle),
            Op::Load(flight) => self.step(req, flight, Op::Load, rndv::rkey_ptr::settle),
            op @ Op::Ppln(_) => {
                req.set_op(op);
                rndv::ppln::run(&self.worker, req);
                Tried::Gone
            }
            Op::StreamSend(flight) => self.drive(req, flight, Op::StreamSend, |ep, ()| {
                ep.worker.finish(req, Ok(()));
            }),
            Op::Flush(flush) => {
                self.flush_lanes(req, flush);
                Tried::Gone
            }
            Op::Fetch(flight) => self.step(req, flight, Op::Fetch, rndv::settle_fetch),
            Op::Put(flight) => self.step(req, flight, Op::Put, rma::put::settle),
            Op::Get(flight) => self.step(req, flight, Op::Get, rma::get::settle),
            Op::Atomic(flight) => self.step(req, flight, Op::Atomic, amo::settle),
            other => {
                req.set_op(other);
                Tried::Gone
            }
        }
    }

    /// A completion of something that the operation had posted has come in.
    pub fn resume(self: &Rc<Self>, req: ReqRef) {
        if let Tried::Blocked = self.run(req) {
            self.queue(req);
        }
    }

    /// One step of a protocol that settles by itself what becomes of it.
    fn step<S: Stage>(
        self: &Rc<Self>,
        req: ReqRef,
        flight: Flight<S>,
        wrap: fn(Flight<S>) -> Op,
        settle: fn(&Worker, ReqRef, &Rc<Endpoint>, Driven<S>),
    ) -> Tried {
        match flight.drive(self) {
            Driven::Blocked(flight) => {
                req.set_op(wrap(flight));
                Tried::Blocked
            }
            driven => {
                settle(&self.worker, req, self, driven);
                Tried::Gone
            }
        }
    }

    fn drive<S: Stage>(
        self: &Rc<Self>,
        req: ReqRef,
        flight: Flight<S>,
        wrap: fn(Flight<S>) -> Op,
        next: impl FnOnce(&Rc<Endpoint>, S::Next),
    ) -> Tried {
        match flight.drive(self) {
            Driven::Blocked(flight) => {
                req.set_op(wrap(flight));
                return Tried::Blocked;
            }
            Driven::Waiting(flight) => req.set_op(wrap(flight)),
            Driven::Next(value) => next(self, value),
            Driven::Ended(stage, error) => {
                drop(stage);
                self.worker.finish(req, Err(error));
            }
        }
        Tried::Gone
    }
}
