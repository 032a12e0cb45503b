//! Messages in fragments, for tagged and active messages alike: the first has a header of its own,
//! the later ones name the message and their offset.

use smallvec::SmallVec;

use crate::ucp::dt::SendBuf;
use crate::ucp::ep::{AmRail, Endpoint};
use crate::ucp::proto::Step;
use crate::ucp::wire::tag::Middle;
use crate::ucp::wire::{Identity, Writer};
use crate::ucs::status::{Error, Result};
use crate::uct::{Ep, Post};

/// Where a message is cut, if that is up to us: at multiples of the longest basic type's size.
/// A piece may end anywhere, but MPICH's datatypes refuse one that ends inside of a number.
/// The length of a line more: shared memory copies those faster.
const GRAIN: usize = 64;

/// Bytes of the next piece, of `left` that remain, where there is room for `room`.
pub fn piece_len(left: usize, room: usize) -> usize {
    if left <= room || room < GRAIN {
        left.min(room)
    } else {
        room - room % GRAIN
    }
}

/// So many bytes of a message go by other lanes for each that its own lane has taken, at most. What comes
/// there before the first fragment is so bounded by what that lane can hold.
pub const AHEAD: usize = 16;

/// How far an attempt has come.
#[derive(Default)]
pub struct Attempt {
    started: bool,
    offset: usize,
    /// Bytes that each rail has taken, where there are several.
    taken: SmallVec<[usize; 2]>,
}

impl Attempt {
    /// Sends as much of `buf` as the lane takes. `first` and `middle` (from an offset on) post one
    /// message and return the bytes of `buf` that it took, or `None` if the lane has no room.
    pub fn run(
        &mut self,
        buf: &SendBuf,
        first: impl FnOnce() -> Result<Option<usize>>,
        middle: impl Fn(usize, &mut SmallVec<[usize; 2]>) -> Result<Option<usize>>,
    ) -> Result<Step> {
        if !self.started {
            let Some(sent) = first()? else {
                return Ok(Step::Blocked);
            };
            self.started = true;
            self.offset = sent;
        }
        while self.offset < buf.len() {
            let Some(sent) = middle(self.offset, &mut self.taken)? else {
                return Ok(Step::Blocked);
            };
            self.offset += sent;
        }
        Ok(Step::Done)
    }
}

/// Posts the fragment of `buf` that begins at `offset`, by the lane for messages or one that shares
/// fragments with it: the one that is done with it first. The first fragment of a message, which
/// has its place among others, never goes here. `taken`: bytes that each rail has taken. Lanes far
/// faster than that for messages wait for it ([`AHEAD`]).
pub fn send_middle(
    ep: &Endpoint,
    id: u8,
    identity: Identity,
    buf: &SendBuf,
    offset: usize,
    taken: &mut SmallVec<[usize; 2]>,
) -> Result<Option<usize>> {
    let config = ep.config();
    let header = Middle {
        identity,
        offset: offset as u64,
    };
    let by = |lane: &dyn Ep, bcopy_max: usize| {
        let room = bcopy_max.saturating_sub(Middle::LEN);
        let len = piece_len(buf.len() - offset, room);
        let encode = |w: &mut Writer<'_>| header.encode(w);
        send_piece_by(lane, id, Middle::LEN, encode, buf, offset, len)
    };
    if config.eager_rails.is_empty() {
        return by(ep.am_lane(), config.bcopy_max);
    }
    let rails = &config.eager_rails;
    taken.resize(rails.len(), 0);
    let is_own = |rail: &AmRail| rail.index == config.lanes.am;
    let others = rails.iter().zip(&*taken).filter(|(rail, _)| !is_own(rail));
    let others: usize = others.map(|(_, taken)| *taken).sum();
    for index in AmRail::order(rails, taken, |rail| rail.bcopy_max) {
        let rail = rails.get(index);
        let lane = rail.and_then(|rail| ep.lane_at(rail.index));
        let (Some(rail), Some(lane)) = (rail, lane) else {
            continue;
        };
        if !is_own(rail) && !may_go_ahead(offset, others, rail.bcopy_max) {
            continue;
        }
        if let Some(n) = by(lane, rail.bcopy_max)? {
            if let Some(taken) = taken.get_mut(index) {
                *taken += n;
            }
            return Ok(Some(n));
        }
    }
    if rails.iter().any(is_own) {
        return Ok(None);
    }
    by(ep.am_lane(), config.bcopy_max)
}

/// Whether a piece of up to `room` bytes may go by another lane than the message's own, when lanes have
/// taken `offset` bytes, others than its own `others` of these.
fn may_go_ahead(offset: usize, others: usize, room: usize) -> bool {
    others.saturating_add(room) <= offset.saturating_sub(others).saturating_mul(AHEAD)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_keep_within_reach_of_the_messages_own() {
        const ROOM: usize = 8192;
        // Nothing of the message is in its own lane.
        assert!(!may_go_ahead(0, 0, ROOM));
        // Own lane full since the first fragment.
        let mut others = 0;
        while may_go_ahead(ROOM + others, others, ROOM) {
            others += ROOM;
        }
        assert_eq!(others, AHEAD * ROOM);
        // Shares of 16 lanes that are alike.
        assert!(may_go_ahead(16 * ROOM, 15 * ROOM, ROOM));
        assert!(!may_go_ahead(usize::MAX, usize::MAX - 1, ROOM));
    }
}
