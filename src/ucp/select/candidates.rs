//! Other ways for active messages, should the chosen one turn out to lead nowhere.

use smallvec::SmallVec;

use super::lanes::{LocalTl, Requirements, am_score, pair_up, rank};
use crate::ucp::address::TlAddress;

/// A local and a remote interface, by index.
pub type Candidate = (u8, u8);

/// The ways to the peer that can stand in for `chosen` without a difference to the protocols above,
/// best first, without it: by the same transport, with the same limits. `reachable` as for
/// [`super::select`].
pub fn alternatives(
    local: &[LocalTl<'_>],
    remote: &[TlAddress<'_>],
    reachable: &mut dyn FnMut(usize, usize) -> Result<(), String>,
    requirements: &Requirements,
    chosen: Candidate,
) -> SmallVec<[Candidate; 4]> {
    let tl = |index: u8| local.get(usize::from(index));
    let Some(wanted) = tl(chosen.0) else {
        return SmallVec::new();
    };
    let alike = |other: &LocalTl<'_>| {
        let (a, b) = (wanted.attr, other.attr);
        wanted.tl_name == other.tl_name
            && a.caps == b.caps
            && a.max_short == b.max_short
            && a.max_bcopy == b.max_bcopy
            && a.max_zcopy == b.max_zcopy
            && a.max_zcopy_header == b.max_zcopy_header
            && a.max_iov == b.max_iov
    };
    let mut only_alike = |l: usize, r: usize| match local.get(l).is_some_and(alike) {
        true => reachable(l, r),
        false => Err(String::new()),
    };
    let (pairs, _) = pair_up(local, remote, &mut only_alike);
    rank(&pairs, |pair| am_score(pair, local, remote, requirements))
        .into_iter()
        .map(|pair| (pair.local, pair.remote))
        .filter(|pair| *pair != chosen)
        .collect()
}
