//! Rendezvous by put: the sender writes to the receiver's memory, then tells it (ATP).

use core::cell::Cell;
use std::rc::Rc;

use smallvec::SmallVec;

use super::announce::{Source, Wanted, sent};
use super::ats::send_atp;
use super::staging::Staging;
use super::{Stream, device, falls_back};
use crate::ucp::dt::SendBuf;
use crate::ucp::ep::{Endpoint, ErrorMode, Rail};
use crate::ucp::proto::key::{Key, OwnedKey, Remote};
use crate::ucp::proto::verdict::is_lane_class;
use crate::ucp::proto::{Driven, Flight, Op, Stage, Step};
use crate::ucp::request::ReqRef;
use crate::ucp::rma::target;
use crate::ucp::wire::rndv::{Atp, PutTo};
use crate::ucp::worker::Worker;
use crate::ucp::worker::tally::up;
use crate::ucs::status::{Error, Result, Status};
use crate::uct::cuda::ipc::Named;
use crate::uct::{Place, Post, Which};

/// Puts that are shared among rails are not shorter than this.
const SHORTEST: usize = 64 << 10;

/// Writing. Owns the source and the receiver's key, which only the RTR can supply.
pub struct Put {
    source: Source,
    key: Key,
    /// Of memory of a device, written by the lane for that.
    device: Option<Named>,
    /// The receiver's memory is a device's, whether we can open it or not.
    wants_device: bool,
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

/// The lanes in use. They stop writing when this is let go.
pub struct Attempt {
    rails: SmallVec<[Rail; 1]>,
    token: u64,
    /// Bytes that the lanes have taken.
    at: usize,
    /// Bytes that each rail has taken.
    loads: SmallVec<[usize; 1]>,
    /// Puts, or flushes, whose completion is to come.
    outstanding: usize,
    /// Rails that were asked whether all is in place, from the first on.
    asked: usize,
    /// Something has failed: what completes now proves nothing.
    failed: bool,
    /// For memory of a device.
    staging: Option<Staging>,
}

impl Attempt {
    fn new(rails: SmallVec<[Rail; 1]>, token: u64, at: usize) -> Attempt {
        Attempt {
            loads: rails.iter().map(|_| 0).collect(),
            rails,
            token,
            at,
            outstanding: 0,
            asked: 0,
            failed: false,
            staging: None,
        }
    }

    /// Rails, the one with the least to do first.
    fn order(&self) -> SmallVec<[usize; 4]> {
        let mut order: SmallVec<[usize; 4]> = (0..self.rails.len()).collect();
        let load = |i: &usize| match (self.loads.get(*i), self.rails.get(*i)) {
            (Some(load), Some(rail)) => *load as f64 / rail.bandwidth.max(1.0),
            _ => f64::INFINITY,
        };
        order.sort_by(|a, b| load(a).total_cmp(&load(b)));
        order
    }

    /// Stops the lanes, where that is possible.
    pub fn cancel(&mut self) {
        if self.outstanding == 0 {
            return;
        }
        let which = Which::One(self.token);
        let stopped = self.rails.iter().filter(|rail| rail.lane.let_go(which));
        if stopped.count() != 0 {
            self.outstanding = 0;
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
            wants_device: wanted.device.is_some(),
            device: device::opened(worker.context(), wanted.device.as_ref()),
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
            device: None,
        };
        Stream::from(self.source, &wanted, self.confirmed.get(), self.op)
    }

    fn write(&self, attempt: &mut Attempt) -> Result<Step> {
        let share = match attempt.rails.len() {
            0 | 1 => usize::MAX,
            n => (self.len.div_ceil(n)).max(SHORTEST),
        };
        while attempt.at < self.len {
            // The kernel copies one at a time; others queue.
            let single = attempt.rails.iter().all(|rail| !rail.keyed) || attempt.staging.is_some();
            if single && attempt.outstanding != 0 {
                return Ok(Step::Waiting);
            }
            if !self.write_piece(attempt, share)? {
                return Ok(Step::Blocked);
            }
            self.confirm(attempt);
        }
        Ok(Step::Done)
    }

