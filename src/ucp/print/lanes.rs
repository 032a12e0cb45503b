//! Lanes as text.

use std::fmt::Write;

use crate::ucp::context::{Context, Features, RscIndex};
use crate::ucp::select::{LaneSpec, LaneUse, Lanes};
use crate::uct::DeviceKind;

/// Where the peer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// The same worker or process.
    SelfLoop,
    /// The same host.
    IntraNode,
    InterNode,
}

impl Scope {
    /// As far as the lanes tell: shared memory means the same host, and so does the loopback
    /// device.
    pub fn of(context: &Context, lanes: &Lanes) -> Scope {
        let on = |lane: &LaneSpec| context.resources.get(usize::from(lane.rsc_index));
        let mut resources = lanes.all.iter().filter_map(on);
        let mut loops = resources.clone();
        if lanes.own || loops.any(|rsc| rsc.kind() == DeviceKind::Loopback) {
            Scope::SelfLoop
        } else if resources.any(|rsc| rsc.kind() == DeviceKind::Shm || rsc.dev_name() == "lo") {
            Scope::IntraNode
        } else {
            Scope::InterNode
        }
    }

    pub fn text(self) -> &'static str {
        match self {
            Scope::SelfLoop => "self",
            Scope::IntraNode => "intra-node",
            Scope::InterNode => "inter-node",
        }
    }
}

/// `tl/device` of a resource.
pub fn resource(context: &Context, index: RscIndex) -> String {
    match context.resources.get(usize::from(index)) {
        Some(rsc) => format!("{}/{}", rsc.tl_name(), rsc.dev_name()),
        None => format!("<resource {index}>"),
    }
}

/// `NAME intra-node cfg#0`: how log lines and tables call an endpoint configuration.
pub fn config_name(context: &Context, scope: Scope, cfg_index: usize) -> String {
    format!("{} {} cfg#{cfg_index}", context.name, scope.text())
}

/// `NAME intra-node cfg#0 tag(sysv/memory cma/memory)`: the line at level info when an endpoint
/// configuration is made.
pub fn used_transports(context: &Context, scope: Scope, cfg_index: usize, lanes: &Lanes) -> String {
    let bulk = LaneUse::AM | LaneUse::AM_BW | LaneUse::RMA_BW;
    let features = [
        (Features::TAG, "tag", bulk),
        (Features::RMA, "rma_am", LaneUse::AM),
        (
            Features::AMO32.union(Features::AMO64),
            "amo_am",
            LaneUse::AM,
        ),
        (Features::AM, "am", bulk),
        (Features::STREAM, "stream", LaneUse::AM),
    ];
    let mut out = config_name(context, scope, cfg_index);
    for (feature, name, uses) in features {
        if context.has_feature(feature) {
            push_group(&mut out, context, lanes, name, uses);
        }
    }
    // It stands apart.
    push_group(&mut out, context, lanes, " ka", LaneUse::KEEPALIVE);
    out
}

fn push_group(out: &mut String, context: &Context, lanes: &Lanes, name: &str, uses: LaneUse) {
    let members: Vec<String> = lanes
        .all
        .iter()
        .filter(|lane| lane.uses.intersects(uses))
        .map(|lane| resource(context, lane.rsc_index))
        .collect();
    if !members.is_empty() {
        let _ = write!(out, " {name}({})", members.join(" "));
    }
}

/// `lane[0]:  3:sysv/memory.0 md[2]           -> md[2]/sysv/sysdev[255] seg 4294967295 am`.
pub fn describe(context: &Context, lanes: &Lanes, index: usize) -> String {
    let Some(lane) = lanes.all.get(index) else {
        return format!("lane[{index}]: <none>");
    };
    let tl = resource(context, lane.rsc_index);
    // The arrow stands in one column as long as the names are not too long.
    let used = tl.len().saturating_sub(1) + usize::from(lane.md_index > 9);
    let width = 20usize.saturating_sub(used).max(1);
    let component = context
        .component_of(lane.md_index)
        .map_or("<unknown>", |cmpt| cmpt.name());
    let mut out = format!(
        "lane[{index}]: {:2}:{tl}.0 md[{}] {:width$}-> md[{}]/{component}/sysdev[255] seg {}",
        lane.rsc_index,
        lane.md_index,
        "",
        lane.dst_md_index,
        u32::MAX,
    );
    push_uses(&mut out, lanes, lane, index);
    out
}

fn push_uses(out: &mut String, lanes: &Lanes, lane: &LaneSpec, index: usize) {
    if lane.uses.contains(LaneUse::RMA_BW) {
        let _ = write!(out, " rma_bw#{}", lane.rma_bw_index);
    }
    if lane.uses.contains(LaneUse::AM) {
        out.push_str(" am");
    }
    // As long as there is one, the first lane is meant anyway.
    if lanes.am_bw.len() > 1 {
        let rail = lanes
            .am_bw
            .iter()
            .position(|lane| usize::from(*lane) == index);
        if let Some(rail) = rail {
            let _ = write!(out, " am_bw#{rail}");
        }
    }
    if lane.uses.contains(LaneUse::KEEPALIVE) {
        out.push_str(" keepalive");
    }
}
