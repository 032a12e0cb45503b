//! The lanes that large transfers may use, and which of them are still in use.

use std::rc::Rc;

use smallvec::SmallVec;

use super::config::ZcopyLimits;
use super::{Endpoint, ErrorMode};
use crate::ucp::select::{LaneIdx, cost};
use crate::ucp::wire::rndv::PutTo;
use crate::ucp::worker::tally::up;
use crate::ucs::status::Error;
use crate::uct::{self, IfaceAttr, IfaceCaps};

/// What a lane beside that of messages is opened with: the endpoint's token, and which lane.
pub(super) fn lane_token(token: u64, lane: LaneIdx) -> u64 {
    token | u64::from(lane + 1) << 56
}

/// The endpoint's token, and which lane beside that of messages it is.
pub(in crate::ucp) fn split_token(token: u64) -> (u64, Option<LaneIdx>) {
    let lane = (token >> 56) as LaneIdx;
    (token & (u64::MAX >> 8), lane.checked_sub(1))
}

/// What a lane that shares messages with others is like.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AmRail {
    pub index: LaneIdx,
    pub zcopy: Option<ZcopyLimits>,
    pub bcopy_max: usize,
    /// Its part of the bandwidth of all.
    pub share: f64,
}

impl AmRail {
    /// `lanes`: index, attributes and bytes per second of each.
    pub fn all<'a>(
        lanes: impl Iterator<Item = (LaneIdx, &'a IfaceAttr, f64)> + Clone,
    ) -> SmallVec<[AmRail; 1]> {
        let sum: f64 = lanes.clone().map(|(_, _, bandwidth)| bandwidth).sum();
        let rail = |(index, attr, bandwidth): (LaneIdx, &IfaceAttr, f64)| AmRail {
            index,
            zcopy: ZcopyLimits::of(attr),
            bcopy_max: attr.max_bcopy,
            share: bandwidth / sum.max(1.0),
        };
        lanes.map(rail).collect()
    }

    /// Where the next piece goes: rails by when each would be done with it and with what it has
    /// `taken` already. `piece`: how long the piece would be.
    pub fn order(
        rails: &[AmRail],
        taken: &[usize],
        piece: impl Fn(&AmRail) -> usize,
    ) -> SmallVec<[usize; 4]> {
        let end = |i: usize| {
            let rail = rails.get(i)?;
            let bytes = taken.get(i).copied().unwrap_or(0) + piece(rail);
            Some(bytes as f64 / rail.share.max(1e-9))
        };
        first_done(rails.len(), end)
    }
}

/// Numbers below `count`, by when each is done; `None` is never.
pub fn first_done(count: usize, end: impl Fn(usize) -> Option<f64>) -> SmallVec<[usize; 4]> {
    let mut order: SmallVec<[usize; 4]> = (0..count).collect();
    let end = |i: &usize| end(*i).unwrap_or(f64::INFINITY);
    order.sort_by(|a, b| end(a).total_cmp(&end(b)));
    order
}

/// What a lane that writes the peer's memory is like.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RailInfo {
    pub index: LaneIdx,
    /// The peer's process writes, if the key allows it; otherwise the kernel does.
    pub keyed: bool,
    /// A message that follows a put that has completed is not delivered before its bytes.
    pub ordered: bool,
    pub max_iov: usize,
    /// Most bytes of a put.
    pub max_len: usize,
    /// Bytes per second.
    pub bandwidth: f64,
}

impl RailInfo {
    /// `am`: the lane of messages.
    pub fn new(index: LaneIdx, attr: &IfaceAttr, am: LaneIdx) -> RailInfo {
        let keyed = attr.caps.contains(IfaceCaps::PUT_KEYED);
        RailInfo {
            index,
            keyed,
            // The kernel has written the bytes when the put completes. What a process of the peer
            // writes is in order with what comes over the same lane.
            ordered: !keyed || index == am,
            max_iov: attr.max_iov.max(1),
            max_len: attr.max_rma.max(1),
            bandwidth: cost::bandwidth(&attr.perf, 1),
        }
    }

