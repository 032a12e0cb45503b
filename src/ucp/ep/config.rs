//! What endpoints with the same lanes have in common: limits and thresholds, worked out once and
//! shared.

use core::cell::Cell;

use smallvec::SmallVec;

use super::{AmRail, RailInfo};
use crate::ucp::context::Context;
use crate::ucp::select::proto::Threshold;
use crate::ucp::select::{
    DevicePolicy, LaneIdx, Lanes, ProtoParams, RndvScheme, SendClass, TagThresholds, put_threshold,
    rndv_best, tag_thresholds,
};
use crate::ucs::config::parse_size;
use crate::uct::{IfaceAttr, IfaceCaps};

/// Zero-copy limits of the active message lane.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ZcopyLimits {
    /// Smaller pieces are cheaper to copy.
    pub min: usize,
    pub max: usize,
    pub max_iov: usize,
    /// Longest header in bytes.
    pub max_header: usize,
}

impl ZcopyLimits {
    /// Those of a lane, if it sends from where the bytes are.
    pub fn of(attr: &IfaceAttr) -> Option<ZcopyLimits> {
        let can = attr.caps.contains(IfaceCaps::AM_ZCOPY);
        can.then_some(ZcopyLimits {
            min: 4096,
            max: attr.max_zcopy,
            max_iov: attr.max_iov,
            max_header: attr.max_zcopy_header,
        })
    }
}

/// How the payload of a rendezvous moves.
#[derive(Clone, Debug)]
pub struct RndvChoice {
    /// What the user wants (`UCX_RNDV_SCHEME`).
    pub forced: Option<RndvScheme>,
    /// What the cost model prefers.
    pub best: RndvScheme,
    /// Bytes of a fragment in a staging buffer (`UCX_RNDV_FRAG_SIZE`).
    pub frag: usize,
    /// Bytes copied at a time out of mapped memory (`UCX_RKEY_PTR_SEG_SIZE`).
    pub ptr_step: usize,
    /// Between devices.
    pub device: DevicePolicy,
    /// It was said that the forced scheme is not possible.
    pub told: Cell<bool>,
}

/// Shared by endpoints that are alike.
#[derive(Debug)]
pub struct EpConfig {
    pub lanes: Lanes,
    /// Longest message of the fast path, whatever the request, -1 for none.
    pub fast_max: isize,
    /// Longest payload of an `EAGER_ONLY` by short.
    pub short_max: usize,
    /// Longest payload of an `EAGER_ONLY` by any means.
    pub only_max: usize,
    /// Longest contiguous payload that goes as one `EAGER_ONLY` by a copy, whatever the request.
    pub copy_max: usize,
    /// Longest active message by bcopy.
    pub bcopy_max: usize,
    pub zcopy: Option<ZcopyLimits>,
    pub fetch_max_iov: usize,
    pub put_max_iov: usize,
    /// The lanes of puts in a rendezvous, best first.
    pub put_rails: SmallVec<[RailInfo; 1]>,
    pub rndv: RndvChoice,
    /// Puts from this length on are written by a lane rather than sent.
    pub put_lane_min: usize,
    /// Failures of the peer are noticed.
    pub peer_errors: bool,
    /// Lanes that share the pieces of a large transfer.
    pub rails: usize,
    /// Those of messages, best first, where the endpoint itself chooses among several.
    pub am_rails: SmallVec<[AmRail; 1]>,
    /// Those that share the fragments of an eager message, where there are several.
    pub eager_rails: SmallVec<[AmRail; 1]>,
    /// With failover, where the lanes below choose among themselves: all, best first, with their bytes
    /// per second.
    pub numbered: Box<[(LaneIdx, f64)]>,
    /// How many of those share the fragments of an eager message.
    pub numbered_eager: usize,
    /// Lanes that share a large put, 1 where that takes no more.
    pub rma_rails: usize,
    rndv_thresh: usize,
    rndv_thresh_fast: usize,
    pub thresholds: TagThresholds,
}

impl EpConfig {
    /// `am`: the active message lane; `fetch` and `put`: those that read and write the peer's
    /// memory.
    pub fn new(
        lanes: Lanes,
        am: &IfaceAttr,
        fetch: Option<&IfaceAttr>,
        put: Option<&IfaceAttr>,
        params: &ProtoParams<'_>,
    ) -> EpConfig {
        let normal = tag_thresholds(params, SendClass::Normal);
        let fast = tag_thresholds(params, SendClass::FastCompletion);
        let rndv_thresh = normal.rndv_thresh.min(fast.rndv_thresh);
        let below_rndv = rndv_thresh.checked_sub(1);
        let short_max = normal
            .short_max
            .filter(|_| am.caps.contains(IfaceCaps::AM_SHORT))
            .and_then(|max| Some(max.min(below_rndv?)));
        let zcopy = ZcopyLimits::of(am);
        let only_max = am.max_bcopy.saturating_sub(8);
        let put_rail = lanes.rndv_put.zip(put);
        let put_rails = put_rail.map(|(index, attr)| RailInfo::new(index, attr, lanes.am));
        // One-sided puts take a lane only where the kernel writes.
        let put = put.filter(|attr| !attr.caps.contains(IfaceCaps::PUT_KEYED));
        let zcopy_min = normal.zcopy.map_or(usize::MAX, |(min, _)| min);
        EpConfig {
            lanes,
            fast_max: short_max.map_or(-1, |max| max as isize),
            short_max: short_max.unwrap_or(0),
            only_max,
            copy_max: only_max.min(rndv_thresh.min(zcopy_min).saturating_sub(1)),
            bcopy_max: am.max_bcopy,
            zcopy,
            fetch_max_iov: fetch.map_or(0, |attr| attr.max_iov),
            put_max_iov: put.map_or(0, |attr| attr.max_iov),
            put_rails: put_rails.into_iter().collect(),
            rndv: RndvChoice {
                forced: params.rndv_scheme,
                best: rndv_best(params),
                frag: params.rndv_frag,
                ptr_step: params.rkey_ptr_step,
                device: DevicePolicy::default(),
                told: Cell::new(false),
            },
            put_lane_min: put.map_or(usize::MAX, |attr| put_threshold(params, attr)),
            peer_errors: am.caps.contains(IfaceCaps::ERR_PEER),
            rails: 1,
            am_rails: SmallVec::new(),
            eager_rails: SmallVec::new(),
            numbered: Box::default(),
            numbered_eager: 1,
            rma_rails: 1,
            rndv_thresh: normal.rndv_thresh,
            rndv_thresh_fast: fast.rndv_thresh,
            thresholds: normal,
        }
    }

