//! RTR: the receiver asks for bytes, and waits for them: as messages, or written to its memory.

use std::rc::Rc;
use std::time::{Duration, Instant};

use super::announce::Wanted;
use super::ats::{Then, stop};
use super::ppln;
use super::ranges::Ranges;
use crate::ucp::dt::RecvBuf;
use crate::ucp::ep::{Endpoint, Message};
use crate::ucp::mem::{Memory, Registered};
use crate::ucp::proto::Op;
use crate::ucp::proto::key::{Exposed, Proof, Writer as By};
use crate::ucp::request::ReqRef;
use crate::ucp::rkey::wire::Entry;
use crate::ucp::wire::rndv::{Abort, Atp, How, Rtr};
use crate::ucp::wire::{Origin, am};
use crate::ucp::worker::Worker;
use crate::ucs::status::{Error, Result};

/// Where bytes go.
enum Dest {
    /// Only this process writes there.
    Own(RecvBuf),
    /// The peer does, or a lane on its behalf.
    Exposed(Exposed<RecvBuf>),
}

/// Receiving what was asked for.
pub struct Receive {
    dest: Dest,
    /// What the buffer's first byte is in the message.
    base: usize,
    got: Ranges,
    total: usize,
    result: Result<()>,
    sender_op: u64,
    /// The attempt that is valid: of older ones something may still come.
    attempt: u32,
    part: Option<ppln::Part>,
    /// It ends with this error as soon as nobody writes to the memory any more.
    ending: Option<Error>,
}

/// What is asked of whom.
pub struct Ask {
    pub sender_op: u64,
    pub offset: usize,
    pub len: usize,
    pub attempt: u32,
    /// Bytes that are there already.
    pub got: usize,
    pub part: Option<ppln::Part>,
}

impl Receive {
    /// Data of the peer that were asked for by other means. The first `received` bytes are there.
    pub fn new(buf: RecvBuf, received: usize, total: usize) -> Receive {
        Receive {
            dest: Dest::Own(buf),
            base: 0,
            got: Ranges::first(received),
            total,
            result: Ok(()),
            sender_op: 0,
            attempt: 0,
            part: None,
            ending: None,
        }
    }

    /// Bytes that have come, from the first on.
    pub fn received(&self) -> usize {
        self.got.prefix()
    }

    /// The attempt that is valid.
    #[cfg(test)]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    pub fn buf(&self) -> Option<&RecvBuf> {
        match &self.dest {
            Dest::Own(buf) => Some(buf),
            Dest::Exposed(exposed) => exposed.buf(),
        }
    }

    /// Whether it waits for bytes of this operation of the sender.
    pub fn is_of(&self, sender_op: u64) -> bool {
        self.sender_op == sender_op && sender_op != 0
    }

    pub fn is_complete(&self) -> bool {
        self.got.len() >= self.total
    }

    /// Where in the buffer `len` bytes from `offset` of the message on go, if they were asked for
    /// by this attempt or a later one.
    pub fn place(&mut self, attempt: u32, offset: u64, len: usize) -> Option<usize> {
        if attempt < self.attempt || self.ending.is_some() {
            return None;
        }
        let at = usize::try_from(offset).ok()?.checked_sub(self.base)?;
        if at.checked_add(len)? > self.total {
            return None;
        }
        self.attempt = attempt;
        Some(at)
    }

    /// `len` bytes are at `at`.
    pub fn arrived(&mut self, at: usize, len: usize) {
        self.got.add(at, len);
    }

    pub fn store(&mut self, at: usize, bytes: &[u8]) {
        if self.result.is_ok()
            && let Some(buf) = self.buf()
        {
            self.result = buf.unpack(at, bytes);
        }
        self.arrived(at, bytes.len());
    }

    /// All is there: the buffer is the user's again.
    fn take(self) -> (Result<()>, Option<RecvBuf>, Option<ppln::Part>) {
        let buf = match self.dest {
            Dest::Own(buf) => Some(buf),
            Dest::Exposed(exposed) => exposed.release(Proof::Confirmed),
        };
        (self.result, buf, self.part)
    }

    /// The peer may write to the memory whatever becomes of its messages.
    fn is_at_mercy(&self) -> bool {
        matches!(&self.dest, Dest::Exposed(exposed) if !exposed.can_invalidate())
    }
}

/// Asks for bytes as messages.
pub fn ask(worker: &Worker, req: ReqRef, buf: RecvBuf, ask: Ask) {
    let dest = Dest::Own(buf);
    send(worker, req, dest, ask, How::Messages, None);
}

