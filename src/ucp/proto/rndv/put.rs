//! Rendezvous by put: the sender writes to the receiver's memory, then tells it (ATP).

use core::cell::Cell;
use std::rc::Rc;

use smallvec::SmallVec;

use super::announce::{Source, Wanted, sent};
use super::ats::send_atp;
use super::{Stream, falls_back};
use crate::ucp::ep::{Endpoint, ErrorMode, Rail};
use crate::ucp::proto::key::{Key, OwnedKey, Remote};
use crate::ucp::proto::verdict::is_lane_class;
use crate::ucp::proto::{Driven, Flight, Op, Stage, Step};
use crate::ucp::request::ReqRef;
use crate::ucp::wire::rndv::Atp;
use crate::ucp::worker::Worker;
use crate::ucs::status::{Error, Result, Status};
use crate::uct::{Post, Which};

/// Writing. Owns the source and the receiver's key, which only the RTR can supply.
pub struct Put {
    source: Source,
    key: Key,
    /// Where the byte at `offset` goes.
    address: u64,
    receiver_op: u64,
    offset: usize,
    len: usize,
    /// The attempt that the RTR named.
    asked: u32,
    op: u64,
    /// Bytes that are certainly in the receiver's memory; a restart goes on from here.
    confirmed: Cell<usize>,
    /// The number of the attempt that began last.
    number: Cell<u32>,
}

/// All is written, and the key is gone: what remains is to tell the receiver.
pub struct Written {
    atp: Atp,
    whole: u64,
}

/// What waits for the lane.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Posted {
    Nothing,
    /// So many bytes are being written.
    Bytes(usize),
    /// The lane is asked whether all is in place.
    Flush,
}

/// The lane in use. It stops writing when this is let go.
pub struct Attempt {
    rails: SmallVec<[Rail; 1]>,
    token: u64,
    /// Bytes that the lane has taken.
    at: usize,
    flushed: bool,
    posted: Posted,
}

impl Attempt {
    fn rail(&self) -> Option<&Rail> {
        self.rails.first()
    }

    /// Stops the lane, where that is possible.
    pub fn cancel(&mut self) {
        let cancelled = self.posted != Posted::Nothing
            && self
                .rail()
                .is_some_and(|rail| rail.lane.let_go(Which::One(self.token)));
        if cancelled {
            self.posted = Posted::Nothing;
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.cancel();
    }
}

impl Put {
    /// `to`: address and key of the receiver's memory.
    pub fn new(worker: &Worker, source: Source, wanted: &Wanted, to: (u64, u64), op: u64) -> Put {
        let (address, region) = to;
        let remote = Remote {
            address,
            len: wanted.len,
            region,
            entries: Default::default(),
        };
        Put {
            source,
            key: Key::Owned(OwnedKey::unpack(remote, worker.keys())),
            address,
            receiver_op: wanted.receiver_op,
            offset: wanted.offset,
            len: wanted.len,
            asked: wanted.attempt,
            op,
            confirmed: Cell::new(0),
            number: Cell::new(0),
        }
    }

    /// The attempt that the receiver has asked for.
    pub fn asked(&self) -> u32 {
        self.asked
    }

    /// Bytes of the whole message.
    pub fn whole_len(&self) -> usize {
        self.source.buf.len()
    }

    /// What it sends; the key comes along, to be let go.
    pub fn into_parts(self) -> (Source, Key) {
        (self.source, self.key)
    }

    /// Lets the key go: from here on there is nothing to restart.
    pub fn written(self) -> Written {
        drop(self.key);
        Written {
            atp: Atp {
                receiver_op: self.receiver_op,
                offset: self.offset as u64,
                len: self.len as u64,
                attempt: self.asked,
                status: Status::OK.0,
            },
            whole: self.source.whole,
        }
    }

    /// The bytes that are not certain to have arrived, as messages.
    fn into_stream(self) -> Stream {
        let number = self.number.get() + 1;
        let wanted = Wanted {
            receiver_op: self.receiver_op,
            offset: self.offset,
            len: self.len,
            attempt: self.asked.wrapping_add(number),
            how: crate::ucp::wire::rndv::How::Messages,
        };
        Stream::from(self.source, &wanted, self.confirmed.get(), self.op)
    }

    fn write(&self, attempt: &mut Attempt) -> Result<Step> {
        while attempt.at < self.len {
            let rail = attempt.rail().ok_or(Error::Unreachable)?;
            let left = (self.len - attempt.at).min(rail.max_len);
            let from = self.offset + attempt.at;
            let pieces = self.source.buf.pieces(from, left, rail.max_iov);
            let (pieces, n) = pieces.filter(|(_, n)| *n != 0).ok_or(Error::Unsupported)?;
            let remote = self.address.wrapping_add(attempt.at as u64);
            let (lane, key) = (rail.lane.clone(), self.key.region());
            match lane.put_zcopy(&pieces, remote, key, self.op)? {
                Post::Done => attempt.at += n,
                Post::NoResource => return Ok(Step::Blocked),
                Post::Pending => {
                    attempt.posted = Posted::Bytes(n);
                    return Ok(Step::Waiting);
                }
            }
            self.confirm(attempt);
        }
        Ok(Step::Done)
    }

