//! RTS: announcing a message, and waiting for what the receiver makes of it.

use std::rc::Rc;

use super::Stream;
use crate::ucp::dt::SendBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::proto::key::{Exposed, Proof, Writer as By};
use crate::ucp::proto::{Stage, Step};
use crate::ucp::wire::rndv::{Rtr, Rts};
use crate::ucp::wire::{Identity, Writer, am};
use crate::ucp::worker::Worker;
use crate::ucs::status::Result;
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
}

impl Stage for Announce {
    /// The attempt's number goes out with the RTS.
    type Attempt = u32;
    type Next = Announced;

    fn begin(&self, _ep: &Rc<Endpoint>, number: u32) -> Result<u32> {
        Ok(number)
    }

    fn progress(&self, attempt: &mut u32, ep: &Rc<Endpoint>) -> Result<Step> {
        let address = self.buf.contig().map_or(0, |mem| mem.ptr() as u64);
        let lease = if address == 0 { 0 } else { ep.lease() };
        let rts = Rts {
            tag: self.tag,
            total: self.buf.len() as u64,
            identity: self.identity,
            attempt: *attempt,
            op: self.op,
            address,
            lease,
        };
        let len = Rts::LEN + self.header.len();
        let post = ep.am_lane().am_bcopy(self.id, len, &mut |dst| {
            let mut w = Writer::new(dst);
            rts.encode(&mut w);
            w.bytes(&self.header);
            w.len()
        })?;
        Ok(if post == Post::NoResource {
            Step::Blocked
        } else {
            Step::Done
        })
    }

    fn done(self) -> Announced {
        Announced {
            buf: self.buf,
            op: self.op,
        }
    }
}

/// The RTS is out.
pub struct Announced {
    buf: SendBuf,
    op: u64,
}

impl Announced {
    pub fn offer(self, worker: &Worker) -> Offered {
        Offered {
            buf: Exposed::pack(self.buf, By::Nobody, None, worker.keys()),
            op: self.op,
        }
    }
}

/// Announced: the buffer is the peer's to read until it answers.
pub struct Offered {
    buf: Exposed<SendBuf>,
    op: u64,
}

impl Offered {
    /// The receiver asks for the bytes. `None` if it asks for more than there is.
    pub fn stream(self, rtr: &Rtr) -> Option<Stream> {
        let buf = self.buf.release(Proof::Confirmed)?;
        let offset = usize::try_from(rtr.offset)
            .ok()
            .filter(|at| *at <= buf.len())?;
        Some(Stream::new(buf, self.op, rtr.receiver_op, offset))
    }
}
