//! Pipelines: the payload moves through staging buffers, fragment by fragment, for memory that
//! lanes can't reach by themselves.
//!
//! Each fragment is an operation of its own, which restarts and falls back alone. The whole ends
//! when all fragments have.

use std::rc::Rc;

use super::rtr::{self, Ask};
use super::{Fetch, answer};
use crate::sys::usermem::UserMem;
use crate::ucp::dt::RecvBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::mem::Memory;
use crate::ucp::proto::key::OwnedKey;
use crate::ucp::proto::{Flight, Op};
use crate::ucp::request::{ReqRef, flag};
use crate::ucp::wire::am;
use crate::ucp::wire::rndv::Rts;
use crate::ucp::worker::{ReqOptions, Worker};
use crate::ucs::status::{Error, Result, Status};

/// Fragments under way at a time.
const WINDOW: usize = 4;

/// How fragments come into their staging buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Read from the sender.
    Get,
    /// Written by the sender.
    Put,
}

/// A receive in fragments.
pub struct Ppln {
    buf: RecvBuf,
    kind: Kind,
    sender_op: u64,
    address: u64,
    /// Key of the sender's lease.
    lease: u64,
    /// The sender's memory, which fragments share.
    key: Rc<OwnedKey>,
    /// Of the announcement.
    attempt: u32,
    total: usize,
    /// Bytes of a fragment.
    size: usize,
    /// Where the next fragment begins.
    next: usize,
    /// Fragments under way.
    alive: usize,
    result: Result<()>,
    /// Fragments are being started further down the stack.
    starting: bool,
}

/// A fragment.
pub struct Part {
    parent: u64,
    offset: usize,
    len: usize,
    attempt: u32,
    staging: Memory,
}

impl Part {
    /// Where it is in the message.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Of the announcement.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    fn memory(&self) -> Option<UserMem> {
        let address = self.staging.address() as u64;
        self.staging.slice(address, self.len)
    }
}

/// Begins to receive `total` bytes by fragments.
/// `at_once`: the first may begin before the next progress.
pub fn start(
    worker: &Worker,
    req: ReqRef,
    buf: RecvBuf,
    rts: &Rts,
    total: usize,
    kind: Kind,
    at_once: bool,
) {
    let Some(ep) = req.ep() else {
        return worker.finish(req, Err(Error::Unreachable));
    };
    let remote = super::get::remote_of(rts, total);
    req.set_op(Op::Ppln(Ppln {
        buf,
        kind,
        sender_op: rts.op,
        address: rts.address,
        lease: rts.lease,
        key: Rc::new(OwnedKey::unpack(remote, worker.keys())),
        attempt: rts.attempt,
        total,
        size: ep.config().rndv.frag.max(1),
        next: 0,
        alive: 0,
        result: Ok(()),
        starting: false,
    }));
    match at_once {
        true => run(worker, req),
        false => ep.queue(req),
    }
}

impl Ppln {
    /// Whether it receives this operation of the sender.
    pub fn is_of(&self, sender_op: u64) -> bool {
        self.sender_op == sender_op
    }

    /// The sender has begun this attempt.
    pub fn announced(&mut self, attempt: u32) {
        self.attempt = self.attempt.max(attempt);
    }

    /// The next fragment, if it may begin.
    fn next_part(&mut self, worker: &Worker, parent: u64) -> Option<Part> {
        if self.alive >= WINDOW || self.next >= self.total || self.result.is_err() {
            return None;
        }
        let len = self.size.min(self.total - self.next);
        let Some(staging) = worker.staging(self.size) else {
            self.result = Err(Error::NoMemory);
            return None;
        };
        let offset = self.next;
        self.next += len;
        self.alive += 1;
        Some(Part {
            parent,
            offset,
            len,
            attempt: self.attempt,
            staging,
        })
    }

    fn is_over(&self) -> bool {
        self.alive == 0 && (self.next >= self.total || self.result.is_err())
    }
}