    /// A lane that writes by itself has written what has completed.
    fn confirm(&self, attempt: &Attempt) {
        if attempt.flushed || attempt.rail().is_some_and(|rail| !rail.keyed) {
            self.confirmed.set(attempt.at);
        }
    }

    /// An ATP that overtakes what it tells of, or outlives a lane that lost it, must not be sent.
    fn needs_flush(rail: &Rail, ep: &Endpoint) -> bool {
        !rail.ordered || (rail.keyed && ep.error_mode() == ErrorMode::Failover)
    }
}

impl Stage for Put {
    type Attempt = Attempt;
    type Next = Written;

    fn begin(&self, ep: &Rc<Endpoint>, number: u32) -> Result<Attempt> {
        self.number.set(number);
        let rails = ep.put_rails();
        if rails.is_empty() {
            return Err(Error::Unsupported);
        }
        Ok(Attempt {
            rails,
            token: self.op,
            at: self.confirmed.get(),
            flushed: false,
            posted: Posted::Nothing,
        })
    }

    fn progress(&self, attempt: &mut Attempt, ep: &Rc<Endpoint>) -> Result<Step> {
        if attempt.posted != Posted::Nothing {
            return Ok(Step::Waiting);
        }
        match self.write(attempt)? {
            Step::Done => {}
            step => return Ok(step),
        }
        let rail = attempt.rail().ok_or(Error::Unreachable)?;
        if !attempt.flushed && Put::needs_flush(rail, ep) {
            let lane = rail.lane.clone();
            match lane.flush(self.op)? {
                Post::Done => attempt.flushed = true,
                Post::NoResource => return Ok(Step::Blocked),
                Post::Pending => {
                    attempt.posted = Posted::Flush;
                    return Ok(Step::Waiting);
                }
            }
        }
        Ok(Step::Done)
    }

    fn done(self) -> Written {
        self.written()
    }

    fn outstanding(attempt: &Attempt) -> usize {
        usize::from(attempt.posted != Posted::Nothing)
    }

    fn ended(&self, attempt: &mut Attempt, result: Result<()>) {
        let posted = core::mem::replace(&mut attempt.posted, Posted::Nothing);
        if result.is_err() {
            return;
        }
        match posted {
            Posted::Bytes(n) => attempt.at += n,
            Posted::Flush => attempt.flushed = true,
            Posted::Nothing => {}
        }
        self.confirm(attempt);
    }

    fn lane_lost(&self, attempt: &mut Attempt, ep: &Rc<Endpoint>) -> usize {
        match attempt.rail() {
            Some(rail) => ep.lose_lane(rail.index),
            None => 0,
        }
    }
}

/// Acts on what became of a put.
pub fn settle(worker: &Worker, req: ReqRef, ep: &Rc<Endpoint>, driven: Driven<Put>) {
    match driven {
        Driven::Blocked(flight) => {
            req.set_op(Op::RndvPut(flight));
            ep.queue(req);
        }
        Driven::Waiting(flight) => req.set_op(Op::RndvPut(flight)),
        Driven::Next(Written { atp, whole }) => {
            send_atp(ep, &atp);
            sent(worker, req, whole, Ok(()));
        }
        Driven::Ended(put, error) => fall_back(worker, req, ep, put, error),
    }
}

/// No lane can write (any more). The same bytes go as messages, or the request ends, and so does
/// the receiver's.
fn fall_back(worker: &Worker, req: ReqRef, ep: &Rc<Endpoint>, put: Put, error: Error) {
    if falls_back(ep, error) {
        crate::ucs_debug!(
            "{}: a rendezvous goes on as messages after {} of {} bytes: {error}",
            ep.peer_name(),
            put.confirmed.get(),
            put.len
        );
        // What is there already will not come once more.
        let there = Atp {
            receiver_op: put.receiver_op,
            offset: put.offset as u64,
            len: put.confirmed.get() as u64,
            attempt: put.asked,
            status: Status::OK.0,
        };
        send_atp(ep, &there);
        req.set_op(Op::Stream(Flight::new(put.into_stream())));
        return ep.submit(req);
    }
    let atp = Atp {
        receiver_op: put.receiver_op,
        offset: put.offset as u64,
        len: 0,
        attempt: put.asked,
        status: Status::from(error).0,
    };
    let whole = put.source.whole;
    drop(put);
    if is_lane_class(error) && ep.error_mode() != ErrorMode::Failover {
        ep.fail(error);
    } else {
        super::tell_aborted(ep, error);
        send_atp(ep, &atp);
    }
    sent(worker, req, whole, Err(error));
}
