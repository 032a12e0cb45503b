//! Which interfaces an endpoint uses.

use core::cmp::Ordering;
use core::fmt::Write;

use bitflags::bitflags;
use smallvec::SmallVec;

use crate::ucp::address::{TlAddress, TlId};
use crate::uct::{IfaceAttr, IfaceCaps};

use super::cost;

/// Index into [`Lanes::all`]. It is this side's own: the peer numbers its lanes by itself.
pub type LaneIdx = u8;

/// Most lanes of an endpoint.
pub const MAX_LANES: usize = 16;

bitflags! {
    /// What a lane is used for.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct LaneUse: u8 {
        /// Active messages: all eager traffic and control.
        const AM = 1 << 0;
        /// Active messages of large transfers, beside the first.
        const AM_BW = 1 << 1;
        /// Bulk reads from or writes to the peer's memory.
        const RMA_BW = 1 << 2;
        /// Asked for the peer's life.
        const KEEPALIVE = 1 << 3;
    }
}

/// An interface of this worker, as selection sees it.
#[derive(Clone, Copy, Debug)]
pub struct LocalTl<'a> {
    /// Index of the resource in the context.
    pub rsc_index: u8,
    pub md_index: u8,
    pub tl_name: &'a str,
    pub dev_name: &'a str,
    /// Only for connecting and auxiliary messages, because the user said so (`tl:aux`).
    pub aux: bool,
    /// It only leads to this host.
    pub near: bool,
    /// Its own address, as peers get it.
    pub device_addr: &'a [u8],
    pub attr: &'a IfaceAttr,
}

/// One lane: from a local interface to a remote one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LaneSpec {
    /// Resource of this context.
    pub rsc_index: u8,
    /// Index into the list of local interfaces that was given to [`select`].
    pub local: u8,
    /// Index into the peer's address list.
    pub remote: u8,
    /// Memory domains here and there.
    pub md_index: u8,
    pub dst_md_index: u8,
    /// Number of the lane among those of [`LaneUse::RMA_BW`], where it is one.
    pub rma_bw_index: u8,
    pub uses: LaneUse,
}

/// The lanes of an endpoint. Equal for all endpoints that are alike, so it can be a key.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Lanes {
    pub all: SmallVec<[LaneSpec; 4]>,
    /// Eager messages and control.
    pub am: LaneIdx,
    /// Active messages of large transfers, best first; the first is `am`.
    pub am_bw: SmallVec<[LaneIdx; 4]>,
    /// The lane that reads the peer's memory fastest.
    pub rndv_get: Option<LaneIdx>,
    /// The lane that writes the peer's memory fastest.
    pub rndv_put: Option<LaneIdx>,
    /// The lane that reads and writes the peer's device memory by keys of its own.
    pub device: Option<LaneIdx>,
    /// The lane asked for the peer's life, with error handling.
    pub keepalive: Option<LaneIdx>,
    /// Messages are numbered and survive the loss of any of `am_bw`; nothing else is used.
    pub numbered: bool,
    /// They lead back to the worker itself.
    pub own: bool,
}

/// What the endpoint must be able to do.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Requirements {
    /// Peer failures must be reported (error modes PEER and FAILOVER).
    pub err_handling: bool,
    /// The worker sleeps on its descriptor, so the active message lane must be able to wake it.
    pub wakeup: bool,
    /// Processes of the host that share its devices (`UCX_NUM_PPN`).
    pub ppn: usize,
    /// Most lanes for large transfers by active messages (`UCX_MAX_RNDV_RAILS`).
    pub max_am_rails: usize,
    /// Inside a host, too: over shared memory and the network at once, or several ways to itself.
    /// Only a user who asks for it has more from that.
    pub spread_near: bool,
    /// A lane this many times slower than the fastest shares nothing with it; `None`: any does.
    pub lane_ratio: Option<f64>,
    /// Lanes replace each other: all that there are, slow ones too, and none that isn't for active
    /// messages.
    pub failover: bool,
}

impl Default for Requirements {
    fn default() -> Self {
        Requirements {
            err_handling: false,
            wakeup: false,
            ppn: 1,
            max_am_rails: 1,
            spread_near: false,
            lane_ratio: Some(4.0),
            failover: false,
        }
    }
}

/// No lane for active messages could be found. The text is the log line, with one reason per
/// interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unreachable(pub String);