    /// Posts one put of at most `share` bytes. False if no rail has room.
    fn write_piece(&self, attempt: &mut Attempt, share: usize) -> Result<bool> {
        if attempt.rails.is_empty() {
            return Err(Error::Unreachable);
        }
        for index in attempt.order() {
            let Some(rail) = attempt.rails.get(index) else {
                continue;
            };
            let left = (self.len - attempt.at).min(rail.max_len).min(share);
            let from = self.offset + attempt.at;
            let pieces = match (&*self.source.buf, attempt.staging.as_mut()) {
                (SendBuf::Device(device), Some(staging)) => {
                    SendBuf::Contig(staging.fill(device, from, left)?).pieces(0, left, 1)
                }
                (buf, _) if self.device.is_some() => buf.device_pieces(from, left),
                (buf, _) => buf.pieces(from, left, rail.max_iov),
            };
            let (pieces, n) = pieces.filter(|(_, n)| *n != 0).ok_or(Error::Unsupported)?;
            let remote = self.address.wrapping_add(attempt.at as u64);
            let key = self.device.as_ref().map(Named::number);
            let (lane, key) = (rail.lane.clone(), key.unwrap_or(self.key.region()));
            match lane.put_zcopy(&pieces, remote, key, self.op)? {
                Post::NoResource => continue,
                Post::Done => {}
                Post::Pending => attempt.outstanding += 1,
            }
            attempt.at += n;
            if let Some(load) = attempt.loads.get_mut(index) {
                *load += n;
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Asks the rails that need it whether all is in place.
    fn flush(&self, attempt: &mut Attempt, ep: &Endpoint) -> Result<Step> {
        while let Some(rail) = attempt.rails.get(attempt.asked) {
            let used = attempt
                .loads
                .get(attempt.asked)
                .is_some_and(|load| *load != 0);
            if used && Put::needs_flush(rail, ep) {
                let lane = rail.lane.clone();
                match lane.flush(self.op)? {
                    Post::Done => {}
                    Post::NoResource => return Ok(Step::Blocked),
                    Post::Pending => attempt.outstanding += 1,
                }
            }
            attempt.asked += 1;
        }
        Ok(match attempt.outstanding {
            0 => Step::Done,
            _ => Step::Waiting,
        })
    }

    /// What has completed is in place where a lane writes by itself, or has been asked.
    fn confirm(&self, attempt: &Attempt) {
        let written = attempt.rails.iter().all(|rail| !rail.keyed);
        let flushed = attempt.asked != 0 && attempt.asked == attempt.rails.len();
        if attempt.outstanding == 0 && !attempt.failed && (written || flushed) {
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
        if self.device.is_some() {
            let rail = device::rail(ep).ok_or(Error::Unsupported)?;
            let rails = core::iter::once(rail).collect();
            return Ok(Attempt::new(rails, self.op, self.confirmed.get()));
        }
        if self.wants_device {
            return Err(Error::Unsupported);
        }
        let rails = ep.put_rails();
        if rails.is_empty() {
            return Err(Error::Unsupported);
        }
        let mut attempt = Attempt::new(rails, self.op, self.confirmed.get());
        attempt.staging = Staging::of(&self.source.buf, self.len, ep)?;
        Ok(attempt)
    }

    fn progress(&self, attempt: &mut Attempt, ep: &Rc<Endpoint>) -> Result<Step> {
        match self.write(attempt)? {
            Step::Done if attempt.outstanding != 0 => Ok(Step::Waiting),
            Step::Done => self.flush(attempt, ep),
            step => Ok(step),
        }
    }

    fn done(self) -> Written {
        self.written()
    }

    fn outstanding(attempt: &Attempt) -> usize {
        attempt.outstanding
    }

    fn ended(&self, attempt: &mut Attempt, result: Result<()>) {
        attempt.outstanding = attempt.outstanding.saturating_sub(1);
        attempt.failed |= result.is_err();
        self.confirm(attempt);
    }

    fn lane_lost(&self, attempt: &mut Attempt, ep: &Rc<Endpoint>) -> usize {
        match attempt.rails.first() {
            Some(rail) => ep.lose_lane(rail.index),
            None => 0,
        }
    }
}

/// Something that a put had posted has ended.
pub fn completed(
    worker: &Worker,
    req: ReqRef,
    ep: &Rc<Endpoint>,
    flight: Flight<Put>,
    result: Result<()>,
) {
    if let Some(driven) = super::ended(req, ep, flight, result, Op::RndvPut) {
        settle(worker, req, ep, driven);
    }
}

/// Where a transport may write the payload of an `RNDV_PUT`.
pub fn place(worker: &Worker, header: &[u8], offset: usize, total: usize) -> Place {
    match PutTo::decode(header) {
        Some((to, _)) => target::place_put(worker, to.key, to.address, offset, total),
        None => Place::Discard,
    }
}

/// `RNDV_PUT` as a whole message.
pub fn on_put(worker: &Worker, data: &[u8]) -> Option<()> {
    let (to, bytes) = PutTo::decode(data)?;
    // Where the memory is not exposed any more, the receive is over.
    if let Ok((_memory, mem)) = target::find(worker, to.key, to.address, bytes.len() as u64) {
        mem.write_at(0, bytes);
    }
    Some(())
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
    // What the device's lane can't do goes through the host.
    if falls_back(ep, error) || (put.wants_device && ep.failure().is_none()) {
        up(&worker.tally.as_messages);
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
        ep.fail_with_peer(error);
    } else {
        super::tell_aborted(ep, error);
        send_atp(ep, &atp);
    }
    sent(worker, req, whole, Err(error));
}
