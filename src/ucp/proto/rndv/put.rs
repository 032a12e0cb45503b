//! Rendezvous by put: the sender writes to the receiver's memory, then tells it (ATP).

use core::cell::Cell;
use std::rc::Rc;

use super::announce::{Source, Wanted, sent};
use super::ats::send_atp;
use super::staging::Staging;
use super::{Stream, device, falls_back};
use crate::ucp::dt::SendBuf;
use crate::ucp::ep::{Endpoint, ErrorMode, Rail};
use crate::ucp::proto::key::{Key, OwnedKey, Remote};
use crate::ucp::proto::spread::{Spread, Where};
use crate::ucp::proto::verdict::is_lane_class;
use crate::ucp::proto::{Driven, Flight, Op, Stage, Step};
use crate::ucp::request::ReqRef;
use crate::ucp::rma::target;
use crate::ucp::wire::rndv::{Atp, PutTo};
use crate::ucp::worker::Worker;
use crate::ucp::worker::tally::up;
use crate::ucs::status::{Error, Result, Status};
use crate::uct::Place;
use crate::uct::cuda::ipc::Named;

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
    spread: Spread,
    /// Something has failed: what completes now proves nothing.
    failed: bool,
    /// For memory of a device.
    staging: Option<Staging>,
}

impl Attempt {
    /// All is being written by one lane.
    pub fn posted(rail: Rail, len: usize, token: u64) -> Attempt {
        Attempt {
            spread: Spread::posted(rail, len, token),
            failed: false,
            staging: None,
        }
    }

    /// Stops the lanes, where that is possible.
    pub fn cancel(&mut self) {
        self.spread.cancel();
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
        // The kernel copies one at a time; others queue.
        let single = attempt.spread.is_direct() || attempt.staging.is_some();
        while attempt.spread.at() < self.len {
            if single && attempt.spread.outstanding() != 0 {
                return Ok(Step::Waiting);
            }
            if !self.write_piece(attempt)? {
                return Ok(Step::Blocked);
            }
            self.confirm(attempt);
        }
        Ok(Step::Done)
    }

    /// Posts one put. False if no rail has room.
    fn write_piece(&self, attempt: &mut Attempt) -> Result<bool> {
        let key = self.device.as_ref().map(Named::number);
        let to = Where {
            address: self.address,
            key: key.unwrap_or(self.key.region()),
            len: self.len,
        };
        let of_device = self.device.is_some();
        let Attempt {
            spread, staging, ..
        } = attempt;
        spread.piece(&to, self.len, |at, len, max_iov| {
            let from = self.offset + at;
            Ok(match (&*self.source.buf, staging.as_mut()) {
                (SendBuf::Device(device), Some(staging)) => {
                    SendBuf::Contig(staging.fill(device, from, len)?).pieces(0, len, 1)
                }
                (buf, _) if of_device => buf.device_pieces(from, len),
                (buf, _) => buf.pieces(from, len, max_iov),
            })
        })
    }

    /// What has completed is in place where a lane writes by itself, or has been asked.
    fn confirm(&self, attempt: &Attempt) {
        let spread = &attempt.spread;
        let certain = spread.is_direct() || spread.is_asked();
        if spread.outstanding() == 0 && !attempt.failed && certain {
            self.confirmed.set(spread.at());
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
            return Ok(Attempt {
                spread: Spread::new(rails, self.op, self.confirmed.get()),
                failed: false,
                staging: None,
            });
        }
        if self.wants_device {
            return Err(Error::Unsupported);
        }
        let mut rails = ep.put_rails();
        rails.truncate(ep.config().rails.max(1));
        if self.key.region() == 0 {
            // The receiver has exposed its memory to the kernel only.
            rails.retain(|rail| !rail.keyed);
        }
        if rails.is_empty() {
            return Err(Error::Unsupported);
        }
        Ok(Attempt {
            spread: Spread::new(rails, self.op, self.confirmed.get()),
            failed: false,
            staging: Staging::of(&self.source.buf, self.len, ep)?,
        })
    }

    fn progress(&self, attempt: &mut Attempt, ep: &Rc<Endpoint>) -> Result<Step> {
        match self.write(attempt)? {
            Step::Done if attempt.spread.outstanding() != 0 => Ok(Step::Waiting),
            Step::Done => attempt.spread.flush(|rail| Put::needs_flush(rail, ep)),
            step => Ok(step),
        }
    }

    fn done(self) -> Written {
        self.written()
    }

    fn outstanding(attempt: &Attempt) -> usize {
        attempt.spread.outstanding()
    }

    fn ended(&self, attempt: &mut Attempt, result: Result<()>) {
        attempt.spread.ended();
        attempt.failed |= result.is_err();
        self.confirm(attempt);
    }

    fn lane_lost(&self, attempt: &mut Attempt, ep: &Rc<Endpoint>) -> usize {
        match attempt.spread.first() {
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
