//! Rendezvous by get: the receiver reads the sender's memory.

use core::cell::Cell;
use std::rc::Rc;

use crate::ucp::dt::RecvBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::proto::key::{Key, OwnedKey, Remote};
use crate::ucp::proto::verdict::is_lane_class;
use crate::ucp::proto::{Stage, Step};
use crate::ucp::request::ReqRef;
use crate::ucp::wire::rndv::Rts;
use crate::ucp::worker::Worker;
use crate::ucs::status::{Error, Result};
use crate::uct::{Ep, Post, Which};

/// Reading. Owns the receive buffer and what is known of the sender's.
pub struct Fetch {
    buf: RecvBuf,
    sender_op: u64,
    /// Only the RTS can supply it.
    key: Key,
    address: u64,
    /// Key of the sender's lease.
    lease: u64,
    total: usize,
    /// Our operation: the token of what it posts.
    op: u64,
    /// Bytes that have certainly arrived; a restart or a fall-back goes on from here.
    confirmed: Cell<usize>,
}

/// All has been read, and the key is gone: what remains is to tell the sender.
pub struct Ack {
    pub sender_op: u64,
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

impl Fetch {
    pub fn new(worker: &Worker, buf: RecvBuf, rts: &Rts, total: usize, op: u64) -> Fetch {
        let remote = Remote {
            address: rts.address,
            len: total,
            region: 0,
            entries: Default::default(),
        };
        Fetch {
            buf,
            sender_op: rts.op,
            key: Key::Owned(OwnedKey::unpack(remote, worker.keys())),
            address: rts.address,
            lease: rts.lease,
            total,
            op,
            confirmed: Cell::new(0),
        }
    }

    /// Lets the key go: from here on there is nothing to restart.
    pub fn fetched(self) -> Ack {
        drop(self.key);
        Ack {
            sender_op: self.sender_op,
        }
    }
}

impl Stage for Fetch {
    type Attempt = Attempt;
    type Next = Ack;

    fn begin(&self, ep: &Rc<Endpoint>, _number: u32) -> Result<Attempt> {
        let lane = ep.fetch_lane().ok_or(Error::Unsupported)?;
        Ok(Attempt {
            lane: lane.clone(),
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
            let pieces = self
                .buf
                .pieces(at, self.total - at, ep.config().fetch_max_iov);
            let (pieces, n) = pieces.filter(|(_, n)| *n != 0).ok_or(Error::Unsupported)?;
            let remote = self.address.wrapping_add(at as u64);
            let post = attempt
                .lane
                .get_leased(&pieces, remote, self.lease, self.op)?;
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
}

/// The read failed. Where the kernel forbids it, the same receive goes on by active messages;
/// a dead peer ends it.
pub fn fall_back(worker: &Worker, req: ReqRef, ep: &Rc<Endpoint>, stage: Fetch, error: Error) {
    match error {
        Error::Unsupported | Error::InvalidAddr | Error::InvalidParam => {
            ep.forget_fetch_lane();
            super::ask(
                worker,
                req,
                stage.buf,
                stage.sender_op,
                stage.confirmed.get(),
                stage.total,
            );
        }
        // The sender has given it up, and its message that says so is on the way.
        Error::Canceled => {
            drop(stage);
            ep.fail_with_peer();
            worker.finish(req, Err(Error::ConnectionReset));
        }
        _ => {
            drop(stage);
            if is_lane_class(error) {
                // The process that had the memory is gone, and the endpoint's peer with it.
                ep.fail(error);
            }
            worker.finish(req, Err(error));
        }
    }
}
