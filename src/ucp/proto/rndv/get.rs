//! Rendezvous by get: the receiver reads the sender's memory.

use core::cell::Cell;
use std::rc::Rc;

use super::ppln::{self, Part};
use super::rtr::{self, Ask};
use super::{ats, device, falls_back};
use crate::sys::usermem::UserMem;
use crate::ucp::dt::RecvBuf;
use crate::ucp::ep::{Endpoint, ErrorMode};
use crate::ucp::proto::key::{Key, OwnedKey, Remote};
use crate::ucp::proto::verdict::is_lane_class;
use crate::ucp::proto::{Stage, Step};
use crate::ucp::request::ReqRef;
use crate::ucp::wire::am;
use crate::ucp::wire::rndv::Rts;
use crate::ucp::worker::Worker;
use crate::ucp::worker::tally::up;
use crate::ucs::status::{Error, Result, Status};
use crate::uct::cuda::ipc::Named;
use crate::uct::{Ep, Post, Which};

/// Reading. Owns the receive buffer and what is known of the sender's.
pub struct Fetch {
    buf: RecvBuf,
    sender_op: u64,
    /// Only the RTS can supply it.
    key: Key,
    address: u64,
    /// Memory of a device, read by the lane for that.
    device: Option<Named>,
    /// Key of the sender's lease.
    lease: u64,
    total: usize,
    /// Our operation: the token of what it posts.
    op: u64,
    /// Bytes that have certainly arrived; a restart or a fall-back goes on from here.
    confirmed: Cell<usize>,
    /// Of the announcement.
    attempt: u32,
    part: Option<Part>,
}

/// All has been read, and the key is gone: what remains is to tell the sender, or the whole of
/// which this is a part.
pub struct Ack {
    pub sender_op: u64,
    pub part: Option<Part>,
}

/// The lane in use. It stops reading when this is let go.
pub struct Attempt {
    lane: Rc<dyn Ep>,
    /// Bytes that the lane is reading.
    posted: usize,
    token: u64,
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if self.posted != 0 {
            self.lane.let_go(Which::One(self.token));
        }
    }
}

/// The sender's memory, as the RTS tells of it.
pub fn remote_of(rts: &Rts, total: usize) -> Remote {
    let (address, len, entries) = match &rts.region {
        Some(region) => (
            region.base,
            usize::try_from(region.len).unwrap_or(usize::MAX),
            region.entries.clone(),
        ),
        None => (rts.address, total, Default::default()),
    };
    Remote {
        address,
        len,
        region: 0,
        entries,
    }
}

impl Attempt {
    /// All of a message is being read.
    pub fn posted(lane: Rc<dyn Ep>, len: usize, token: u64) -> Attempt {
        Attempt {
            lane,
            posted: len,
            token,
        }
    }
}

impl Fetch {
    pub fn new(worker: &Worker, buf: RecvBuf, rts: &Rts, total: usize, op: u64) -> Fetch {
        let (device, address) = match device::key(worker.context(), rts) {
            Some((key, base)) => (Some(key), base),
            None => (None, rts.address),
        };
        Fetch {
            buf,
            sender_op: rts.op,
            key: Key::Owned(OwnedKey::unpack(remote_of(rts, total), worker.keys())),
            address,
            device,
            lease: rts.lease,
            total,
            op,
            confirmed: Cell::new(0),
            attempt: rts.attempt,
            part: None,
        }
    }

    /// A fragment at `from.0`, under the lease `from.1`, into its staging memory.
    pub fn part(
        mem: UserMem,
        part: Part,
        sender_op: u64,
        from: (u64, u64),
        key: Rc<OwnedKey>,
        op: u64,
    ) -> Fetch {
        Fetch {
            buf: RecvBuf::Contig(mem),
            sender_op,
            key: Key::Parent(key),
            address: from.0,
            device: None,
            lease: from.1,
            total: mem.len(),
            op,
            confirmed: Cell::new(0),
            attempt: part.attempt(),
            part: Some(part),
        }
    }

    /// Lets the key go: from here on there is nothing to restart.
    pub fn fetched(self) -> Ack {
        drop(self.key);
        Ack {
            sender_op: self.sender_op,
            part: self.part,
        }
    }
}