/// Has the bytes written to memory of a device, which the sender opens by `entry`.
pub fn expose_device(worker: &Worker, req: ReqRef, buf: RecvBuf, entry: Entry, what: Ask) {
    let RecvBuf::Device(device) = &buf else {
        return ask(worker, req, buf, what);
    };
    let Some((mem, _)) = device.memory() else {
        return ask(worker, req, buf, what);
    };
    let address = mem.ptr().addr() as u64 + what.got as u64;
    let exposed = Exposed::pack(buf, By::Peer, None, worker.keys());
    let how = How::Put { address, key: 0 };
    let dest = Dest::Exposed(exposed);
    send(worker, req, dest, what, how, Some(entry));
}

/// Has the bytes written to `buf`, which is in one piece.
pub fn expose(worker: &Worker, req: ReqRef, buf: RecvBuf, what: Ask) {
    let mem = buf.contig();
    let rails = req.ep().map(|ep| ep.put_rails()).unwrap_or_default();
    let Some(mem) = mem.filter(|_| !rails.is_empty()) else {
        return ask(worker, req, buf, what);
    };
    let mem = mem.part(what.got, what.len - what.got);
    let (address, len) = (mem.ptr().addr(), mem.len());
    let by_us = rails.iter().all(|rail| rail.keyed);
    let writer = if by_us { By::Us } else { By::Peer };
    let registered = match rails.iter().any(|rail| rail.keyed) {
        false => None,
        true => {
            let memory = match worker.refused.refuses_next() {
                true => Err(Error::NoMemory),
                false => Memory::register(address, len),
            };
            let memory = match memory {
                Ok(memory) => memory,
                Err(error) => {
                    crate::ucs_diag!(
                        "a buffer can't be registered, its bytes come as messages: {error}"
                    );
                    return ask(worker, req, buf, what);
                }
            };
            let context = worker.context().clone();
            Some(Registered::new(context, memory))
        }
    };
    let exposed = Exposed::pack(buf, writer, registered, worker.keys());
    let how = How::Put {
        address: address as u64,
        key: exposed.region(),
    };
    send(worker, req, Dest::Exposed(exposed), what, how, None);
}

fn send(worker: &Worker, req: ReqRef, dest: Dest, ask: Ask, how: How, device: Option<Entry>) {
    let Some(ep) = req.ep() else {
        return worker.finish(req, Err(Error::Unreachable));
    };
    let rtr = Rtr {
        sender_op: ask.sender_op,
        receiver_op: req.id(),
        origin: ep.origin(),
        offset: (ask.offset + ask.got) as u64,
        len: (ask.len - ask.got) as u64,
        attempt: ask.attempt,
        part: ask.part.is_some(),
        how,
        device,
    };
    req.set_op(Op::Receive(Receive {
        dest,
        base: ask.offset,
        got: Ranges::first(ask.got),
        total: ask.len,
        result: Ok(()),
        sender_op: ask.sender_op,
        attempt: ask.attempt,
        part: ask.part,
        ending: None,
    }));
    // The peer may have closed its end meanwhile, and has to say that it has nothing to send any more.
    ep.announce();
    ep.send_control(am::RTR, rtr.encoded_len(), |w| rtr.encode(w));
}

/// Asks once more for what has not come, in an attempt of its own.
/// `announced`: the attempt that the sender begins.
pub fn ask_again(req: ReqRef, ep: &Rc<Endpoint>, mut receive: Receive, announced: u32) {
    if receive.ending.is_some() || receive.is_complete() {
        return req.set_op(Op::Receive(receive));
    }
    receive.attempt = receive.attempt.wrapping_add(1).max(announced);
    let there = receive.received();
    let how = match &receive.dest {
        Dest::Own(_) => How::Messages,
        Dest::Exposed(exposed) => match exposed.buf().and_then(RecvBuf::contig) {
            Some(mem) => How::Put {
                address: mem.ptr().addr() as u64 + there as u64,
                key: exposed.region(),
            },
            None => How::Messages,
        },
    };
    let rtr = Rtr {
        sender_op: receive.sender_op,
        receiver_op: req.id(),
        origin: ep.origin(),
        offset: (receive.base + there) as u64,
        len: (receive.total - there) as u64,
        attempt: receive.attempt,
        part: receive.part.is_some(),
        how,
        // What is asked for once more comes as messages there.
        device: None,
    };
    req.set_op(Op::Receive(receive));
    ep.send_control(am::RTR, rtr.encoded_len(), |w| rtr.encode(w));
}

/// The bytes of a receive are all there, or it has failed.
pub fn received(worker: &Worker, req: ReqRef, receive: Receive) {
    match receive.take() {
        (result, buf, None) => {
            drop(buf);
            worker.finish(req, result);
        }
        (result, buf, Some(part)) => {
            drop(buf);
            ppln::part_ended(worker, req, part, result);
        }
    }
}

