//! Receiving: posting, probing, cancelling, and what arriving messages do.

use core::ffi::c_void;

use super::TagRecv;
use super::frags::Target;
use super::unexpected::{AckTo, Body, Handle, Message, Partial, Whole};
use crate::sys::usermem::UserMem;
use crate::ucp::dt::RecvBuf;
use crate::ucp::proto::rndv::ranges::Ranges;
use crate::ucp::proto::{Op, rndv};
use crate::ucp::request::{ReqRef, TagInfo, flag};
use crate::ucp::wire::rndv::{Answer, Rts};
use crate::ucp::wire::tag::{First, Middle, split_only};
use crate::ucp::wire::{Identity, Origin, am};
use crate::ucp::worker::{Posted, ReqOptions, Worker};
use crate::ucs::status::{Error, Result, Status};

/// Posts a receive of the first message whose tag equals `tag` in the bits of `mask`.
pub fn post(
    worker: &Worker,
    buf: RecvBuf,
    tag: u64,
    mask: u64,
    options: &ReqOptions,
) -> Result<Posted> {
    let found = worker
        .tag
        .unexpected
        .borrow()
        .find(tag, mask)
        .map(|(handle, _)| handle);
    let message = found.and_then(|handle| {
        if options.force_immediate && !is_whole(worker, handle) {
            return None;
        }
        worker.tag.unexpected.borrow_mut().take(handle)
    });
    if let Some(message) = message {
        return receive(worker, buf, message, options);
    }
    if options.force_immediate {
        return Err(Error::NoResource);
    }
    let req = worker.new_request(options)?;
    req.set_callback(options.callback, options.user_data);
    match buf {
        RecvBuf::Contig(mem) => enqueue(worker, req, mem, tag, mask),
        buf => {
            req.add_flags(flag::RECV);
            req.set_op(Op::Recv(TagRecv::new(buf)));
            worker.tag.expected.borrow_mut().push(tag, mask, req);
        }
    }
    Ok(Posted::Later(req))
}

/// What became of a receive on the fast path.
pub enum Tried {
    /// It is in flight. The caller sets its callback.
    Posted(ReqRef),
    /// A message that was here already has been received.
    Received(Status),
    /// Nothing: it takes the long way.
    Not,
}

/// The fast path: a receive of contiguous memory that no message waits for, or (with `at_once`, where no
/// request and nothing about the message is wanted) one that is here as a whole.
/// `area`: the user's own request, or null.
#[inline(always)]
pub fn try_post(
    worker: &Worker,
    mem: UserMem,
    tag: u64,
    mask: u64,
    area: *mut c_void,
    at_once: bool,
) -> Tried {
    let mut waiting = worker.tag.unexpected.borrow_mut();
    if !waiting.is_empty() {
        if !at_once {
            return Tried::Not;
        }
        match waiting.take_whole(tag, mask, |_, bytes| store_in(mem, bytes)) {
            Whole::None => {}
            Whole::Other => return Tried::Not,
            Whole::Taken(status) => return Tried::Received(status),
        }
    }
    drop(waiting);
    let Ok(req) = worker.request_in(area) else {
        return Tried::Not;
    };
    enqueue(worker, req, mem, tag, mask);
    Tried::Posted(req)
}

/// A whole message into contiguous memory.
#[inline(always)]
fn store_in(mem: UserMem, payload: &[u8]) -> Status {
    if payload.len() <= mem.len() {
        mem.write_at(0, payload);
        Status::OK
    } else {
        Error::MessageTruncated.into()
    }
}

#[inline(always)]
fn enqueue(worker: &Worker, req: ReqRef, mem: UserMem, tag: u64, mask: u64) {
    req.set_contig(mem);
    worker.tag.expected.borrow_mut().push(tag, mask, req);
}