    /// Lanes that replace each other write by messages, which complete when they have arrived.
    pub fn numbered(index: LaneIdx, attr: &IfaceAttr) -> Option<RailInfo> {
        /// Bytes of one message, so that rails get their share and little is sent twice.
        const LONGEST: usize = 1 << 20;
        let can = attr.caps.contains(IfaceCaps::AM_ZCOPY) && attr.max_zcopy_header >= PutTo::LEN;
        can.then(|| RailInfo {
            index,
            keyed: true,
            ordered: true,
            max_iov: attr.max_iov.max(1),
            max_len: attr.max_zcopy.clamp(1, LONGEST),
            bandwidth: cost::bandwidth(&attr.perf, 1),
        })
    }
}

/// Such a lane of an endpoint.
#[derive(Clone)]
pub struct Rail {
    pub lane: Rc<dyn uct::Ep>,
    pub info: RailInfo,
}

impl core::ops::Deref for Rail {
    type Target = RailInfo;

    fn deref(&self) -> &RailInfo {
        &self.info
    }
}

impl Endpoint {
    /// The lanes that write the peer's memory, best first, and are in use.
    pub fn put_rails(&self) -> SmallVec<[Rail; 1]> {
        let rail = |info: &RailInfo| {
            let lane = self.lane(info.index)?;
            Some(Rail { lane, info: *info })
        };
        let alive = |info: &&RailInfo| self.is_alive(info.index);
        let rails = self.config().put_rails.iter();
        rails.filter(alive).filter_map(rail).collect()
    }

    /// The one of them that a transfer uses, if it uses no more.
    pub fn only_put_rail(&self) -> Option<(&RailInfo, &dyn uct::Ep)> {
        let config = self.config();
        let mut rails = config.put_rails.iter();
        let info = rails.find(|info| self.is_alive(info.index))?;
        let only = config.rails <= 1 || rails.all(|info| !self.is_alive(info.index));
        Some((info, self.lane_at(info.index)?)).filter(|_| only)
    }

    pub fn has_put_rail(&self) -> bool {
        let mut rails = self.config().put_rails.iter();
        rails.any(|info| self.is_alive(info.index))
    }

    /// Whether the lane is in use.
    pub fn is_alive(&self, lane: LaneIdx) -> bool {
        self.lost.get() & 1 << lane == 0
    }

    /// Takes a lane out of use. Returns how many are left.
    pub fn lose_lane(&self, lane: LaneIdx) -> usize {
        if self.is_alive(lane) {
            up(&self.worker.tally.lost);
        }
        self.lost.set(self.lost.get() | 1 << lane);
        let all = 0..self.config().lanes.all.len();
        all.filter(|lane| self.is_alive(*lane as LaneIdx)).count()
    }

    /// The peer writes to no memory of ours any more: it has said so, or is dead.
    pub fn peer_is_still(&self) -> bool {
        // A lane that reaches into the peer's process knows whether there still is one.
        let direct = self.config().put_rails.iter().filter(|info| !info.keyed);
        let mut lanes = direct.filter_map(|info| self.lane_at(info.index));
        self.peer_stopped.get() || lanes.any(|lane| lane.check().is_err())
    }

    /// A lane beside that of messages has failed. With another left to go on by, it is only taken
    /// out of use.
    pub(in crate::ucp) fn lane_failed(self: &Rc<Self>, lane: LaneIdx, error: Error) {
        if self.error_mode() != ErrorMode::Failover || lane == self.config().lanes.am {
            return self.fail_with_peer(error);
        }
        if self.is_alive(lane) {
            self.lose_lane(lane);
            crate::ucs_diag!("{}: lane {lane} is lost: {error}", self.peer_name());
        }
    }

    pub(in crate::ucp) fn set_peer_stopped(&self, stopped: bool) {
        self.peer_stopped.set(stopped);
    }
}
