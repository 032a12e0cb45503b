//! What the cost model says about an endpoint.

use super::Endpoint;
use super::config::proto_params;
use crate::ucp::select::{LaneIdx, ProtoParams, message_time};
use crate::uct::IfaceAttr;

impl Endpoint {
    /// The inputs of the choice of protocols.
    pub fn proto_params(&self) -> Option<ProtoParams<'_>> {
        let lanes = &self.config().lanes;
        let attr = |lane: LaneIdx| self.lane_attr(lane);
        let local = lanes.all.get(usize::from(lanes.am))?.local;
        let intra = self.worker.is_intra_node(local);
        Some(ProtoParams {
            rndv_get: lanes.rndv_get.and_then(attr),
            rndv_put: lanes.rndv_put.and_then(attr),
            ..proto_params(self.worker.context(), attr(lanes.am)?, intra)
        })
    }

    fn lane_attr(&self, lane: LaneIdx) -> Option<&IfaceAttr> {
        let spec = self.config().lanes.all.get(usize::from(lane))?;
        let open = self.worker.ifaces().get(usize::from(spec.local))?;
        Some(open.iface.attr())
    }

    /// Seconds that a message of `size` bytes is expected to take (`ucp_ep_evaluate_perf`).
    pub fn estimated_time(&self, size: usize) -> f64 {
        self.proto_params()
            .map_or(0.0, |params| message_time(&params, size))
    }
}
