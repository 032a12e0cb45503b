//! Rendezvous by get: the receiver reads the sender's memory.

use core::cell::Cell;
use std::rc::Rc;

use crate::ucp::dt::RecvBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::proto::{Stage, Step};
use crate::ucp::request::ReqRef;
use crate::ucp::wire::rndv::Rts;
use crate::ucp::worker::Worker;
use crate::ucs::status::{Error, Result};
use crate::uct::{Ep, Post};

/// Bytes of one get: a longer copy would keep progress from everybody else for too long.
const PIECE: usize = 8 << 20;

/// Reading. Owns the receive buffer and what is known of the sender's.
pub struct Fetch {
    buf: RecvBuf,
    sender_op: u64,
    address: u64,
    total: usize,
    /// Bytes that have certainly arrived; a restart or a fall-back goes on from here.
    confirmed: Cell<usize>,
}

/// All has been read: what remains is to tell the sender.
pub struct Ack {
    pub sender_op: u64,
}

/// The lane in use.
pub struct Attempt {
    lane: Rc<dyn Ep>,
}

impl Fetch {
    pub fn new(buf: RecvBuf, rts: &Rts, total: usize) -> Fetch {
        Fetch {
            buf,
            sender_op: rts.op,
            address: rts.address,
            total,
            confirmed: Cell::new(0),
        }
    }
}

impl Stage for Fetch {
    type Attempt = Attempt;
    type Next = Ack;

    fn begin(&self, ep: &Endpoint, _number: u32) -> Result<Attempt> {
        let lane = ep.fetch_lane().ok_or(Error::Unsupported)?;
        Ok(Attempt { lane: lane.clone() })
    }

    fn progress(&self, attempt: &mut Attempt, ep: &Endpoint) -> Result<Step> {
        let at = self.confirmed.get();
        let want = (self.total - at).min(PIECE);
        let Some((pieces, n)) = self.buf.pieces(at, want, ep.config().fetch_max_iov) else {
            return Err(Error::Unsupported);
        };
        if n == 0 {
            return Err(Error::Unsupported);
        }
        match attempt
            .lane
            .get_zcopy(&pieces, self.address.wrapping_add(at as u64), 0, 0)?
        {
            Post::Done => {
                self.confirmed.set(at + n);
                Ok(if at + n == self.total {
                    Step::Done
                } else {
                    Step::Blocked
                })
            }
            Post::Pending | Post::NoResource => Ok(Step::Blocked),
        }
    }

    fn done(self) -> Ack {
        Ack {
            sender_op: self.sender_op,
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
        _ => {
            drop(stage);
            worker.finish(req, Err(error));
        }
    }
}