/// Receives a message that a probe has claimed.
pub fn post_claimed(
    worker: &Worker,
    buf: RecvBuf,
    raw: u64,
    options: &ReqOptions,
) -> Result<Posted> {
    let handle = Handle::from_raw(raw);
    if options.force_immediate && !is_whole(worker, handle) {
        return Err(Error::NoResource);
    }
    let message = worker.tag.unexpected.borrow_mut().take(handle);
    receive(worker, buf, message.ok_or(Error::InvalidParam)?, options)
}

/// Looks for a message; with `remove`, takes it out of the queue for [`post_claimed`].
pub fn probe(worker: &Worker, tag: u64, mask: u64, remove: bool) -> Option<(u64, TagInfo)> {
    let mut queue = worker.tag.unexpected.borrow_mut();
    let (handle, message) = queue.find(tag, mask)?;
    let info = TagInfo {
        sender_tag: message.tag,
        length: message.total(),
    };
    if remove {
        queue.claim(handle);
    }
    Some((handle.to_raw(), info))
}

/// Cancels a receive that has not been matched; anything else goes on.
pub fn cancel(worker: &Worker, req: ReqRef) {
    if req.is_queued() {
        worker.tag.expected.borrow_mut().remove(req);
        req.set_info(TagInfo::default());
        worker.finish(req, Err(Error::Canceled));
    }
}

fn is_whole(worker: &Worker, handle: Handle) -> bool {
    let mut queue = worker.tag.unexpected.borrow_mut();
    queue
        .get_mut(handle)
        .is_some_and(|message| message.body.bytes().is_some())
}

/// Gives a message that is already here to a receive.
fn receive(
    worker: &Worker,
    buf: RecvBuf,
    message: Message,
    options: &ReqOptions,
) -> Result<Posted> {
    let info = TagInfo {
        sender_tag: message.tag,
        length: message.total(),
    };
    if let Some(data) = message.body.bytes() {
        let result = store(&buf, 0, data, info.length);
        drop(buf);
        acknowledge(worker, message.ack.as_deref());
        return worker.now(options, result, info, flag::RECV);
    }
    match message.body {
        Body::Partial(partial) => {
            let req = worker.new_request(options)?;
            req.add_flags(flag::RECV);
            req.set_info(info);
            acknowledge(worker, message.ack.as_deref());
            let mut recv = TagRecv::new(buf);
            for (offset, data) in &partial.frags {
                recv.take_in(*offset, data, info.length);
            }
            worker
                .tag
                .fragments
                .borrow_mut()
                .insert(partial.identity, Target::Request(req));
            req.set_op(Op::Recv(recv));
            worker.settle(req, options)
        }
        Body::Rndv(rts) => {
            let req = worker.new_request(options)?;
            req.add_flags(flag::RECV);
            req.set_info(info);
            rndv::receive(worker, req, buf, &rts);
            worker.settle(req, options)
        }
        body => {
            drop(buf);
            // Whole messages were received above.
            let error = match body {
                Body::Lost(error, _) => error,
                _ => Error::Unreachable,
            };
            worker.now(options, Err(error), info, flag::RECV)
        }
    }
}

/// Stores bytes of a message of `total` bytes. Nothing is written past the buffer's length.
fn store(buf: &RecvBuf, offset: usize, data: &[u8], total: usize) -> Result<()> {
    if total > buf.len() {
        return Err(Error::MessageTruncated);
    }
    buf.unpack(offset, data)
}

fn acknowledge(worker: &Worker, ack: Option<&AckTo>) {
    let Some(ack) = ack else { return };
    let Some(ep) = worker.endpoint_to_answer(ack.origin) else {
        crate::ucs_diag!("no endpoint to acknowledge a synchronous send to");
        return;
    };
    let answer = Answer {
        op: ack.op,
        status: Status::OK.0,
    };
    ep.send_control(am::SYNC_ACK, Answer::LEN, |w| answer.encode(w));
}

impl TagRecv {
    /// False for what can't be part of the message, or is there already.
    fn take_in(&mut self, offset: usize, data: &[u8], total: usize) -> bool {
        let is_new = self.received.add_new(offset, data.len(), total);
        if is_new && self.result.is_ok() {
            self.result = store(&self.buf, offset, data, total);
        }
        is_new
    }
}

