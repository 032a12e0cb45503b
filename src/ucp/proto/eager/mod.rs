//! Eager: the payload goes at once, in one message or in fragments.

mod fragments;
mod zcopy;

pub use fragments::{AHEAD, Attempt, piece_len, send_middle, send_piece, send_piece_by};
pub use zcopy::EagerZcopy;

use std::rc::Rc;

use super::{Stage, Step};
use crate::sys::usermem::UserMem;
use crate::ucp::dt::SendBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::wire::tag::First;
use crate::ucp::wire::{Identity, Writer, am};
use crate::ucs::status::Result;
use crate::uct::Post;

/// Sends a message that fits into one `EAGER_ONLY`.
pub fn send_only(ep: &Endpoint, tag: u64, buf: &SendBuf) -> Result<Post> {
    let len = buf.len();
    if let Some(mem) = buf.contig().filter(|_| len <= ep.config().short_max) {
        return ep.am_lane().am_short(am::EAGER_ONLY, tag, mem.as_slice());
    }
    buf.prepare(0, len)?;
    ep.am_lane().am_bcopy(am::EAGER_ONLY, 8 + len, &mut |dst| {
        let Some((head, body)) = dst.split_first_chunk_mut::<8>() else {
            return 0;
        };
        *head = tag.to_ne_bytes();
        let end = len.min(body.len());
        8 + buf.pack(0, body.get_mut(..end).unwrap_or_default())
    })
}

/// The same for contiguous memory that is copied.
pub fn copy_only(ep: &Endpoint, tag: u64, mem: UserMem) -> Result<Post> {
    let len = mem.len();
    ep.am_lane().am_bcopy(am::EAGER_ONLY, 8 + len, &mut |dst| {
        let Some((head, body)) = dst.split_first_chunk_mut::<8>() else {
            return 0;
        };
        *head = tag.to_ne_bytes();
        8 + mem.read_at(0, body)
    })
}

/// An eager message that has not gone out, or not completely.
pub struct Eager {
    tag: u64,
    buf: SendBuf,
    identity: Identity,
    /// Our operation's id if matching is to be acknowledged, else 0.
    ack_op: u64,
}

impl Eager {
    pub fn new(tag: u64, buf: SendBuf, identity: Identity, ack_op: u64) -> Eager {
        Eager {
            tag,
            buf,
            identity,
            ack_op,
        }
    }

    /// Whether an acknowledgement will come.
    pub fn is_sync(&self) -> bool {
        self.ack_op != 0
    }

    fn first_id(&self, only: bool) -> u8 {
        match (self.is_sync(), only) {
            (false, _) => am::EAGER_FIRST,
            (true, true) => am::SYNC_ONLY,
            (true, false) => am::SYNC_FIRST,
        }
    }

    /// Posts the first message; returns the payload bytes that it carried.
    fn send_first(&self, ep: &Endpoint) -> Result<Option<usize>> {
        let total = self.buf.len();
        if !self.is_sync() && total <= ep.config().only_max {
            let post = send_only(ep, self.tag, &self.buf)?;
            return Ok((post != Post::NoResource).then_some(total));
        }
        let room = ep.config().bcopy_max - First::LEN;
        let len = piece_len(total, room);
        let header = First {
            tag: self.tag,
            identity: self.identity,
            total: total as u64,
            op: self.ack_op,
        };
        let id = self.first_id(len == total);
        let encode = |w: &mut Writer<'_>| header.encode(w);
        send_piece(ep, id, First::LEN, encode, &self.buf, 0, len)
    }
}

impl Stage for Eager {
    type Attempt = Attempt;
    type Next = ();

    fn begin(&self, _ep: &Rc<Endpoint>, _number: u32) -> Result<Attempt> {
        Ok(Attempt::default())
    }

    fn progress(&self, attempt: &mut Attempt, ep: &Rc<Endpoint>) -> Result<Step> {
        let (id, identity) = (am::EAGER_MIDDLE, self.identity);
        attempt.run(
            &self.buf,
            || self.send_first(ep),
            |at, taken| send_middle(ep, id, identity, &self.buf, at, taken),
        )
    }

    fn done(self) {}
}
