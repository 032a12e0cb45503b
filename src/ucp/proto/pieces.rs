//! The pieces of a payload, each behind a header of its own: from the user's memory where the lane
//! can and it is worth it, else copied.

use smallvec::SmallVec;

use crate::ucp::dt::SendBuf;
use crate::ucp::ep::config::ZcopyLimits;
use crate::ucp::ep::{AmRail, Endpoint};
use crate::ucp::proto::Step;
use crate::ucp::proto::eager::{piece_len, send_piece_by};
use crate::ucp::wire::{Writer, am};
use crate::ucs::status::Result;
use crate::uct::{Ep, Post};

/// Longest zero-copy piece.
const LONGEST: usize = 4 << 20;

/// Pieces that are shared among lanes are not shorter than this.
const SHORTEST: usize = 64 << 10;

/// The longest piece of a payload of `total` bytes, of which each of `rails` lanes gets a share.
fn longest(total: usize, rails: usize) -> usize {
    match rails {
        0 | 1 => LONGEST,
        n => total.div_ceil(n).clamp(SHORTEST, LONGEST),
    }
}

/// The longest piece of a payload of `total` bytes for a lane, by its part of the bandwidth.
fn longest_of(rail: &AmRail, total: usize) -> usize {
    let share = (total as f64 * rail.share).ceil() as usize;
    match rail.zcopy {
        Some(_) => share.clamp(SHORTEST, LONGEST),
        None => rail.bcopy_max,
    }
}

/// What the pieces of a payload have in common. `N`: bytes of a header.
pub struct Payload<'a, const N: usize> {
    pub buf: &'a SendBuf,
    /// Where it ends in the buffer.
    pub end: usize,
    /// Id of the messages.
    pub id: u8,
    /// The operation: the token of what is posted.
    pub op: u64,
}

/// A lane for one piece.
struct Way<'a> {
    lane: &'a dyn Ep,
    zcopy: Option<ZcopyLimits>,
    bcopy_max: usize,
    /// Most bytes of a zero-copy piece.
    longest: usize,
}

/// How far an attempt has come.
#[derive(Default)]
pub struct Pieces {
    offset: usize,
    /// Zero-copy pieces whose completion is to come.
    outstanding: usize,
    /// Bytes that each rail has taken, where there are several.
    taken: SmallVec<[usize; 2]>,
}

impl Pieces {
    /// Begins at `offset`.
    pub fn from(offset: usize) -> Pieces {
        Pieces {
            offset,
            outstanding: 0,
            taken: SmallVec::new(),
        }
    }

    /// Bytes that the lane has taken.
    pub fn sent(&self) -> usize {
        self.offset
    }

    /// Zero-copy pieces whose completion is to come.
    pub fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// A zero-copy piece has left.
    pub fn completed(&mut self) {
        self.outstanding = self.outstanding.saturating_sub(1);
    }

    /// Sends as much as the lane takes; `header` writes that of the piece at an offset.
    pub fn run<const N: usize>(
        &mut self,
        ep: &Endpoint,
        payload: &Payload<'_, N>,
        header: impl Fn(usize, &mut Writer<'_>),
    ) -> Result<Step> {
        while self.offset < payload.end {
            match self.send(ep, payload, &header)? {
                Some(n) => self.offset += n,
                None => return Ok(Step::Blocked),
            }
        }
        Ok(if self.outstanding == 0 {
            Step::Done
        } else {
            Step::Waiting
        })
    }

    /// Posts one piece, and returns the bytes in it.
    fn send<const N: usize>(
        &mut self,
        ep: &Endpoint,
        payload: &Payload<'_, N>,
        header: &impl Fn(usize, &mut Writer<'_>),
    ) -> Result<Option<usize>> {
        let config = ep.config();
        // Pieces of a stream keep their order.
        if config.am_rails.is_empty() || payload.id != am::RNDV_DATA {
            let way = Way {
                lane: ep.am_lane(),
                zcopy: config.zcopy,
                bcopy_max: config.bcopy_max,
                longest: longest(payload.buf.len(), config.rails),
            };
            return self.send_by(&way, payload, header);
        }
        self.taken.resize(config.am_rails.len(), 0);
        let total = payload.buf.len();
        for index in AmRail::order(&config.am_rails, &self.taken, |rail| {
            longest_of(rail, total)
        }) {
            let rail = config.am_rails.get(index);
            let lane = rail.and_then(|rail| ep.lane_at(rail.index));
            let (Some(rail), Some(lane)) = (rail, lane) else {
                continue;
            };
            let way = Way {
                lane,
                zcopy: rail.zcopy,
                bcopy_max: rail.bcopy_max,
                longest: longest_of(rail, total),
            };
            if let Some(n) = self.send_by(&way, payload, header)? {
                if let Some(taken) = self.taken.get_mut(index) {
                    *taken += n;
                }
                return Ok(Some(n));
            }
        }
        Ok(None)
    }

    fn send_by<const N: usize>(
        &mut self,
        way: &Way<'_>,
        payload: &Payload<'_, N>,
        header: &impl Fn(usize, &mut Writer<'_>),
    ) -> Result<Option<usize>> {
        let Payload { buf, end, id, op } = *payload;
        let (at, left) = (self.offset, end.saturating_sub(self.offset));
        let worth_it = |limits: &ZcopyLimits| left >= limits.min && limits.max_header >= N;
        if let Some(limits) = way.zcopy.filter(worth_it)
            && let Some((parts, n)) = buf.pieces(
                at,
                piece_len(left, limits.max.min(way.longest)),
                limits.max_iov,
            )
        {
            let mut head = [0; N];
            header(at, &mut Writer::new(&mut head));
            return Ok(match way.lane.am_zcopy(id, &head, &parts, op)? {
                Post::NoResource => None,
                Post::Done => Some(n),
                Post::Pending => {
                    self.outstanding += 1;
                    Some(n)
                }
            });
        }
        let n = piece_len(left, way.bcopy_max.saturating_sub(N));
        send_piece_by(way.lane, id, N, |w| header(at, w), buf, at, n)
    }
}
