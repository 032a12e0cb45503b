//! RTS: announcing a message, and waiting for what the receiver makes of it.

use std::rc::Rc;

use super::ats::send_atp;
use super::{Put, Stream, put, quick, rtr, stream};
use crate::ucp::dt::SendBuf;
use crate::ucp::ep::{Endpoint, ErrorMode};
use crate::ucp::proto::key::{Exposed, Proof, Writer as By};
use crate::ucp::proto::{Flight, Op, Stage, Step};
use crate::ucp::request::{ReqRef, flag};
use crate::ucp::rkey::wire::Entry;
use crate::ucp::wire::rndv::{Atp, How, Region, Rtr, Rts};
use crate::ucp::wire::{Identity, Writer, am};
use crate::ucp::worker::{ReqOptions, Worker};
use crate::ucs::status::{Error, Result, Status};
use crate::uct::Post;

/// The message is not announced yet.
pub struct Announce {
    /// `RTS` or `AM_RTS`.
    id: u8,
    /// Of a tagged message its tag, of an active message its head.
    tag: u64,
    /// The user's header of an active message.
    header: Box<[u8]>,
    buf: SendBuf,
    identity: Identity,
    op: u64,
}

impl Announce {
    /// `op`: our operation's id, which answers name.
    pub fn new(tag: u64, buf: SendBuf, identity: Identity, op: u64) -> Announce {
        Announce {
            id: am::RTS,
            header: Box::default(),
            tag,
            buf,
            identity,
            op,
        }
    }

    /// The same for an active message with this head and user's header.
    pub fn active(head: u64, header: &[u8], buf: SendBuf, identity: Identity, op: u64) -> Announce {
        Announce {
            id: am::AM_RTS,
            header: header.into(),
            ..Announce::new(head, buf, identity, op)
        }
    }

    /// How others of this host map the memory, if they can.
    fn region(&self, ep: &Endpoint) -> Option<Region> {
        let Some(mem) = self.buf.contig() else {
            return super::device::region(ep, &self.buf);
        };
        let regions = &ep.worker().context().regions;
        let memory = regions.find_shared(mem.ptr().addr(), mem.len())?;
        Some(Region {
            base: memory.address() as u64,
            len: memory.len() as u64,
            entries: memory.entry().into_iter().collect(),
        })
    }

    fn rts(&self, ep: &Endpoint, attempt: u32) -> Rts {
        let address = self.buf.contig().map_or(0, |mem| mem.ptr() as u64);
        let staged = matches!(self.buf, SendBuf::Device(_));
        Rts {
            tag: self.tag,
            total: self.buf.len() as u64,
            identity: self.identity,
            attempt,
            op: self.op,
            address,
            lease: if address == 0 { 0 } else { ep.lease() },
            in_memory: self.buf.is_in_memory() || staged,
            staged,
            restartable: ep.error_mode() == ErrorMode::Failover,
            region: self.region(ep),
        }
    }
}

impl Announce {
    fn send(&self, attempt: u32, ep: &Rc<Endpoint>) -> Result<Post> {
        let rts = self.rts(ep, attempt);
        let len = rts.max_len() + self.header.len();
        ep.am_lane().am_bcopy(self.id, len, &mut |dst| {
            let mut w = Writer::new(dst);
            rts.encode(&mut w);
            w.bytes(&self.header);
            w.len()
        })
    }

    /// Announces the message as `req`: now, or in its turn.
    pub fn start(self, req: ReqRef, ep: &Rc<Endpoint>) {
        let now = !ep.is_blocked() && ep.is_wired();
        if now && matches!(self.send(0, ep), Ok(Post::Done | Post::Pending)) {
            return self.done().wait(req, ep);
        }
        // What went wrong goes wrong again there.
        req.set_op(Op::Announce(Flight::new(self)));
        ep.submit(req);
    }
}

