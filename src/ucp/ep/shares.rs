//! How many lanes share an operation, and which.

use smallvec::SmallVec;

use super::{AmRail, EpConfig, RailInfo};
use crate::ucp::context::Context;
use crate::ucp::select::{Lanes, cost};
use crate::uct::{IfaceAttr, IfaceCaps};

pub(super) fn is_set(context: &Context, name: &str) -> bool {
    context.config.get(name).is_some()
}

/// How much slower than the fastest a lane may be that shares with it. `None`: as much as the user
/// wants, who has said how many are to be used.
pub(super) fn lane_ratio(context: &Context) -> Option<f64> {
    let counts = is_set(context, "MAX_RNDV_RAILS") || is_set(context, "MAX_EAGER_RAILS");
    let ratio = || context.config.double("MULTI_LANE_MAX_RATIO");
    (is_set(context, "MULTI_LANE_MAX_RATIO") || !counts).then(ratio)
}

/// Most lanes that share an operation.
pub(super) struct Most {
    pub rndv: usize,
    pub eager: usize,
    /// Puts; as many as a rendezvous where the user doesn't say.
    pub rma: usize,
}

impl Most {
    pub fn of(context: &Context) -> Most {
        let most = |name: &str| (context.config.uint(name) as usize).max(1);
        let rndv = most("MAX_RNDV_RAILS");
        Most {
            rndv,
            eager: most("MAX_EAGER_RAILS"),
            rma: match is_set(context, "MAX_RMA_RAILS") {
                true => most("MAX_RMA_RAILS"),
                false => rndv,
            },
        }
    }

    pub fn lanes(&self) -> usize {
        self.rndv.max(self.eager).max(self.rma)
    }
}

/// Lanes share large transfers.
pub(super) fn share<'a>(
    config: &mut EpConfig,
    chosen: &Lanes,
    most: &Most,
    attr: impl Fn(u8) -> Option<&'a IfaceAttr>,
) {
    let lanes: SmallVec<[(u8, &IfaceAttr, f64); 4]> = chosen
        .am_bw
        .iter()
        .filter_map(|lane| {
            let attr = attr(*lane)?;
            Some((*lane, attr, cost::bandwidth(&attr.perf, 1)))
        })
        .collect();
    let several = |most: usize| match lanes.iter().take(most).len() {
        0 | 1 => SmallVec::new(),
        n => AmRail::all(lanes.iter().take(n).copied()),
    };
    config.rails = lanes.len().min(most.rndv).max(1);
    config.am_rails = several(most.rndv);
    config.eager_rails = several(most.eager);
    let keyed = |attr: &IfaceAttr| attr.caps.contains(IfaceCaps::PUT_KEYED);
    let rails = lanes.iter().filter(|(_, attr, _)| keyed(attr));
    let rails = rails.map(|(lane, attr, _)| RailInfo::new(*lane, attr, chosen.am));
    config.rma_rails = rails.clone().take(most.rma).count().max(1);
    // What the kernel writes by goes first.
    config.put_rails.retain(|rail| !rail.keyed);
    let room = most
        .rndv
        .max(most.rma)
        .saturating_sub(config.put_rails.len());
    config.put_rails.extend(rails.take(room));
}
