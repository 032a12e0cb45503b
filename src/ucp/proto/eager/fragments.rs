//! Messages in fragments, for tagged and active messages alike: the first has a header of its own,
//! the later ones name the message and their offset.

use crate::ucp::dt::SendBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::proto::Step;
use crate::ucp::wire::tag::Middle;
use crate::ucp::wire::{Identity, Writer};
use crate::ucs::status::{Error, Result};
use crate::uct::{Ep, Post};

/// Where a message is cut, if that is up to us: at multiples of the longest basic type's size.
/// A piece may end anywhere, but MPICH's datatypes refuse one that ends inside of a number.
const GRAIN: usize = 16;

/// Bytes of the next piece, of `left` that remain, where there is room for `room`.
pub fn piece_len(left: usize, room: usize) -> usize {
    if left <= room || room < GRAIN {
        left.min(room)
    } else {
        room - room % GRAIN
    }
}

/// How far an attempt has come.
#[derive(Default)]
pub struct Attempt {
    started: bool,
    offset: usize,
}

impl Attempt {
    /// Sends as much of `buf` as the lane takes. `first` and `middle` (from an offset on) post one
    /// message and return the bytes of `buf` that it took, or `None` if the lane has no room.
    pub fn run(
        &mut self,
        buf: &SendBuf,
        first: impl FnOnce() -> Result<Option<usize>>,
        middle: impl Fn(usize) -> Result<Option<usize>>,
    ) -> Result<Step> {
        if !self.started {
            let Some(sent) = first()? else {
                return Ok(Step::Blocked);
            };
            self.started = true;
            self.offset = sent;
        }
        while self.offset < buf.len() {
            let Some(sent) = middle(self.offset)? else {
                return Ok(Step::Blocked);
            };
            self.offset += sent;
        }
        Ok(Step::Done)
    }
}

/// Posts the fragment of `buf` that begins at `offset`.
pub fn send_middle(
    ep: &Endpoint,
    id: u8,
    identity: Identity,
    buf: &SendBuf,
    offset: usize,
) -> Result<Option<usize>> {
    let room = ep.config().bcopy_max - Middle::LEN;
    let len = piece_len(buf.len() - offset, room);
    let header = Middle {
        identity,
        offset: offset as u64,
    };
    let encode = |w: &mut Writer<'_>| header.encode(w);
    send_piece(ep, id, Middle::LEN, encode, buf, offset, len)
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
    send_piece_by(ep.am_lane(), id, header_len, header, buf, offset, len)
}

/// The same by a certain lane.
pub fn send_piece_by(
    lane: &dyn Ep,
    id: u8,
    header_len: usize,
    header: impl Fn(&mut Writer<'_>),
    buf: &SendBuf,
    offset: usize,
    len: usize,
) -> Result<Option<usize>> {
    buf.prepare(offset, len)?;
    let mut packed = 0;
    let post = lane.am_bcopy(id, header_len + len, &mut |dst| {
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