impl Stage for Announce {
    /// The attempt's number goes out with the RTS.
    type Attempt = u32;
    type Next = Announced;

    fn begin(&self, _ep: &Rc<Endpoint>, number: u32) -> Result<u32> {
        Ok(number)
    }

    fn progress(&self, attempt: &mut u32, ep: &Rc<Endpoint>) -> Result<Step> {
        Ok(if self.send(*attempt, ep)? == Post::NoResource {
            Step::Blocked
        } else {
            Step::Done
        })
    }

    fn done(self) -> Announced {
        Announced::new(self.buf, self.op)
    }
}

/// The RTS is out.
pub struct Announced {
    buf: SendBuf,
    op: u64,
}

impl Announced {
    /// `op`: the id of our operation.
    pub fn new(buf: SendBuf, op: u64) -> Announced {
        Announced { buf, op }
    }

    /// From now on `req` waits for what the receiver makes of it.
    pub fn wait(self, req: ReqRef, ep: &Endpoint) {
        match self.buf {
            SendBuf::Contig(mem) if self.op == req.id() => {
                ep.worker().keys().exposed();
                req.set_offered(mem);
            }
            _ => req.set_op(Op::Offered(self.offer(ep.worker()))),
        }
    }

    pub fn offer(self, worker: &Worker) -> Offered {
        worker.keys().exposed();
        self.offer_counted(worker)
    }

    /// The same for what [`Announced::wait`] has counted.
    pub fn offer_counted(self, worker: &Worker) -> Offered {
        Offered {
            buf: Exposed::counted(Rc::new(self.buf), By::Nobody, worker.keys()),
            op: self.op,
            attempt: 0,
            parts: 0,
            answer: None,
        }
    }
}

/// Announced: the buffer is the peer's to read until it answers.
pub struct Offered {
    buf: Exposed<Rc<SendBuf>>,
    op: u64,
    /// Of the announcement: what asks for an older one is late.
    attempt: u32,
    /// Parts that the receiver has asked for and that are on their way.
    parts: usize,
    /// It has answered while parts were still leaving.
    answer: Option<Result<()>>,
}

impl Offered {
    /// The receiver has answered. `None` if the request ends by that, else what it waits for.
    pub fn answered(mut self, result: Result<()>) -> Option<Offered> {
        self.answer = Some(result);
        (self.parts != 0).then_some(self)
    }

    /// It is announced once more; the number of that attempt.
    #[cfg(test)]
    pub fn announce_again(&mut self) -> u32 {
        self.attempt += 1;
        self.attempt
    }

    fn wanted(&self, rtr: &Rtr) -> Option<Wanted> {
        if (!rtr.part && self.parts != 0) || rtr.attempt < self.attempt {
            return None;
        }
        Wanted::of(rtr, self.buf.buf()?.len())
    }
}

/// What a sender is asked for.
pub struct Wanted {
    pub receiver_op: u64,
    pub offset: usize,
    pub len: usize,
    pub attempt: u32,
    pub how: How,
    /// Of memory of a device: how it is opened.
    pub device: Option<Entry>,
}

impl Wanted {
    /// `None` if it asks for more than the `total` bytes there are.
    pub fn of(rtr: &Rtr, total: usize) -> Option<Wanted> {
        let offset = usize::try_from(rtr.offset).ok()?;
        let len = usize::try_from(rtr.len).ok()?;
        let end = offset.checked_add(len)?;
        (end <= total).then_some(Wanted {
            receiver_op: rtr.receiver_op,
            offset,
            len,
            attempt: rtr.attempt,
            how: rtr.how,
            device: rtr.device.clone(),
        })
    }
}