/// An `EAGER_ONLY` has arrived.
#[inline(always)]
pub fn on_eager_only(worker: &Worker, data: &[u8]) -> Option<()> {
    let (tag, payload) = split_only(data)?;
    let req = worker.tag.expected.borrow_mut().take_match(tag);
    match req {
        Some(req) => deliver_whole(worker, req, tag, payload),
        None => queue_whole(worker, tag, payload, None),
    }
    Some(())
}

#[inline(always)]
fn deliver_whole(worker: &Worker, req: ReqRef, tag: u64, payload: &[u8]) {
    let contig = req.contig();
    req.set_info(TagInfo {
        sender_tag: tag,
        length: payload.len(),
    });
    let Some(mem) = contig else {
        return deliver_other(worker, req, payload);
    };
    req.complete_contig(&worker.requests, store_in(mem, payload));
}

/// The same for memory that is not contiguous.
#[inline(never)]
fn deliver_other(worker: &Worker, req: ReqRef, payload: &[u8]) {
    let Op::Recv(recv) = req.take_op() else {
        return;
    };
    let result = store(&recv.buf, 0, payload, payload.len());
    // A generic datatype is finished before the user is told.
    drop(recv);
    worker.finish(req, result);
}

#[inline(never)]
fn queue_whole(worker: &Worker, tag: u64, payload: &[u8], ack: Option<AckTo>) {
    let message = Message {
        tag,
        ack: ack.map(Box::new),
        body: Body::whole(payload),
    };
    worker.tag.unexpected.borrow_mut().push(message);
}

/// A `SYNC_ONLY` has arrived.
pub fn on_sync_only(worker: &Worker, data: &[u8]) -> Option<()> {
    let (first, payload) = First::decode(data)?;
    let ack = AckTo {
        origin: first.identity.origin,
        op: first.op,
    };
    let req = worker.tag.expected.borrow_mut().take_match(first.tag);
    match req {
        Some(req) => {
            acknowledge(worker, Some(&ack));
            deliver_whole(worker, req, first.tag, payload);
        }
        None => queue_whole(worker, first.tag, payload, Some(ack)),
    }
    Some(())
}

/// An `EAGER_FIRST` or, with `sync`, a `SYNC_FIRST` has arrived.
pub fn on_first(worker: &Worker, data: &[u8], sync: bool) -> Option<()> {
    let (first, payload) = First::decode(data)?;
    let total = usize::try_from(first.total)
        .ok()
        .filter(|total| payload.len() < *total)?;
    let ack = sync.then_some(AckTo {
        origin: first.identity.origin,
        op: first.op,
    });
    let req = worker.tag.expected.borrow_mut().take_match(first.tag);
    let target = match req {
        Some(req) => {
            acknowledge(worker, ack.as_ref());
            let Op::Recv(mut recv) = req.take_op() else {
                return None;
            };
            recv.take_in(0, payload, total);
            req.set_info(TagInfo {
                sender_tag: first.tag,
                length: total,
            });
            req.set_op(Op::Recv(recv));
            Target::Request(req)
        }
        None => {
            let partial = Partial {
                identity: first.identity,
                total,
                frags: vec![(0, payload.into())],
                received: Ranges::first(payload.len()),
            };
            let message = Message {
                tag: first.tag,
                ack: ack.map(Box::new),
                body: Body::Partial(Box::new(partial)),
            };
            Target::Message(worker.tag.unexpected.borrow_mut().push(message))
        }
    };
    worker
        .tag
        .fragments
        .borrow_mut()
        .insert(first.identity, target);
    for (offset, data) in worker.early.take(&first.identity) {
        fragment(worker, target, first.identity, offset, &data);
    }
    Some(())
}

