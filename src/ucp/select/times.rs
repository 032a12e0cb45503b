//! How long a message takes by each protocol, as the cost model has it.

use crate::uct::IfaceCaps;

use super::cost::{Linear, bandwidth};
use super::proto::{ProtoParams, RndvScheme, Threshold, bcopy_limit, rndv_scheme, short_limit};

/// Size from which on the cost model is not asked any more: no message is longer.
const LARGEST: usize = 1 << 46;

/// Estimated time, in seconds, until a message of `size` bytes has arrived.
pub fn message_time(params: &ProtoParams<'_>, size: usize) -> f64 {
    let eager = eager_copied(params, size).min(eager_zcopy(params, size));
    let rndv = rndv_cost(params, rndv_scheme(params)).at(size);
    eager.min(rndv)
}

/// Time until an eager message has been copied out at the peer, the cheaper of short and bcopy.
pub(super) fn eager_copied(params: &ProtoParams<'_>, size: usize) -> f64 {
    let am = params.am;
    let lane = Linear::of_bandwidth(bandwidth(&am.perf, params.ppn));
    let copy = Linear::of_bandwidth(params.memcpy_bw);
    let fixed = am.perf.latency + 2.0 * am.perf.overhead;
    if short_limit(params).is_some_and(|max| size <= max) {
        return fixed + lane.then(copy).at(size);
    }
    let frag = if size <= bcopy_limit(params) {
        am.max_bcopy.max(1)
    } else {
        am.max_bcopy.saturating_sub(params.header_frag).max(1)
    };
    let frags = size.div_ceil(frag).max(1);
    if frags == 1 {
        return fixed + lane.then(copy).then(copy).at(size);
    }
    // Fragments overlap: the slower side sets the pace, the other adds its part of one fragment.
    let post = Linear::new(am.perf.overhead, 0.0).then(lane).then(copy);
    let receive = Linear::new(am.perf.overhead, 0.0).then(copy);
    let (post, receive) = (post.at(frag), receive.at(frag));
    let pace = post.max(receive) * (size as f64 / frag as f64);
    am.perf.latency + pace + post.min(receive)
}

/// Longest eager message by zcopy: a receiver that has no place for it yet gathers all of it
/// before it is copied.
pub(super) const EAGER_ZCOPY_MAX: usize = 128 << 10;

pub(super) fn eager_zcopy(params: &ProtoParams<'_>, size: usize) -> f64 {
    let am = params.am;
    let usable = am.caps.contains(IfaceCaps::AM_ZCOPY)
        && am.max_zcopy_header >= params.header_single
        && params.zcopy_thresh != Threshold::Inf;
    if !usable || size > am.max_zcopy.min(EAGER_ZCOPY_MAX) {
        return f64::INFINITY;
    }
    let lane = Linear::of_bandwidth(bandwidth(&am.perf, params.ppn));
    let copy = Linear::of_bandwidth(params.memcpy_bw);
    let fixed = am.perf.latency + 2.0 * am.perf.overhead + ZCOPY_OVERHEAD;
    fixed + lane.then(copy).at(size)
}

/// Bookkeeping of an operation that completes later: a request, an I/O vector, a completion.
const ZCOPY_OVERHEAD: f64 = 150e-9;

/// Time of a rendezvous, from its first message to the data's arrival.
pub(super) fn rndv_cost(params: &ProtoParams<'_>, scheme: RndvScheme) -> Linear {
    let am = &params.am.perf;
    let message = Linear::new(am.latency + 2.0 * am.overhead, 0.0);
    let lane = match scheme {
        RndvScheme::Get | RndvScheme::GetPpln => params.rndv_get.map(|attr| attr.perf),
        RndvScheme::Put | RndvScheme::PutPpln => params.rndv_put.map(|attr| attr.perf),
        RndvScheme::Am => None,
        RndvScheme::RkeyPtr => {
            let copy = Linear::of_bandwidth(params.memcpy_bw);
            return message.then(message).then(copy);
        }
    };
    let Some(lane) = lane else {
        // The request, the answer, then fragments straight into the receiver's buffer.
        let bytes = Linear::of_bandwidth(bandwidth(am, params.ppn));
        let copy = match params.am.caps.contains(IfaceCaps::AM_ZCOPY) {
            true => Linear::default(),
            false => Linear::of_bandwidth(params.memcpy_bw),
        };
        let fragment = match params.am.caps.contains(IfaceCaps::AM_ZCOPY) {
            true => params.am.max_zcopy,
            false => params.am.max_bcopy,
        };
        let post = Linear::new(0.0, am.overhead / fragment.max(1) as f64);
        return message
            .then(message)
            .then(message)
            .then(post)
            .then(bytes)
            .then(copy);
    };
    let transfer = Linear::of_bandwidth(bandwidth(&lane, params.ppn));
    let fixed = Linear::new(lane.latency + lane.overhead, 0.0);
    let read = message.then(message).then(fixed).then(transfer);
    let copy = Linear::of_bandwidth(params.memcpy_bw);
    match scheme {
        // The receiver asks, and is told of the end.
        RndvScheme::Put => read.then(message),
        RndvScheme::GetPpln => read.then(copy),
        RndvScheme::PutPpln => read.then(message).then(copy),
        _ => read,
    }
}

/// The smallest size at which `new` is cheaper than `old`: the first win on a grid of powers of
/// two, refined by bisection.
pub(super) fn crossover(old: &dyn Fn(usize) -> f64, new: &dyn Fn(usize) -> f64) -> Option<usize> {
    let wins = |size: usize| new(size) < old(size);
    if wins(0) {
        return Some(0);
    }
    let mut hit = 1;
    while !wins(hit) {
        hit = hit.checked_mul(2).filter(|next| *next <= LARGEST)?;
    }
    let (mut low, mut high) = (hit / 2, hit);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if wins(middle) {
            high = middle
        } else {
            low = middle
        }
    }
    Some(high)
}