    /// Of endpoints whose peer is not known: what is posted waits, and messages that are not short
    /// will be announced.
    pub fn unwired() -> EpConfig {
        const ROOM: usize = 8192;
        EpConfig {
            lanes: Lanes::default(),
            fast_max: -1,
            short_max: 0,
            only_max: ROOM,
            copy_max: 0,
            bcopy_max: ROOM,
            zcopy: None,
            fetch_max_iov: 0,
            put_max_iov: 0,
            put_rails: SmallVec::new(),
            rndv: RndvChoice {
                forced: None,
                best: RndvScheme::Am,
                frag: ROOM,
                ptr_step: ROOM,
                device: DevicePolicy::default(),
                told: Cell::new(false),
            },
            put_lane_min: usize::MAX,
            peer_errors: true,
            rails: 1,
            am_rails: SmallVec::new(),
            eager_rails: SmallVec::new(),
            numbered: Box::default(),
            numbered_eager: 1,
            rma_rails: 1,
            rndv_thresh: ROOM,
            rndv_thresh_fast: 256 << 10,
            thresholds: TagThresholds {
                short_max: None,
                rndv_thresh: ROOM,
                rndv_scheme: RndvScheme::Am,
                zcopy: None,
                bcopy_single_max: ROOM,
            },
        }
    }

    /// From this length on by rendezvous.
    pub fn rndv_thresh(&self, fast_completion: bool) -> usize {
        if fast_completion {
            self.rndv_thresh_fast
        } else {
            self.rndv_thresh
        }
    }
}

/// The variables that the choice of protocols obeys. `intra`: the lane stays inside the host.
pub fn proto_params<'a>(context: &Context, am: &'a IfaceAttr, intra: bool) -> ProtoParams<'a> {
    let config = &context.config;
    let key = if intra { "intra" } else { "inter" };
    let threshold = |size: Option<usize>| match size {
        None => Threshold::Auto,
        Some(usize::MAX) => Threshold::Inf,
        Some(bytes) => Threshold::Bytes(bytes),
    };
    let mut params = ProtoParams::new(am);
    params.rndv_thresh = threshold(config.keyed_size("RNDV_THRESH", key));
    params.rndv_send_nbr_thresh = threshold(config.size_auto("RNDV_SEND_NBR_THRESH"));
    params.zcopy_thresh = threshold(config.size_auto("ZCOPY_THRESH"));
    params.rndv_scheme = RndvScheme::of_name(config.choice("RNDV_SCHEME"));
    params.rndv_frag = frag_size(config.list("RNDV_FRAG_SIZE"));
    params.rkey_ptr_step = config.size("RKEY_PTR_SEG_SIZE").max(1);
    params.ppn = context.params.estimated_num_ppn;
    if let Some(bandwidth) = config.bandwidth("BCOPY_BW") {
        params.memcpy_bw = bandwidth;
    }
    params
}

/// That for host memory of a list like `host:512K,cuda:4M`.
fn frag_size(list: Vec<String>) -> usize {
    let host = list.iter().find_map(|entry| entry.strip_prefix("host:"));
    let parsed = host.and_then(parse_size);
    parsed.filter(|size| *size != 0).unwrap_or(512 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ucp::select::tests::shm;

    #[test]
    fn the_fast_path_ends_where_any_request_would_take_a_rendezvous() {
        let am = shm();
        let limits = |normal, fast| {
            let mut params = ProtoParams::new(&am);
            params.rndv_thresh = normal;
            params.rndv_send_nbr_thresh = fast;
            let config = EpConfig::new(Lanes::default(), &am, None, None, &params);
            (config.fast_max, config.copy_max)
        };
        let (auto, bytes) = (Threshold::Auto, Threshold::Bytes);
        assert_eq!(limits(auto, bytes(5)), (4, 4));
        assert_eq!(limits(auto, bytes(0)), (-1, 0));
        assert_eq!(limits(bytes(5), bytes(1000)), (4, 4));
        assert_eq!(limits(auto, bytes(1000)), (100, 999));
    }
}