/// `ATP`: bytes have been written, or the sender has stopped writing.
pub fn on_atp(worker: &Worker, data: &[u8]) -> Option<()> {
    let atp = Atp::decode(data)?;
    let req = worker.op_by_id(atp.receiver_op)?;
    let mut receive = match req.take_op() {
        Op::Receive(receive) => receive,
        op => {
            req.set_op(op);
            return None;
        }
    };
    if let Some(error) = receive.ending {
        receive.result = Err(error);
        released(worker, req, receive, Proof::Stopped);
        return Some(());
    }
    if let Some(error) = Error::from_code(atp.status) {
        receive.result = Err(error);
        received(worker, req, receive);
        return Some(());
    }
    let len = usize::try_from(atp.len).unwrap_or(usize::MAX);
    let at = receive.place(atp.attempt, atp.offset, len);
    if let Some(at) = at {
        receive.arrived(at, len);
    }
    if receive.is_complete() {
        received(worker, req, receive);
    } else {
        req.set_op(Op::Receive(receive));
    }
    at.map(|_| ())
}

/// The memory of a receive that was to end is nobody else's any more.
fn released(worker: &Worker, req: ReqRef, receive: Receive, proof: Proof) {
    let Receive {
        dest, result, part, ..
    } = receive;
    if let Dest::Exposed(exposed) = dest {
        drop(exposed.release(proof));
    }
    drop(part);
    worker.finish(req, result);
}

/// The receiver asks once more: it has given up the attempt before.
pub fn rebind(req: ReqRef, ep: &Rc<Endpoint>, op: Op, rtr: &Rtr) -> Option<()> {
    let (before, total) = match &op {
        Op::Stream(flight) => (flight.stage().asked(), flight.stage().whole_len()),
        Op::RndvPut(flight) => (flight.stage().asked(), flight.stage().whole_len()),
        _ => {
            req.set_op(op);
            return None;
        }
    };
    match Wanted::of(rtr, total).filter(|wanted| wanted.attempt > before) {
        Some(wanted) => {
            stop(req, ep, op, Then::Serve(wanted));
            Some(())
        }
        None => {
            req.set_op(op);
            None
        }
    }
}

impl Worker {
    /// Whether the peer may still be writing to the memory of a receive that is to end.
    pub(in crate::ucp) fn must_wait(&self, ep: &Endpoint, op: &Op) -> bool {
        matches!(op, Op::Receive(receive) if receive.is_at_mercy()) && !ep.peer_is_still()
    }

    /// Such a receive ends with `error` when the peer has stopped, or is dead.
    pub(in crate::ucp) fn give_up(&self, req: ReqRef, ep: &Rc<Endpoint>, op: Op, error: Error) {
        let Op::Receive(mut receive) = op else { return };
        if receive.ending.is_none() {
            receive.ending = Some(error);
            let abort = Abort {
                sender_op: receive.sender_op,
                receiver_op: req.id(),
                attempt: receive.attempt,
                origin: ep.origin(),
            };
            ep.send_last(Message::new(am::RNDV_ABORT, Abort::LEN, |w| {
                abort.encode(w);
            }));
            self.at_mercy.borrow_mut().push(req.id());
        }
        req.set_op(Op::Receive(receive));
    }

    /// The worker goes: memory that peers may be writing is waited for, but not for ever.
    pub(in crate::ucp) fn wait_for_mercy(&self) {
        const LONGEST: Duration = Duration::from_millis(500);
        let end = Instant::now() + LONGEST;
        while !self.at_mercy.borrow().is_empty() && Instant::now() < end {
            self.poll_all();
            self.look_at_mercy();
        }
        let left = self.at_mercy.take();
        if !left.is_empty() {
            crate::ucs_diag!("{} receives end that a peer may still write to", left.len());
        }
        for req in left.into_iter().filter_map(|id| self.op_by_id(id)) {
            drop(req.take_op());
            self.finish(req, Err(Error::Canceled));
        }
    }

    /// The peer's endpoint has stopped whatever it did: this is known to who waits for that.
    pub(in crate::ucp) fn mercy_of(&self, origin: Origin) {
        for id in self.at_mercy.borrow().iter() {
            let ep = self.op_by_id(*id).and_then(|req| req.ep());
            if let Some(ep) = ep.filter(|ep| ep.peer_origin() == origin) {
                ep.set_peer_stopped(true);
            }
        }
    }

    /// Ends the receives whose peers have died.
    pub(in crate::ucp) fn look_at_mercy(&self) {
        if self.at_mercy.borrow().is_empty() {
            return;
        }
        let ids = self.at_mercy.take();
        for id in ids {
            let Some(req) = self.op_by_id(id) else {
                continue;
            };
            let still = req.ep().is_none_or(|ep| ep.peer_is_still());
            match req.take_op() {
                Op::Receive(mut receive) if still => {
                    receive.result = Err(receive.ending.unwrap_or(Error::ConnectionReset));
                    released(self, req, receive, Proof::Dead);
                }
                op => {
                    req.set_op(op);
                    self.at_mercy.borrow_mut().push(id);
                }
            }
        }
    }
}