/// Starts what may be started. A few at a time: others have work, too.
pub fn run(worker: &Worker, req: ReqRef) {
    let Some(ep) = req.ep() else { return };
    for _ in 0..WINDOW {
        let Op::Ppln(mut ppln) = take(req) else {
            return;
        };
        let Some(part) = ppln.next_part(worker, req.id()) else {
            return settle(worker, req, &ep, ppln);
        };
        ppln.starting = true;
        let (kind, sender_op) = (ppln.kind, ppln.sender_op);
        let from = (ppln.address, ppln.lease);
        let key = ppln.key.clone();
        req.set_op(Op::Ppln(ppln));
        match kind {
            Kind::Get => begin_get(worker, &ep, part, sender_op, from, key),
            Kind::Put => begin_put(worker, &ep, part, sender_op),
        }
        let Op::Ppln(mut ppln) = take(req) else {
            return;
        };
        ppln.starting = false;
        req.set_op(Op::Ppln(ppln));
    }
    if let Op::Ppln(ppln) = take(req) {
        settle(worker, req, &ep, ppln);
    }
}

/// The operation if it is a pipeline; another is left where it is.
fn take(req: ReqRef) -> Op {
    match req.take_op() {
        op @ Op::Ppln(_) => op,
        op => {
            req.set_op(op);
            Op::None
        }
    }
}

/// Ends it, goes on at the next progress, or waits.
fn settle(worker: &Worker, req: ReqRef, ep: &Rc<Endpoint>, ppln: Ppln) {
    if ppln.is_over() {
        let (sender_op, result) = (ppln.sender_op, ppln.result);
        drop(ppln);
        answer(ep, am::ATS, sender_op, Status::OK);
        return worker.finish(req, result);
    }
    let more = ppln.alive < WINDOW && ppln.next < ppln.total && ppln.result.is_ok();
    req.set_op(Op::Ppln(ppln));
    if more && !ep.is_queued(req) {
        ep.queue(req);
    }
}

/// A request for a fragment.
fn request(worker: &Worker, ep: &Rc<Endpoint>) -> Option<ReqRef> {
    let req = worker.new_request(&ReqOptions::default()).ok()?;
    req.add_flags(flag::RELEASED);
    req.set_ep(Some(ep.clone()), 0);
    worker.name_op(req);
    Some(req)
}

fn begin_get(
    worker: &Worker,
    ep: &Rc<Endpoint>,
    part: Part,
    sender_op: u64,
    from: (u64, u64),
    key: Rc<OwnedKey>,
) {
    let (Some(mem), Some(req)) = (part.memory(), request(worker, ep)) else {
        return lost(worker, part);
    };
    let from = (from.0.wrapping_add(part.offset as u64), from.1);
    let fetch = Fetch::part(mem, part, sender_op, from, key, req.id());
    super::settle_fetch(worker, req, ep, Flight::new(fetch).drive(ep));
}

fn begin_put(worker: &Worker, ep: &Rc<Endpoint>, part: Part, sender_op: u64) {
    let (Some(mem), Some(req)) = (part.memory(), request(worker, ep)) else {
        return lost(worker, part);
    };
    let ask = Ask {
        sender_op,
        offset: part.offset,
        len: part.len,
        attempt: part.attempt,
        got: 0,
        part: Some(part),
    };
    rtr::expose(worker, req, RecvBuf::Contig(mem), ask);
}

/// A fragment could not begin.
fn lost(worker: &Worker, part: Part) {
    counted(worker, part, Err(Error::NoMemory));
}

/// A fragment is in its staging buffer, or has failed.
pub fn part_ended(worker: &Worker, req: ReqRef, part: Part, result: Result<()>) {
    worker.finish(req, Ok(()));
    counted(worker, part, result);
}

fn counted(worker: &Worker, part: Part, result: Result<()>) {
    let Some(req) = worker.op_by_id(part.parent) else {
        return;
    };
    let Op::Ppln(mut ppln) = take(req) else {
        return;
    };
    ppln.alive = ppln.alive.saturating_sub(1);
    let stored = result.and_then(|()| match part.memory() {
        Some(mem) => ppln.buf.copy_part(part.offset, mem),
        None => Err(Error::NoMemory),
    });
    if ppln.result.is_ok() {
        ppln.result = stored;
    }
    worker.staging_back(part.staging);
    let go_on = !ppln.starting;
    req.set_op(Op::Ppln(ppln));
    if go_on {
        run(worker, req);
    }
}
