//! Why an endpoint has no lane on an interface.

use crate::ucp::address::TlAddress;
use crate::uct::IfaceCaps;

use super::lanes::{Pair, Refusals, am_missing, at, pair_up};
use super::{Lanes, LocalTl, Requirements, cost};

/// One line for each of `local` that `lanes` doesn't use, `None` for those that it does. The other
/// arguments are those of [`super::select`], which chose the lanes.
pub fn unused(
    lanes: &Lanes,
    local: &[LocalTl<'_>],
    remote: &[TlAddress<'_>],
    reachable: &mut dyn FnMut(usize, usize) -> Result<(), String>,
    requirements: &Requirements,
) -> Vec<Option<String>> {
    let (pairs, refusals) = pair_up(local, remote, reachable);
    let used = |index: usize| {
        lanes
            .all
            .iter()
            .any(|lane| usize::from(lane.local) == index)
    };
    let reason = |index: usize| {
        let Some(pair) = pairs.iter().find(|pair| usize::from(pair.local) == index) else {
            return unreachable(&refusals, index);
        };
        let (messages, bulk) = (
            messages(*pair, lanes, local, remote, requirements),
            bulk(*pair, lanes, local, remote, requirements),
        );
        [messages, bulk]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("; ")
    };
    (0..local.len())
        .map(|index| (!used(index)).then(|| reason(index)))
        .collect()
}

fn unreachable(refusals: &Refusals, index: usize) -> String {
    match refusals.get(index) {
        Some(Some(reason)) if !reason.is_empty() => format!("does not reach the peer: {reason}"),
        Some(Some(_)) => "does not reach the peer".to_owned(),
        _ => "the peer does not have it".to_owned(),
    }
}

/// `tl/device` of the interface that a lane uses.
fn name_of(lanes: &Lanes, lane: u8, local: &[LocalTl<'_>]) -> Option<String> {
    let tl = at(local, lanes.all.get(usize::from(lane))?.local)?;
    Some(format!("{}/{}", tl.tl_name, tl.dev_name))
}

/// Why it doesn't carry messages.
fn messages(
    pair: Pair,
    lanes: &Lanes,
    local: &[LocalTl<'_>],
    remote: &[TlAddress<'_>],
    need: &Requirements,
) -> Option<String> {
    let (mine, theirs) = (at(local, pair.local)?, at(remote, pair.remote)?);
    if let Some(missing) = am_missing(mine, theirs.caps, need) {
        return Some(missing.to_owned());
    }
    let chosen = lanes.all.get(usize::from(lanes.am))?;
    let best = name_of(lanes, lanes.am, local)?;
    let time = |pair: Pair| {
        let (mine, theirs) = (at(local, pair.local)?, at(remote, pair.remote)?);
        Some(cost::message_time(&mine.attr.perf, &theirs.perf) * 1e6)
    };
    let (ours, its) = (
        time(pair)?,
        time(Pair {
            local: chosen.local,
            remote: chosen.remote,
        })?,
    );
    Some(if ours > its * 1.001 {
        format!("{best} is estimated faster ({its:.2} against {ours:.2} us per message)")
    } else {
        format!("{best} is estimated as fast and has precedence ({its:.2} us per message)")
    })
}

/// Why it doesn't read or write the peer's memory.
fn bulk(
    pair: Pair,
    lanes: &Lanes,
    local: &[LocalTl<'_>],
    remote: &[TlAddress<'_>],
    need: &Requirements,
) -> Option<String> {
    let (mine, theirs) = (at(local, pair.local)?, at(remote, pair.remote)?);
    let caps = mine.attr.caps & theirs.caps;
    if !caps.intersects(IfaceCaps::GET_ZCOPY | IfaceCaps::PUT_ZCOPY) || mine.aux {
        return None;
    }
    if need.err_handling && !mine.attr.caps.contains(IfaceCaps::ERR_PEER) {
        return Some("reads and writes of memory: no peer failure handling".to_owned());
    }
    let best = lanes.rndv_get.or(lanes.rndv_put)?;
    let name = name_of(lanes, best, local)?;
    Some(format!("{name} reads or writes memory at least as fast"))
}
