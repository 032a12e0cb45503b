//! Put: by stores, by a lane, or as messages.

use core::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use super::{Posted, is_devices, is_refusal};
use crate::ucp::dt::SendBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::proto::eager::send_piece;
use crate::ucp::proto::pieces::{Payload, Pieces};
use crate::ucp::proto::{Driven, Flight, Op, Stage, Step};
use crate::ucp::request::ReqRef;
use crate::ucp::rkey::RemoteKey;
use crate::ucp::rma::order::{InFlight, Kind};
use crate::ucp::rma::{Way, device_lane};
use crate::ucp::wire::{Writer, am, rma};
use crate::ucp::worker::Worker;
use crate::ucs::status::{Error, Result};
use crate::uct::Post;

/// Writing.
pub struct Put {
    buf: SendBuf,
    key: Arc<RemoteKey>,
    remote: u64,
    way: Way,
    /// Our operation: the token of what it posts.
    op: u64,
    /// Bytes that are certainly there; a restart or a fall-back goes on from here.
    confirmed: Cell<usize>,
}

/// How far an attempt has come.
pub struct Attempt {
    posted: Option<Posted>,
    /// Of what goes as messages.
    pieces: Pieces,
    _count: InFlight,
}

fn header(ep: &Endpoint, key: &RemoteKey, remote: u64, offset: usize) -> rma::Put {
    rma::Put {
        origin: ep.origin(),
        region: key.region(),
        address: remote.wrapping_add(offset as u64),
    }
}

/// Sends a put that fits into one message, if the lane has room.
pub fn send_one(ep: &Rc<Endpoint>, buf: &SendBuf, remote: u64, key: &RemoteKey) -> Result<bool> {
    let len = buf.len();
    let zcopy = ep.config().zcopy.is_some_and(|limits| len >= limits.min);
    if zcopy || ep.is_blocked() || len + rma::Put::LEN > ep.config().bcopy_max {
        return Ok(false);
    }
    ep.announce();
    if ep.is_blocked() {
        return Ok(false);
    }
    let header = header(ep, key, remote, 0);
    let encode = |w: &mut Writer<'_>| header.encode(w);
    let sent = send_piece(ep, am::PUT, rma::Put::LEN, encode, buf, 0, len)?;
    if sent.is_some() {
        ep.note_message();
    }
    // A datatype that packs less than it promised goes the long way, from the start.
    Ok(sent == Some(len))
}

impl Put {
    pub fn new(buf: SendBuf, key: Arc<RemoteKey>, remote: u64, way: Way, op: u64) -> Put {
        Put {
            buf,
            key,
            remote,
            way,
            op,
            confirmed: Cell::new(0),
        }
    }

    /// What the attempt had posted is over.
    fn completed(&self, attempt: &mut Attempt) {
        match attempt.posted.as_mut() {
            Some(posted) => {
                let len = core::mem::take(&mut posted.len);
                self.confirmed.set(self.confirmed.get() + len);
            }
            None => attempt.pieces.completed(),
        }
    }

    /// The lane refused: the rest as messages.
    fn into_messages(self) -> Put {
        Put {
            way: Way::Message,
            ..self
        }
    }

    fn store(&self) -> Result<Step> {
        let dst = self.key.mapped(self.remote, self.buf.len());
        self.buf.copy_to(dst.ok_or(Error::InvalidAddr)?)?;
        Ok(Step::Done)
    }

    fn by_lane(&self, posted: &mut Posted, ep: &Endpoint) -> Result<Step> {
        if posted.len != 0 {
            return Ok(Step::Waiting);
        }
        let total = self.buf.len();
        while self.confirmed.get() < total {
            let at = self.confirmed.get();
            let pieces = match self.key.device() {
                Some(_) => self.buf.device_pieces(at, total - at),
                None => self.buf.pieces(at, total - at, ep.config().put_max_iov),
            };
            let (pieces, n) = pieces.filter(|(_, n)| *n != 0).ok_or(Error::Unsupported)?;
            let remote = self.remote.wrapping_add(at as u64);
            match posted
                .lane
                .put_zcopy(&pieces, remote, posted.rkey, self.op)?
            {
                Post::Done => self.confirmed.set(at + n),
                Post::NoResource => return Ok(Step::Blocked),
                Post::Pending => {
                    posted.len = n;
                    return Ok(Step::Waiting);
                }
            }
        }
        Ok(Step::Done)
    }

    fn by_messages(&self, pieces: &mut Pieces, ep: &Rc<Endpoint>) -> Result<Step> {
        let payload = Payload::<{ rma::Put::LEN }> {
            buf: &self.buf,
            end: self.buf.len(),
            id: am::PUT,
            op: self.op,
        };
        let before = pieces.sent();
        let step = pieces.run(ep, &payload, |offset, w| {
            header(ep, &self.key, self.remote, offset).encode(w);
        });
        if pieces.sent() != before {
            ep.note_message();
        }
        step
    }
}

impl Stage for Put {
    type Attempt = Attempt;
    type Next = ();

    fn begin(&self, ep: &Rc<Endpoint>, _number: u32) -> Result<Attempt> {
        let kind = match self.way {
            Way::Message => Kind::Ordered,
            Way::Mapped | Way::Lane => Kind::Unordered,
        };
        let posted = match self.way {
            Way::Lane => {
                let plain = || Some((ep.put_lane()?, 0));
                let lane = device_lane(ep, &self.key).or_else(plain);
                let (lane, rkey) = lane.ok_or(Error::Unsupported)?;
                Some(Posted::new(lane, rkey, self.op))
            }
            Way::Mapped | Way::Message => None,
        };
        Ok(Attempt {
            posted,
            pieces: Pieces::from(self.confirmed.get()),
            _count: ep.count_one_sided(kind),
        })
    }

    fn progress(&self, attempt: &mut Attempt, ep: &Rc<Endpoint>) -> Result<Step> {
        match (self.way, attempt.posted.as_mut()) {
            (Way::Mapped, _) => self.store(),
            (Way::Lane, Some(posted)) => self.by_lane(posted, ep),
            _ => self.by_messages(&mut attempt.pieces, ep),
        }
    }

    fn done(self) {}
}

/// Acts on what became of a put.
pub fn settle(worker: &Worker, req: ReqRef, ep: &Rc<Endpoint>, driven: Driven<Put>) {
    match driven {
        Driven::Blocked(flight) => {
            req.set_op(Op::Put(flight));
            ep.queue(req);
        }
        Driven::Waiting(flight) => req.set_op(Op::Put(flight)),
        Driven::Next(()) => worker.finish(req, Ok(())),
        Driven::Ended(put, error)
            if put.way == Way::Lane && (is_refusal(error) || is_devices(ep, &put.key)) =>
        {
            // What one device can't reach another may.
            if put.key.device().is_none() {
                ep.forget_put_lane();
            }
            req.set_op(Op::Put(Flight::new(put.into_messages())));
            ep.announce();
            ep.submit(req);
        }
        Driven::Ended(put, error) => {
            drop(put);
            ep.one_sided_failed(req, error);
        }
    }
}

/// Something that a put had posted has ended.
pub fn completed(
    worker: &Worker,
    req: ReqRef,
    ep: &Rc<Endpoint>,
    mut flight: Flight<Put>,
    result: Result<()>,
) {
    flight.account(Put::completed);
    match result {
        // Its turn comes when the lane has room.
        Ok(()) if ep.is_queued(req) => req.set_op(Op::Put(flight)),
        Ok(()) => settle(worker, req, ep, flight.drive(ep)),
        Err(error) => settle(worker, req, ep, flight.lane_failed(error, ep)),
    }
}
