//! What is printed of a live endpoint and its worker's configurations.

use crate::ucp::ep::Endpoint;
use crate::ucp::ep::config::proto_params;
use crate::ucp::select::{LaneIdx, ProtoParams};
use crate::ucp::worker::Worker;
use crate::uct::IfaceAttr;

use super::{EpInfo, Scope, ep_info};

/// The text of `ucp_ep_print_info`.
pub fn endpoint(ep: &Endpoint) -> String {
    let (worker, lanes) = (ep.worker(), &ep.config().lanes);
    let context = worker.context();
    let attr = |lane: LaneIdx| lane_attr(worker, ep, lane);
    let intra = lanes.all.get(usize::from(lanes.am));
    let intra = intra.is_some_and(|lane| worker.is_intra_node(lane.local));
    let tag = attr(lanes.am).map(|am| ProtoParams {
        rndv_get: lanes.rndv_get.and_then(attr),
        ..proto_params(context, am, intra)
    });
    ep_info(&EpInfo {
        context,
        peer_name: ep.peer_name(),
        lanes,
        cfg_index: worker.config_index(ep.config()),
        scope: Scope::of(context, lanes),
        tag: tag.filter(|_| context.has_feature(crate::ucp::context::Features::TAG)),
    })
}

fn lane_attr<'a>(worker: &'a Worker, ep: &Endpoint, lane: LaneIdx) -> Option<&'a IfaceAttr> {
    let spec = ep.config().lanes.all.get(usize::from(lane))?;
    let open = worker.ifaces().get(usize::from(spec.local))?;
    Some(open.iface.attr())
}
