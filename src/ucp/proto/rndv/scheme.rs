//! Which protocol moves the payload of a rendezvous: the receiver's decision.

use crate::ucp::dt::RecvBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::select::RndvScheme;
use crate::ucp::wire::rndv::Rts;

/// The scheme that the user forces (`UCX_RNDV_SCHEME`), or the one that the cost model prefers; if
/// that can't serve these two buffers, active messages.
pub fn choose(ep: &Endpoint, buf: &RecvBuf, rts: &Rts, is_tag: bool) -> RndvScheme {
    if super::device::reads(ep, buf, rts) {
        let staged = super::device::stages(ep, buf, rts, is_tag);
        let through_host = staged.then(|| through_host(ep, buf, rts)).flatten();
        return through_host.unwrap_or(RndvScheme::Get);
    }
    if super::device::target(ep, buf, rts).is_some() {
        let staged = super::device::stages(ep, buf, rts, is_tag);
        let through_host = staged.then(|| through_host(ep, buf, rts)).flatten();
        return through_host.unwrap_or(RndvScheme::Put);
    }
    let rndv = &ep.config().rndv;
    let wanted = rndv.forced.unwrap_or(rndv.best);
    if is_possible(wanted, ep, buf, rts) {
        return wanted;
    }
    if wanted == RndvScheme::Get
        && let Some(scheme) = through_host(ep, buf, rts)
    {
        return scheme;
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

/// For memory of devices, where lanes move it between host memory at both ends.
fn through_host(ep: &Endpoint, buf: &RecvBuf, rts: &Rts) -> Option<RndvScheme> {
    let to_device = matches!(buf, RecvBuf::Device(_));
    let policy = &ep.config().rndv.device;
    let allowed = match rts.staged && to_device {
        true => policy.between_devices,
        false => policy.in_host,
    };
    if !allowed {
        return None;
    }
    let ways: &[RndvScheme] = match (rts.staged, to_device) {
        (true, true) => &[RndvScheme::PutPpln],
        (true, false) => &[RndvScheme::Put, RndvScheme::PutPpln],
        (false, true) => &[RndvScheme::GetPpln],
        (false, false) => &[],
    };
    let mut ways = ways.iter().copied();
    ways.find(|way| is_possible(*way, ep, buf, rts))
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
