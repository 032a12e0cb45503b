//! Which protocol moves the payload of a rendezvous: the receiver's decision.

use crate::ucp::dt::RecvBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::select::RndvScheme;
use crate::ucp::wire::rndv::Rts;

/// The scheme that the user forces (`UCX_RNDV_SCHEME`), or the one that the cost model prefers; if
/// that can't serve these two buffers, active messages.
pub fn choose(ep: &Endpoint, buf: &RecvBuf, rts: &Rts) -> RndvScheme {
    let rndv = &ep.config().rndv;
    let wanted = rndv.forced.unwrap_or(rndv.best);
    if is_possible(wanted, ep, buf, rts) {
        return wanted;
    }
    // Memory of a device: the lane reads into host memory, from where it is copied.
    let staged = RndvScheme::GetPpln;
    if wanted == RndvScheme::Get
        && matches!(buf, RecvBuf::Device(_))
        && is_possible(staged, ep, buf, rts)
    {
        return staged;
    }
    if rndv.forced.is_some_and(|forced| forced != RndvScheme::Am) && !rndv.told.replace(true) {
        crate::ucs_diag!(
            "{}: UCX_RNDV_SCHEME={} is not possible here, rendezvous goes as active messages",
            ep.peer_name(),
            wanted.name()
        );
    }
    RndvScheme::Am
}

fn is_possible(scheme: RndvScheme, ep: &Endpoint, buf: &RecvBuf, rts: &Rts) -> bool {
    match scheme {
        RndvScheme::Get => rts.address != 0 && buf.is_in_memory() && ep.fetch_lane().is_some(),
        RndvScheme::GetPpln => rts.address != 0 && ep.fetch_lane().is_some(),
        RndvScheme::Put => rts.in_memory && buf.contig().is_some() && ep.has_put_rail(),
        RndvScheme::PutPpln => rts.in_memory && ep.has_put_rail(),
        RndvScheme::RkeyPtr => rts.region.is_some() && rts.address != 0,
        RndvScheme::Am => true,
    }
}