/// `RTR`: the receiver asks for the payload, or for a part of it.
pub fn on_rtr(worker: &Worker, data: &[u8]) -> Option<()> {
    let rtr = Rtr::decode(data)?;
    let req = worker.op_by_id(rtr.sender_op);
    let Some((req, ep)) = req.and_then(|req| Some((req, req.ep()?))) else {
        return refuse(worker, &rtr);
    };
    if quick::put(worker, req, &ep, &rtr) {
        return Some(());
    }
    let offered = match req.take_op() {
        Op::Offered(offered) => offered,
        op => return rtr::rebind(req, &ep, op, &rtr),
    };
    let wanted = offered.wanted(&rtr);
    let buf = offered.buf.buf().cloned();
    let (Some(wanted), Some(buf)) = (wanted, buf) else {
        req.set_op(Op::Offered(offered));
        return None;
    };
    if rtr.part {
        return serve_part(worker, req, &ep, offered, buf, wanted);
    }
    let op = offered.op;
    drop(offered.buf.release(Proof::Confirmed));
    serve(req, &ep, Source { buf, whole: 0 }, wanted, op);
    Some(())
}

/// What the receiver asks for was given up here, by a close or by a failure that it has heard of
/// before it had a use for the message. What ended in good order has been answered before this.
fn refuse(worker: &Worker, rtr: &Rtr) -> Option<()> {
    let ep = worker.endpoint_to_answer(rtr.origin)?;
    let refusal = Atp {
        receiver_op: rtr.receiver_op,
        offset: rtr.offset,
        len: 0,
        attempt: rtr.attempt,
        status: Status::from(Error::ConnectionReset).0,
    };
    send_atp(&ep, &refusal);
    None
}

/// What is sent, and the operation that it is a part of, if it is one.
#[derive(Clone)]
pub struct Source {
    pub buf: Rc<SendBuf>,
    pub whole: u64,
}

/// Begins to send what is wanted, as `req`, whose id is `op`.
pub fn serve(req: ReqRef, ep: &Rc<Endpoint>, source: Source, wanted: Wanted, op: u64) {
    let (worker, now) = (ep.worker(), !ep.is_blocked() && ep.is_wired());
    match wanted.how {
        How::Put { address, key } => {
            let flight = Flight::new(Put::new(worker, source, &wanted, (address, key), op));
            match now {
                true => return put::settle(worker, req, ep, flight.drive(ep)),
                false => req.set_op(Op::RndvPut(flight)),
            }
        }
        How::Messages => {
            let flight = Flight::new(Stream::wanted(source, &wanted, op));
            match now {
                true => return stream::settle(worker, req, ep, flight.drive(ep)),
                false => req.set_op(Op::Stream(flight)),
            }
        }
    }
    ep.queue(req);
}

/// A part goes as a request of its own, which restarts and ends alone.
fn serve_part(
    worker: &Worker,
    req: ReqRef,
    ep: &Rc<Endpoint>,
    mut offered: Offered,
    buf: Rc<SendBuf>,
    wanted: Wanted,
) -> Option<()> {
    let part = worker.new_request(&ReqOptions::default()).ok();
    offered.parts += usize::from(part.is_some());
    req.set_op(Op::Offered(offered));
    let part = part?;
    part.add_flags(flag::RELEASED);
    part.set_ep(Some(ep.clone()), 0);
    let id = worker.name_op(part);
    let whole = req.id();
    serve(part, ep, Source { buf, whole }, wanted, id);
    Some(())
}

/// A request has sent what was wanted, as a part of `whole` or (0) for itself.
pub fn sent(worker: &Worker, req: ReqRef, whole: u64, result: Result<()>) {
    worker.finish(req, result);
    let Some(req) = worker.op_by_id(whole) else {
        return;
    };
    match req.take_op() {
        Op::Offered(mut offered) => {
            offered.parts = offered.parts.saturating_sub(1);
            match offered.answer.filter(|_| offered.parts == 0) {
                Some(result) => {
                    drop(offered);
                    worker.finish(req, result);
                }
                None => req.set_op(Op::Offered(offered)),
            }
        }
        op => req.set_op(op),
    }
}
