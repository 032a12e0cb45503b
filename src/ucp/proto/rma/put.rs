//! Put: by stores, by a lane, or as messages.

use core::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use smallvec::SmallVec;

use super::{Posted, is_devices, is_refusal};
use crate::ucp::dt::SendBuf;
use crate::ucp::ep::{Endpoint, Rail};
use crate::ucp::proto::eager::{piece_len, send_piece};
use crate::ucp::proto::pieces::{Payload, Pieces};
use crate::ucp::proto::spread::{SHORTEST, Spread, Where};
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
    /// Of what several lanes share.
    spread: Option<Spread>,
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

/// Bytes of a put that go as an ordinary message before the others are shared among lanes.
fn rails_head(ep: &Endpoint) -> usize {
    ep.config()
        .bcopy_max
        .saturating_sub(rma::Put::LEN)
        .min(4096)
}

/// The lanes that share a put.
fn one_sided_rails(ep: &Endpoint) -> SmallVec<[Rail; 1]> {
    let mut rails = ep.put_rails();
    rails.retain(|rail| rail.keyed);
    rails.truncate(ep.config().rma_rails);
    rails
}

/// The shortest put that lanes share, if they do at all.
pub fn rails_min(ep: &Endpoint) -> Option<usize> {
    (ep.config().rma_rails > 1).then_some(2 * SHORTEST)
}

/// Whether lanes share a put of these bytes.
pub fn suits_rails(ep: &Endpoint, buf: &SendBuf, key: &RemoteKey) -> bool {
    rails_min(ep).is_some_and(|min| buf.len() >= min)
        && buf.is_in_memory()
        && key.memory_type().is_host()
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
        match (attempt.posted.as_mut(), attempt.spread.as_mut()) {
            (Some(posted), _) => {
                let len = core::mem::take(&mut posted.len);
                self.confirmed.set(self.confirmed.get() + len);
            }
            (None, Some(spread)) => spread.ended(),
            (None, None) => attempt.pieces.completed(),
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

    /// Over several lanes. The first bytes go as an ordinary message: where they are refused, so
    /// are the others, and the target tells.
    fn by_rails(&self, spread: &mut Spread, ep: &Rc<Endpoint>) -> Result<Step> {
        let total = self.buf.len();
        if spread.at() == 0 {
            let header = header(ep, &self.key, self.remote, 0);
            let encode = |w: &mut Writer<'_>| header.encode(w);
            let n = piece_len(total, rails_head(ep));
            let Some(n) = send_piece(ep, am::PUT, rma::Put::LEN, encode, &self.buf, 0, n)? else {
                return Ok(Step::Blocked);
            };
            ep.note_message();
            spread.skip(n);
        }
        let to = Where {
            address: self.remote,
            key: self.key.region(),
            len: total,
        };
        // So that lanes that stand for others get their share, too.
        let most = total.div_ceil(ep.config().rma_rails.max(1)).max(SHORTEST);
        while spread.at() < total {
            let pieces = |at, len, max_iov| Ok(self.buf.pieces(at, len, max_iov));
            if !spread.piece(&to, most, pieces)? {
                return Ok(Step::Blocked);
            }
        }
        match spread.outstanding() {
            0 => spread.flush(|rail| !rail.ordered),
            _ => Ok(Step::Waiting),
        }
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
            Way::Mapped | Way::Lane | Way::Rails => Kind::Unordered,
        };
        let spread = match self.way {
            Way::Rails => Some(Spread::new(one_sided_rails(ep), self.op, 0)),
            _ => None,
        };
        let posted = match self.way {
            Way::Lane => {
                let plain = || Some((ep.put_lane()?, 0));
                let lane = device_lane(ep, &self.key).or_else(plain);
                let (lane, rkey) = lane.ok_or(Error::Unsupported)?;
                Some(Posted::new(lane, rkey, self.op))
            }
            Way::Mapped | Way::Message | Way::Rails => None,
        };
        Ok(Attempt {
            posted,
            pieces: Pieces::from(self.confirmed.get()),
            spread,
            _count: ep.count_one_sided(kind),
        })
    }

    fn progress(&self, attempt: &mut Attempt, ep: &Rc<Endpoint>) -> Result<Step> {
        let Attempt { posted, spread, .. } = attempt;
        match (self.way, posted.as_mut(), spread.as_mut()) {
            (Way::Mapped, ..) => self.store(),
            (Way::Lane, Some(posted), _) => self.by_lane(posted, ep),
            (Way::Rails, _, Some(spread)) => self.by_rails(spread, ep),
            _ => self.by_messages(&mut attempt.pieces, ep),
        }
    }

    fn outstanding(attempt: &Attempt) -> usize {
        attempt.spread.as_ref().map_or(0, Spread::outstanding)
    }

    fn ended(&self, attempt: &mut Attempt, result: Result<()>) {
        if result.is_ok() || attempt.spread.is_some() {
            self.completed(attempt);
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
    flight.ended(result);
    match result {
        // Its turn comes when the lane has room.
        Ok(()) if ep.is_queued(req) => req.set_op(Op::Put(flight)),
        Ok(()) => settle(worker, req, ep, flight.drive(ep)),
        Err(error) => {
            if ep.is_queued(req) {
                ep.unqueue(req);
            }
            settle(worker, req, ep, flight.lane_failed(error, ep));
        }
    }
}
