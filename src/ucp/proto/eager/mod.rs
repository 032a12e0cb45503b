//! Eager: the payload goes at once, in one message or in fragments.

mod zcopy;

pub use zcopy::EagerZcopy;

use std::rc::Rc;

use super::{Stage, Step};
use crate::sys::usermem::UserMem;
use crate::ucp::dt::SendBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::wire::tag::{First, Middle};
use crate::ucp::wire::{Identity, Writer, am};
use crate::ucs::status::{Error, Result};
use crate::uct::Post;

/// Sends a message that fits into one `EAGER_ONLY`.
pub fn send_only(ep: &Endpoint, tag: u64, buf: &SendBuf) -> Result<Post> {
    let len = buf.len();
    if let Some(mem) = buf.contig().filter(|_| len <= ep.config().short_max) {
        return ep.am_lane().am_short(am::EAGER_ONLY, tag, mem.as_slice());
    }
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
        let len = total.min(room);
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

    fn send_middle(&self, ep: &Endpoint, offset: usize) -> Result<Option<usize>> {
        let room = ep.config().bcopy_max - Middle::LEN;
        let len = (self.buf.len() - offset).min(room);
        let header = Middle {
            identity: self.identity,
            offset: offset as u64,
        };
        let id = am::EAGER_MIDDLE;
        let encode = |w: &mut Writer<'_>| header.encode(w);
        send_piece(ep, id, Middle::LEN, encode, &self.buf, offset, len)
    }
}

/// Posts `header` and up to `len` bytes of `buf` from `offset` on as one active message. Returns
/// the bytes of `buf` that it took, since a generic datatype may pack less than there is room for,
/// or `None` if the lane has no room.
pub fn send_piece(
    ep: &Endpoint,
    id: u8,
    header_len: usize,
    header: impl Fn(&mut Writer<'_>),
    buf: &SendBuf,
    offset: usize,
    len: usize,
) -> Result<Option<usize>> {
    let mut packed = 0;
    let post = ep.am_lane().am_bcopy(id, header_len + len, &mut |dst| {
        let Some((head, body)) = dst.split_at_mut_checked(header_len) else {
            return 0;
        };
        header(&mut Writer::new(head));
        let end = len.min(body.len());
        packed = buf.pack(offset, body.get_mut(..end).unwrap_or_default());
        header_len + packed
    })?;
    if post == Post::NoResource {
        return Ok(None);
    }
    if packed == 0 && len != 0 {
        crate::ucs_error!("a datatype packs nothing of {len} bytes at offset {offset}");
        return Err(Error::InvalidParam);
    }
    Ok(Some(packed))
}

/// How far an attempt has come.
#[derive(Default)]
pub struct Attempt {
    started: bool,
    offset: usize,
}

impl Stage for Eager {
    type Attempt = Attempt;
    type Next = ();

    fn begin(&self, _ep: &Rc<Endpoint>, _number: u32) -> Result<Attempt> {
        Ok(Attempt::default())
    }

    fn progress(&self, attempt: &mut Attempt, ep: &Rc<Endpoint>) -> Result<Step> {
        if !attempt.started {
            let Some(sent) = self.send_first(ep)? else {
                return Ok(Step::Blocked);
            };
            attempt.started = true;
            attempt.offset = sent;
        }
        while attempt.offset < self.buf.len() {
            let Some(sent) = self.send_middle(ep, attempt.offset)? else {
                return Ok(Step::Blocked);
            };
            attempt.offset += sent;
        }
        Ok(Step::Done)
    }

    fn done(self) {}
}
