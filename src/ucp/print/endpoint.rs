//! What is printed of a live endpoint and its worker's configurations.

use crate::ucp::ep::Endpoint;

use super::{EpInfo, Scope, ep_info};

/// The text of `ucp_ep_print_info`.
pub fn endpoint(ep: &Endpoint) -> String {
    let (worker, lanes) = (ep.worker(), &ep.config().lanes);
    let context = worker.context();
    ep_info(&EpInfo {
        context,
        peer_name: ep.given_peer_name(),
        lanes,
        cfg_index: worker.config_index(ep.config()),
        scope: Scope::of(context, lanes),
        protocols: ep.proto_params(),
        config: Some(ep.config()),
    })
}
