//! Tables of one-sided and atomic operations on the memory of a kind of remote keys.

use crate::ucp::address::TlId;
use crate::ucp::context::{Context, Features};
use crate::ucp::ep::Endpoint;
use crate::ucp::proto::rma::put::rails_min;
use crate::ucp::rkey::RemoteKey;
use crate::ucp::select::SendClass;

use super::table::{Row, Table, parts, reason_line};
use super::used::Operation;
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
            let text = table.text(None);
            let lines = text.lines().chain(table.reasons.lines());
            lines.for_each(crate::ucs::log::print_compact);
        }
    }
}

fn tables(ep: &Endpoint, key: &RemoteKey, name: &str) -> Vec<Table> {
    let context = ep.worker().context();
    let mut wanted = Vec::new();
    if context.has_feature(Features::RMA) {
        wanted.extend([Operation::Put, Operation::Get]);
    }
    if context.has_feature(Features::AMO32.union(Features::AMO64)) {
        wanted.push(Operation::AtomicFetch);
    }
    let table = |operation| of_operation(ep, key, operation, SendClass::Normal, name);
    wanted.into_iter().filter_map(table).collect()
}

/// The table of an operation on the memory of a key; `None` for one that needs none.
pub fn of_operation(
    ep: &Endpoint,
    key: &RemoteKey,
    operation: Operation,
    class: SendClass,
    name: &str,
) -> Option<Table> {
    let suffix = class.suffix();
    let mapped = mapped_by(ep.worker().context(), key);
    let mapped = mapped.as_deref();
    let atomic = || {
        let way = match mapped {
            Some(config) => in_place("atomic instruction", config),
            None => whole(EMULATION, am(ep), CARRIED_OUT),
        };
        vec![Way { min: 4, ..way }]
    };
    let (title, most, ways) = match operation {
        Operation::Put => (
            format!("remote memory write by ucp_put*{suffix} from host memory to host"),
            usize::MAX,
            put(ep, key, mapped),
        ),
        Operation::Get => (
            format!("remote memory read by ucp_get*{suffix} into host memory from host"),
            usize::MAX,
            get(ep, key, mapped),
        ),
        Operation::AtomicPost => (
            format!("posted atomic by ucp_atomic_op*{suffix} to host, arg in host memory"),
            8,
            atomic(),
        ),
        Operation::AtomicFetch | Operation::CompareSwap => {
            let what = match operation {
                Operation::AtomicFetch => "fetching atomic",
                _ => "atomic compare-and-swap",
            };
            let title = format!(
                "{what} by ucp_atomic_op*{suffix} into host memory from host, arg in host memory"
            );
            (title, 8, atomic())
        }
        _ => return None,
    };
    Some(table(name, &title, most, ways))
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
        name: name.to_owned(),
        title: title.to_owned(),
        rows,
        reasons,
    }
}
