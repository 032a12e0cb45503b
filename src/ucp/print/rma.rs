//! Tables of one-sided and atomic operations on the memory of a kind of remote keys.

use crate::ucp::address::TlId;
use crate::ucp::context::{Context, Features};
use crate::ucp::ep::Endpoint;
use crate::ucp::proto::rma::put::rails_min;
use crate::ucp::rkey::RemoteKey;

use super::table::{Row, Table, parts, reason_line, render};
use super::{Scope, config_name, is_wanted, lanes, wants_tables};

/// Where bytes go by themselves, and why.
struct Way {
    /// From this length on.
    min: usize,
    description: &'static str,
    config: String,
    reason: String,
}

const EMULATION: &str = "software emulation";
const CARRIED_OUT: &str = "the target carries it out, no lane reaches its memory";

/// Prints the tables of this kind of keys on this kind of endpoints, if `UCX_PROTO_INFO` says so
/// and they were not printed before.
pub fn key_info(ep: &Endpoint, key: &RemoteKey) {
    let (worker, context) = (ep.worker(), ep.worker().context());
    let wanted = context.config.text("PROTO_INFO");
    if !wants_tables(wanted) || !ep.is_wired() || !key.memory_type().is_host() {
        return;
    }
    let index = worker.config_index(ep.config());
    let kind = core::ptr::from_ref(key.config()).addr();
    if !worker.shown_keys.borrow_mut().insert((index, kind)) {
        return;
    }
    let name = config_name(context, Scope::of(context, &ep.config().lanes), index);
    for table in tables(ep, key, &name) {
        if is_wanted(wanted, &table.title) {
            let lines = table.text.lines().chain(table.reasons.lines());
            lines.for_each(crate::ucs::log::print_compact);
        }
    }
}

fn tables(ep: &Endpoint, key: &RemoteKey, name: &str) -> Vec<Table> {
    let context = ep.worker().context();
    let mapped = mapped_by(context, key);
    let mut out = Vec::new();
    if context.has_feature(Features::RMA) {
        let title = "remote memory write by ucp_put* from host memory to host";
        let ways = put(ep, key, mapped.as_deref());
        out.push(table(name, title, usize::MAX, ways));
        let title = "remote memory read by ucp_get* into host memory from host";
        let ways = get(ep, key, mapped.as_deref());
        out.push(table(name, title, usize::MAX, ways));
    }
    if context.has_feature(Features::AMO32.union(Features::AMO64)) {
        let title =
            "fetching atomic by ucp_atomic_op* into host memory from host, arg in host memory";
        let way = match &mapped {
            Some(config) => in_place("atomic instruction", config),
            None => whole(EMULATION, am(ep), CARRIED_OUT),
        };
        out.push(table(name, title, 8, vec![Way { min: 4, ..way }]));
    }
    out
}

fn whole(description: &'static str, config: String, reason: &str) -> Way {
    Way {
        min: 0,
        description,
        config,
        reason: reason.to_owned(),
    }
}

/// The whole range by the processor, since `config` maps the memory here.
fn in_place(description: &'static str, config: &str) -> Way {
    whole(description, config.to_owned(), "the memory is mapped here")
}

/// The transport by which the memory is mapped here.
fn mapped_by(context: &Context, key: &RemoteKey) -> Option<String> {
    key.mapped(key.address(), 1)?;
    if key.is_own() {
        return Some("self/memory".to_owned());
    }
    let mut used = context.components_in_use();
    let by = used.find(|component| key.transports().any(|tl| tl == TlId::of(component.name())));
    Some(by.map_or_else(String::new, |by| format!("{}/memory", by.name())))
}

fn lane_name(ep: &Endpoint, lane: u8) -> String {
    let spec = ep.config().lanes.all.get(usize::from(lane));
    spec.map_or_else(String::new, |spec| {
        lanes::resource(ep.worker().context(), spec.rsc_index)
    })
}

fn am(ep: &Endpoint) -> String {
    lane_name(ep, ep.config().lanes.am)
}

fn put(ep: &Endpoint, key: &RemoteKey, mapped: Option<&str>) -> Vec<Way> {
    if let Some(config) = mapped {
        return vec![in_place("copy to mapped remote memory", config)];
    }
    let mut ways = vec![whole(EMULATION, am(ep), CARRIED_OUT)];
    let config = ep.config();
    let lane = config.lanes.rndv_put.filter(|_| ep.put_lane().is_some());
    if let Some(lane) = lane.filter(|_| key.allows_copy() && config.put_lane_min != usize::MAX) {
        ways.push(Way {
            min: config.put_lane_min,
            description: "zero-copy",
            config: lane_name(ep, lane),
            reason: "sooner there than a message by the cost model".to_owned(),
        });
    } else if let Some(min) = rails_min(ep) {
        let rails = config.put_rails.iter().filter(|rail| rail.keyed);
        let rails: Vec<_> = rails
            .take(config.rma_rails)
            .map(|rail| (lane_name(ep, rail.index), rail.bandwidth))
            .collect();
        ways.push(Way {
            min,
            description: "zero-copy",
            config: parts(&rails),
            reason: format!("long enough to be shared among {} lanes", config.rma_rails),
        });
    }
    ways
}

fn get(ep: &Endpoint, key: &RemoteKey, mapped: Option<&str>) -> Vec<Way> {
    if let Some(config) = mapped {
        return vec![in_place("copy from mapped remote memory", config)];
    }
    let lane = ep.config().lanes.rndv_get;
    let lane = lane.filter(|_| key.allows_copy() && ep.fetch_lane().is_some());
    vec![match lane {
        Some(lane) => whole(
            "zero-copy",
            lane_name(ep, lane),
            "a lane reads the memory without the target",
        ),
        None => whole(EMULATION, am(ep), CARRIED_OUT),
    }]
}

fn table(name: &str, title: &str, most: usize, ways: Vec<Way>) -> Table {
    let mut reasons = String::new();
    let mut rows: Vec<Row> = Vec::new();
    let ends = ways.iter().skip(1).map(|way| way.min.saturating_sub(1));
    let ends: Vec<usize> = ends.chain([most]).collect();
    for (way, max) in ways
        .into_iter()
        .zip(ends)
        .filter(|(way, max)| way.min <= *max)
    {
        reasons.push_str(&reason_line(way.min, max, way.description, &way.reason));
        rows.push(Row {
            min: way.min,
            max,
            description: way.description.to_owned(),
            config: way.config,
        });
    }
    Table {
        title: title.to_owned(),
        text: render(&[name.to_owned(), title.to_owned()], &rows),
        reasons,
    }
}