impl Stage for Fetch {
    type Attempt = Attempt;
    type Next = Ack;

    fn begin(&self, ep: &Rc<Endpoint>, _number: u32) -> Result<Attempt> {
        let lane = match self.device {
            Some(_) => device::lane(ep, &self.buf),
            None => ep.fetch_lane(),
        };
        let lane = lane.ok_or(Error::Unsupported)?;
        Ok(Attempt {
            lane,
            posted: 0,
            token: self.op,
        })
    }

    fn progress(&self, attempt: &mut Attempt, ep: &Rc<Endpoint>) -> Result<Step> {
        if attempt.posted != 0 {
            return Ok(Step::Waiting);
        }
        let mut at = self.confirmed.get();
        while at < self.total {
            let pieces = match self.device {
                Some(_) => self.buf.device_pieces(at, self.total - at),
                None => self
                    .buf
                    .pieces(at, self.total - at, ep.config().fetch_max_iov),
            };
            let (pieces, n) = pieces.filter(|(_, n)| *n != 0).ok_or(Error::Unsupported)?;
            let remote = self.address.wrapping_add(at as u64);
            let lane = &attempt.lane;
            let post = match &self.device {
                Some(key) => lane.get_zcopy(&pieces, remote, key.number(), self.op)?,
                None => lane.get_leased(&pieces, remote, self.lease, self.op)?,
            };
            match post {
                Post::Done => at += n,
                Post::NoResource => return Ok(Step::Blocked),
                Post::Pending => {
                    attempt.posted = n;
                    return Ok(Step::Waiting);
                }
            }
            self.confirmed.set(at);
        }
        Ok(Step::Done)
    }

    fn done(self) -> Ack {
        self.fetched()
    }

    fn outstanding(attempt: &Attempt) -> usize {
        usize::from(attempt.posted != 0)
    }

    fn ended(&self, attempt: &mut Attempt, result: Result<()>) {
        let posted = core::mem::take(&mut attempt.posted);
        if result.is_ok() {
            self.confirmed.set(self.confirmed.get() + posted);
        }
    }

    fn lane_lost(&self, _attempt: &mut Attempt, ep: &Rc<Endpoint>) -> usize {
        match ep.config().lanes.rndv_get {
            Some(lane) => {
                ep.forget_fetch_lane();
                ep.lose_lane(lane)
            }
            None => 0,
        }
    }
}

/// The read failed. Where the kernel forbids it, or another lane is left, the same receive goes on
/// by active messages; a dead peer ends it.
pub fn fall_back(worker: &Worker, req: ReqRef, ep: &Rc<Endpoint>, stage: Fetch, error: Error) {
    // What the device's lane can't do goes through the host.
    let of_device = stage.device.is_some();
    if falls_back(ep, error) || (of_device && ep.failure().is_none()) {
        up(&worker.tally.as_messages);
        if !of_device {
            ep.forget_fetch_lane();
        }
        let (sender_op, part) = (stage.sender_op, stage.part);
        let ask = Ask {
            sender_op,
            offset: part.as_ref().map_or(0, Part::offset),
            len: stage.total,
            attempt: part.as_ref().map_or(stage.attempt, Part::attempt),
            got: stage.confirmed.get(),
            part,
        };
        drop(stage.key);
        return rtr::ask(worker, req, stage.buf, ask);
    }
    let part = stage.part;
    drop((stage.buf, stage.key));
    // The sender has given it up, and its message that says so is on the way.
    let given_up = error == Error::Canceled;
    let error = match given_up {
        true => Error::ConnectionReset,
        false => error,
    };
    if given_up {
        ep.fail_with_peer(error);
    } else if is_lane_class(error) {
        if ep.error_mode() == ErrorMode::Failover {
            super::tell_aborted(ep, error);
            // The endpoint lives: the sender waits for an answer.
            if part.is_none() {
                ats::answer(ep, am::ATS, stage.sender_op, Status::from(error));
            }
        } else {
            // The process that had the memory is gone, and the endpoint's peer with it; or it is not,
            // and waits for an answer.
            ep.fail_with_peer(error);
        }
    }
    match part {
        None => worker.finish(req, Err(error)),
        Some(part) => ppln::part_ended(worker, req, part, Err(error)),
    }
}