/// Chooses the lanes to a peer.
///
/// `reachable(l, r)` is the answer of `local[l]`'s interface about the address `remote[r]`; it is
/// asked only for transports of the same name, and once for each pair.
///
/// # Errors
/// [`Unreachable`] when no transport can carry active messages.
pub fn select(
    peer_name: &str,
    local: &[LocalTl<'_>],
    remote: &[TlAddress<'_>],
    reachable: &mut dyn FnMut(usize, usize) -> Result<(), String>,
    requirements: &Requirements,
) -> Result<Lanes, Unreachable> {
    let (pairs, refusals) = pair_up(local, remote, reachable);
    let mut lanes = Builder {
        local,
        remote,
        all: SmallVec::new(),
    };

    let mut am = rank(&pairs, |pair| am_score(pair, local, remote, requirements));
    let Some(best) = am.first().copied() else {
        return Err(unreachable_text(
            peer_name,
            local,
            remote,
            &pairs,
            &refusals,
            requirements,
        ));
    };
    let am_lane = lanes.add(best, LaneUse::AM);

    // A lane whose puts the peer's process carries out is only worth using where it exists anyway.
    let mut writers = pairs.clone();
    writers.retain(|pair| {
        let caps = at(local, pair.local).map(|tl| tl.attr.caps);
        let keyed = caps.is_some_and(|caps| caps.contains(IfaceCaps::PUT_KEYED));
        !keyed || *pair == best
    });
    let device = best_device(&pairs, local, remote);
    let rma = |pairs: &[Pair], cap| {
        let wanted = !requirements.failover;
        wanted.then(|| best_rma(pairs, local, remote, cap, requirements))?
    };
    let get = rma(&pairs, IfaceCaps::GET_ZCOPY);
    let put = rma(&writers, IfaceCaps::PUT_ZCOPY);
    let device = device.filter(|_| !requirements.failover);
    let others = [get, put, device].into_iter().flatten();
    let room = MAX_LANES - others.filter(|pair| *pair != best).count();
    let am_bw = add_rails(&mut lanes, &mut am, requirements, room);
    let rndv_get = get.map(|pair| lanes.add(pair, LaneUse::RMA_BW));
    let rndv_put = put.map(|pair| lanes.add(pair, LaneUse::RMA_BW));
    let device = device.map(|pair| lanes.add(pair, LaneUse::RMA_BW));
    let keepalive = requirements
        .err_handling
        .then(|| lanes.add(best, LaneUse::KEEPALIVE));

    Ok(Lanes {
        all: lanes.finish(),
        am: am_lane,
        am_bw,
        rndv_get,
        rndv_put,
        device,
        keepalive,
        numbered: requirements.failover,
        own: false,
    })
}

/// A local and a remote interface that can talk, by index.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Pair {
    pub local: u8,
    pub remote: u8,
}

/// Why an interface can't be used, by local index; `None`: the peer doesn't have it.
pub(super) type Refusals = Vec<Option<String>>;

pub(super) fn pair_up(
    local: &[LocalTl<'_>],
    remote: &[TlAddress<'_>],
    reachable: &mut dyn FnMut(usize, usize) -> Result<(), String>,
) -> (SmallVec<[Pair; 16]>, Refusals) {
    let mut pairs = SmallVec::new();
    let mut refusals = vec![None; local.len()];
    for (l, mine) in local.iter().enumerate().take(usize::from(u8::MAX)) {
        let id = TlId::of(mine.tl_name);
        for (r, theirs) in remote.iter().enumerate().take(usize::from(u8::MAX)) {
            if theirs.tl != id {
                continue;
            }
            match reachable(l, r) {
                Ok(()) => pairs.push(Pair {
                    local: l as u8,
                    remote: r as u8,
                }),
                Err(reason) => {
                    refusals[l].get_or_insert(reason);
                }
            }
        }
    }
    (pairs, refusals)
}

/// The pairs that `score` accepts, best first; in the order of the resources among equals.
pub(super) fn rank(
    pairs: &[Pair],
    mut score: impl FnMut(Pair) -> Option<Score>,
) -> SmallVec<[Pair; 16]> {
    let mut scored: SmallVec<[(Score, Pair); 16]> = pairs
        .iter()
        .filter_map(|pair| Some((score(*pair)?, *pair)))
        .collect();
    scored.sort_by(|a, b| b.0.compare(&a.0));
    scored.into_iter().map(|(_, pair)| pair).collect()
}

/// The higher value wins; among equals the bandwidth, then the priority.
#[derive(Clone, Copy, Debug)]
pub(super) struct Score {
    value: f64,
    priority: u16,
    bandwidth: f64,
}

impl Score {
    fn of(value: f64, pair: Pair, local: &[LocalTl<'_>], remote: &[TlAddress<'_>]) -> Option<Self> {
        let (mine, theirs) = (
            &at(local, pair.local)?.attr.perf,
            &at(remote, pair.remote)?.perf,
        );
        // Rounded to what the wire form keeps, so that equal transports stay equal and the sort
        // has a strict order.
        let keep = |value: f64| crate::ucp::address::rounded_cost(value);
        let bandwidth = cost::bandwidth(mine, 1).min(cost::bandwidth(theirs, 1));
        let priority = u16::from(mine.priority) + u16::from(theirs.priority);
        Some(Score {
            value: keep(value),
            priority,
            bandwidth: keep(bandwidth),
        })
    }

    fn compare(&self, other: &Score) -> Ordering {
        self.value
            .total_cmp(&other.value)
            .then_with(|| self.bandwidth.total_cmp(&other.bandwidth))
            .then(self.priority.cmp(&other.priority))
    }
}

pub(super) fn at<T>(list: &[T], index: u8) -> Option<&T> {
    list.get(usize::from(index))
}

/// What is missing for the active message lane, or nothing.
pub(super) fn am_missing(
    mine: &LocalTl<'_>,
    caps: IfaceCaps,
    need: &Requirements,
) -> Option<&'static str> {
    if mine.aux {
        return Some("auxiliary only");
    }
    let caps = mine.attr.caps & caps;
    if !caps.contains(IfaceCaps::AM_BCOPY) {
        return Some("no active messages");
    }
    if need.err_handling && !caps.contains(IfaceCaps::ERR_PEER) {
        return Some("no peer failure handling");
    }
    if need.wakeup && !mine.attr.caps.contains(IfaceCaps::EVENT_FD) {
        return Some("no wakeup");
    }
    None
}

/// Shortest time of a small message, both sides' costs counted.
pub(super) fn am_score(
    pair: Pair,
    local: &[LocalTl<'_>],
    remote: &[TlAddress<'_>],
    need: &Requirements,
) -> Option<Score> {
    let (mine, theirs) = (at(local, pair.local)?, at(remote, pair.remote)?);
    if am_missing(mine, theirs.caps, need).is_some() {
        return None;
    }
    let time = cost::message_time(&mine.attr.perf, &theirs.perf);
    Score::of(1e-3 / time.max(1e-12), pair, local, remote)
}

/// Highest bandwidth among what can read or write the peer's memory, at a size where the fixed
/// costs matter little.
fn best_rma(
    pairs: &[Pair],
    local: &[LocalTl<'_>],
    remote: &[TlAddress<'_>],
    cap: IfaceCaps,
    need: &Requirements,
) -> Option<Pair> {
    const SIZE: f64 = 256.0 * 1024.0;
    let ranked = rank(pairs, |pair| {
        let (mine, theirs) = (at(local, pair.local)?, at(remote, pair.remote)?);
        let caps = mine.attr.caps;
        if mine.aux || !caps.contains(cap) || !theirs.caps.contains(cap) {
            return None;
        }
        if caps.contains(IfaceCaps::DEVICE_ONLY) {
            return None;
        }
        if need.err_handling && !mine.attr.caps.contains(IfaceCaps::ERR_PEER) {
            return None;
        }
        let (ours, other) = (&mine.attr.perf, &theirs.perf);
        let bandwidth = cost::bandwidth(ours, need.ppn).min(cost::bandwidth(other, need.ppn));
        let time = ours.latency + ours.overhead + SIZE / bandwidth.max(1.0);
        Score::of(SIZE / time.max(1e-12), pair, local, remote)
    });
    ranked.first().copied()
}

/// Highest bandwidth among what is for device memory.
fn best_device(pairs: &[Pair], local: &[LocalTl<'_>], remote: &[TlAddress<'_>]) -> Option<Pair> {
    let ranked = rank(pairs, |pair| {
        let mine = at(local, pair.local)?;
        let fits = !mine.aux && mine.attr.caps.contains(IfaceCaps::DEVICE_ONLY);
        let bandwidth = cost::bandwidth(&mine.attr.perf, 1);
        fits.then(|| Score::of(bandwidth, pair, local, remote))?
    });
    ranked.first().copied()
}

/// Whether a way stays inside the host: it is memory, or leads to an address of our own.
fn is_near(pair: Pair, local: &[LocalTl<'_>], remote: &[TlAddress<'_>]) -> bool {
    let (Some(mine), Some(theirs)) = (at(local, pair.local), at(remote, pair.remote)) else {
        return false;
    };
    mine.near
        || local
            .iter()
            .any(|tl| !tl.near && tl.device_addr == theirs.device_addr)
}

/// Lanes for large transfers by active messages: the first, and others that add to it because
/// they use another device, none of them much slower than the first. `room`: most lanes.
fn add_rails(
    lanes: &mut Builder<'_, '_>,
    ranked: &mut SmallVec<[Pair; 16]>,
    need: &Requirements,
    room: usize,
) -> SmallVec<[LaneIdx; 4]> {
    let (local, remote) = (lanes.local, lanes.remote);
    let bandwidth = |pair: &Pair| {
        let perf = at(local, pair.local).map(|tl| tl.attr.perf);
        perf.map_or(0.0, |perf| cost::bandwidth(&perf, need.ppn))
    };
    let mut rails: SmallVec<[LaneIdx; 4]> = SmallVec::new();
    let mut used: SmallVec<[(u8, u8); 4]> = SmallVec::new();
    let fastest = ranked.first().map_or(0.0, bandwidth);
    let enough = need
        .lane_ratio
        .map_or(0.0, |ratio| fastest / ratio.max(1.0));
    let near = ranked
        .first()
        .is_some_and(|pair| is_near(*pair, local, remote));
    for pair in ranked.iter() {
        let most = match need.failover {
            true => room,
            false if near && !need.spread_near => 1,
            false => need.max_am_rails.clamp(1, room),
        };
        if rails.len() >= most {
            break;
        }
        let device = (
            pair.local,
            at(remote, pair.remote).map_or(0, |tl| tl.dev_index),
        );
        let seen = used.iter().any(|(l, d)| *l == device.0 || *d == device.1);
        if seen || (bandwidth(pair) < enough && !need.failover) {
            continue;
        }
        used.push(device);
        rails.push(lanes.add(*pair, LaneUse::AM_BW));
    }
    rails
}

/// Collects lanes; a pair that is used twice stays one lane.
struct Builder<'s, 'a> {
    local: &'s [LocalTl<'a>],
    remote: &'s [TlAddress<'a>],
    all: SmallVec<[LaneSpec; 4]>,
}

impl Builder<'_, '_> {
    fn add(&mut self, pair: Pair, uses: LaneUse) -> LaneIdx {
        let pair_of = |lane: &LaneSpec| (lane.local, lane.remote);
        for (index, lane) in self.all.iter_mut().enumerate() {
            if pair_of(lane) == (pair.local, pair.remote) {
                lane.uses |= uses;
                return index as LaneIdx;
            }
        }
        let mine = at(self.local, pair.local);
        self.all.push(LaneSpec {
            rsc_index: mine.map_or(0, |tl| tl.rsc_index),
            local: pair.local,
            remote: pair.remote,
            md_index: mine.map_or(0, |tl| tl.md_index),
            dst_md_index: at(self.remote, pair.remote).map_or(0, |tl| tl.md_index),
            rma_bw_index: 0,
            uses,
        });
        (self.all.len() - 1) as LaneIdx
    }

    fn finish(mut self) -> SmallVec<[LaneSpec; 4]> {
        let rma = |lane: &&mut LaneSpec| lane.uses.contains(LaneUse::RMA_BW);
        for (lane, index) in self.all.iter_mut().filter(rma).zip(0..) {
            lane.rma_bw_index = index;
        }
        self.all
    }
}

fn unreachable_text(
    peer: &str,
    local: &[LocalTl<'_>],
    remote: &[TlAddress<'_>],
    pairs: &[Pair],
    refusals: &Refusals,
    need: &Requirements,
) -> Unreachable {
    let mut text = format!("no active messages transport to {peer}: ");
    for (index, mine) in local.iter().enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        let _ = write!(text, "{separator}{}/{} - ", mine.tl_name, mine.dev_name);
        let _ = match pairs.iter().find(|pair| usize::from(pair.local) == index) {
            Some(pair) => {
                let caps = at(remote, pair.remote).map_or(IfaceCaps::empty(), |tl| tl.caps);
                text.write_str(am_missing(mine, caps, need).unwrap_or("not selected"))
            }
            None => match refusals.get(index) {
                Some(Some(reason)) if !reason.is_empty() => {
                    write!(text, "Destination is unreachable ({reason})")
                }
                _ => text.write_str("Destination is unreachable"),
            },
        };
    }
    if local.is_empty() {
        text.push_str("no transports are open");
    }
    Unreachable(text)
}
