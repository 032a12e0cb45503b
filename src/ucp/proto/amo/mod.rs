//! Atomic operations that don't end at once.

use core::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use crate::sys::atomic::Operation;
use crate::sys::usermem::UserMem;
use crate::ucp::ep::{Endpoint, Message};
use crate::ucp::proto::{Driven, Op, Stage, Step};
use crate::ucp::request::ReqRef;
use crate::ucp::rkey::RemoteKey;
use crate::ucp::rma::Way;
use crate::ucp::rma::order::{InFlight, Kind};
use crate::ucp::wire::{Identity, Writer, am, rma};
use crate::ucp::worker::Worker;
use crate::ucs::status::{Error, Result};
use crate::uct::Post;

/// What is to be done where.
#[derive(Clone)]
pub struct Target {
    pub key: Arc<RemoteKey>,
    pub remote: u64,
    /// 4 or 8 bytes.
    pub size: usize,
    pub operation: Operation,
}

impl Target {
    /// `op`: the operation that waits for the value, or 0.
    pub fn request(&self, identity: Identity, op: u64) -> rma::Atomic {
        rma::Atomic {
            identity,
            op,
            region: self.key.region(),
            address: self.remote,
            code: self.operation.op as u8,
            size: self.size as u8,
            operand: self.operation.operand,
            swap: self.operation.swap,
        }
    }

    /// Does it by the instructions of this processor; the value before.
    pub fn apply(&self) -> Result<u64> {
        let mem = self.key.mapped(self.remote, self.size);
        let mem = mem.ok_or(Error::InvalidAddr)?;
        self.operation.apply(mem).ok_or(Error::InvalidParam)
    }
}

/// Stores a result of `reply`'s size.
#[inline]
pub fn store(reply: UserMem, value: u64) {
    match reply.len() {
        4 => reply.write_at(0, &(value as u32).to_ne_bytes()),
        _ => reply.write_at(0, &value.to_ne_bytes()),
    };
}

/// Not carried out, or not sent yet.
pub struct Atomic {
    target: Target,
    way: Way,
    reply: Option<UserMem>,
    op: u64,
    identity: Cell<Option<Identity>>,
}

/// Sent: the value comes.
pub struct Wait {
    target: Target,
    reply: UserMem,
    identity: Identity,
    op: u64,
    _count: InFlight,
}

impl Wait {
    /// The request once more, with its number.
    pub fn message(&self) -> (u64, Message) {
        let request = self.target.request(self.identity, self.op);
        let message = Message::new(am::ATOMIC, rma::Atomic::LEN, |w| request.encode(w));
        (self.identity.seq, message)
    }

    pub fn replied(self, value: u64) {
        store(self.reply, value);
    }
}

impl Atomic {
    /// `op`: our operation's id.
    pub fn new(target: Target, way: Way, reply: Option<UserMem>, op: u64) -> Atomic {
        Atomic {
            target,
            way,
            reply,
            op,
            identity: Cell::new(None),
        }
    }

    fn send(&self, ep: &Rc<Endpoint>) -> Result<Step> {
        let identity = ep.next_identity();
        let op = if self.reply.is_some() { self.op } else { 0 };
        let request = self.target.request(identity, op);
        let post = ep
            .am_lane()
            .am_bcopy(am::ATOMIC, rma::Atomic::LEN, &mut |dst| {
                let mut w = Writer::new(dst);
                request.encode(&mut w);
                w.len()
            })?;
        if post == Post::NoResource {
            return Ok(Step::Blocked);
        }
        if self.reply.is_none() {
            ep.note_message();
        }
        self.identity.set(Some(identity));
        Ok(Step::Done)
    }

    fn waiting(self, ep: &Rc<Endpoint>) -> Option<Wait> {
        Some(Wait {
            reply: self.reply?,
            identity: self.identity.get()?,
            target: self.target,
            op: self.op,
            _count: ep.count_one_sided(Kind::Ordered),
        })
    }
}

impl Stage for Atomic {
    type Attempt = InFlight;
    /// Done, unless a value is to come.
    type Next = Atomic;

    fn begin(&self, ep: &Rc<Endpoint>, _number: u32) -> Result<InFlight> {
        Ok(ep.count_one_sided(Kind::Ordered))
    }

    fn progress(&self, _count: &mut InFlight, ep: &Rc<Endpoint>) -> Result<Step> {
        if self.way == Way::Message {
            return self.send(ep);
        }
        let value = self.target.apply()?;
        if let Some(reply) = self.reply {
            store(reply, value);
        }
        Ok(Step::Done)
    }

    fn done(self) -> Atomic {
        self
    }
}

/// Acts on what became of an atomic operation.
pub fn settle(worker: &Worker, req: ReqRef, ep: &Rc<Endpoint>, driven: Driven<Atomic>) {
    match driven {
        Driven::Blocked(flight) => {
            req.set_op(Op::Atomic(flight));
            ep.queue(req);
        }
        Driven::Waiting(flight) => req.set_op(Op::Atomic(flight)),
        Driven::Next(atomic) => match atomic.waiting(ep) {
            Some(wait) => req.set_op(Op::AtomicWait(wait)),
            None => worker.finish(req, Ok(())),
        },
        Driven::Ended(atomic, error) => {
            drop(atomic);
            ep.one_sided_failed(req, error);
        }
    }
}