/// An `EAGER_MIDDLE` has arrived.
pub fn on_middle(worker: &Worker, data: &[u8]) -> Option<()> {
    let (middle, payload) = Middle::decode(data)?;
    let offset = usize::try_from(middle.offset).ok()?;
    let target = worker.tag.fragments.borrow().get(&middle.identity).copied();
    match target {
        Some(target) => fragment(worker, target, middle.identity, offset, payload),
        None => worker.keep_early(&middle, payload),
    }
}

/// A later fragment of a message whose first has come.
fn fragment(
    worker: &Worker,
    target: Target,
    identity: Identity,
    offset: usize,
    payload: &[u8],
) -> Option<()> {
    match target {
        Target::Request(req) => fragment_for_request(worker, req, identity, offset, payload),
        Target::Message(handle) => fragment_for_message(worker, handle, identity, offset, payload),
    }
}

fn fragment_for_request(
    worker: &Worker,
    req: ReqRef,
    identity: Identity,
    offset: usize,
    payload: &[u8],
) -> Option<()> {
    let total = req.info().length;
    let Op::Recv(mut recv) = req.take_op() else {
        return None;
    };
    let is_new = recv.take_in(offset, payload, total);
    if recv.received.len() < total {
        req.set_op(Op::Recv(recv));
        return is_new.then_some(());
    }
    worker.tag.fragments.borrow_mut().remove(&identity);
    let result = recv.result;
    drop(recv);
    worker.finish(req, result);
    Some(())
}

fn fragment_for_message(
    worker: &Worker,
    handle: Handle,
    identity: Identity,
    offset: usize,
    payload: &[u8],
) -> Option<()> {
    let mut queue = worker.tag.unexpected.borrow_mut();
    let message = queue.get_mut(handle)?;
    let Body::Partial(partial) = &mut message.body else {
        return None;
    };
    let total = partial.total;
    if !partial.received.add_new(offset, payload.len(), total) {
        return None;
    }
    partial.frags.push((offset, payload.into()));
    if partial.received.len() == total {
        // Those of several lanes come in any order.
        partial.frags.sort_unstable_by_key(|(offset, _)| *offset);
        let mut whole = Vec::with_capacity(total);
        for (_, frag) in partial.frags.drain(..) {
            whole.extend_from_slice(&frag);
        }
        message.body = Body::Whole(whole.into());
        worker.tag.fragments.borrow_mut().remove(&identity);
    }
    Some(())
}

impl Worker {
    /// The rest of what has begun to come in from this endpoint of a peer will never come.
    pub(in crate::ucp) fn end_parts_from(&self, origin: Origin, error: Error) {
        let parts = self.am.forget_origin(origin) || self.tag.has_part_from(origin);
        self.early.forget(origin, parts);
        let mut lost = Vec::new();
        self.tag.fragments.borrow_mut().retain(|identity, target| {
            let of_it = identity.origin == origin;
            if of_it {
                lost.push(*target);
            }
            !of_it
        });
        for target in lost {
            match target {
                Target::Request(req) => {
                    drop(req.take_op());
                    self.finish(req, Err(error));
                }
                Target::Message(handle) => self.tag.unexpected.borrow_mut().lose(handle, error),
            }
        }
    }
}

/// An `RTS` has arrived.
pub fn on_rts(worker: &Worker, data: &[u8]) -> Option<()> {
    let (rts, _) = Rts::decode(data)?;
    let total = usize::try_from(rts.total).ok()?;
    if rndv::again::is_known(worker, &rts) {
        return Some(());
    }
    let req = worker.tag.expected.borrow_mut().take_match(rts.tag);
    match req {
        Some(req) => {
            let buf = req.take_recv()?;
            req.set_info(TagInfo {
                sender_tag: rts.tag,
                length: total,
            });
            rndv::receive(worker, req, buf, &rts);
        }
        None => {
            let message = Message {
                tag: rts.tag,
                ack: None,
                body: Body::Rndv(Box::new(rts)),
            };
            worker.tag.unexpected.borrow_mut().push(message);
        }
    }
    Some(())
}
