//! Text about contexts, workers and endpoints, in the form that UCX prints: programs parse it
//! (OpenMPI looks for its devices in the resource lines).

#![forbid(unsafe_code)]

mod endpoint;
mod lanes;
mod memory;
mod rma;
pub mod table;
pub mod used;

use std::fmt::Write;

use crate::ucp::context::{Context, Features, RscIndex};
use crate::ucp::ep::EpConfig;
use crate::ucp::select::{Lanes, ProtoParams, SendClass};
use crate::ucs::log::glob_match;

pub use endpoint::endpoint;
pub use lanes::{Scope, config_name, used_transports};
pub use memory::memory_info;
pub use rma::key_info;

/// What `ucp_context_print_info` prints.
pub fn context_info(context: &Context) -> String {
    let mut out = String::from("#\n# UCP context\n#\n");
    // Indices of those that are listed.
    let listed = |index: &usize| context.components[*index].is_present();
    let listed: Vec<usize> = (0..context.components.len()).filter(listed).collect();
    for (number, index) in listed.iter().enumerate() {
        let name = context.components[*index].name();
        let _ = writeln!(out, "#     component {number:<2} :  {name}");
    }
    out.push_str("#\n");
    for (index, md) in context.mds.iter().enumerate() {
        let component = listed.partition_point(|at| *at < usize::from(md.cmpt_index));
        let _ = writeln!(
            out,
            "#            md {index:<2} :  component {component:<2} {} ",
            md.name
        );
    }
    out.push_str("#\n");
    for (index, rsc) in context.resources.iter().enumerate() {
        let aux = if rsc.aux { 'a' } else { '-' };
        let _ = writeln!(
            out,
            "#      resource {index:<2} :  md {:<2} dev {:<2} flags {aux}- {}/{}",
            rsc.md_index,
            rsc.dev_index,
            rsc.tl_name(),
            rsc.dev_name()
        );
    }
    out.push_str("#\n");
    out
}

/// What `ucp_worker_print_info` prints. `atomics` are the resources with atomic operations, given
/// when the user asked for the feature.
pub fn worker_info(
    context: &Context,
    name: &str,
    address_len: Option<usize>,
    atomics: Option<&[RscIndex]>,
) -> String {
    let mut out = format!("#\n# UCP worker '{name}'\n#\n");
    let _ = match address_len {
        Some(len) => writeln!(out, "#                 address: {len} bytes"),
        None => writeln!(out, "# <failed to get address>"),
    };
    if let Some(atomics) = atomics {
        let listed: Vec<String> = atomics
            .iter()
            .map(|index| format!("{index}:{}", lanes::resource(context, *index)))
            .collect();
        let _ = writeln!(out, "#                 atomics: {}", listed.join(", "));
    }
    out.push_str("#\n");
    out
}

/// An endpoint to print.
pub struct EpInfo<'a> {
    pub context: &'a Context,
    /// What the peer calls itself, see `WorkerAddress::peer_name`.
    pub peer_name: &'a str,
    pub lanes: &'a Lanes,
    /// Index of the endpoint configuration in its worker.
    pub cfg_index: usize,
    pub scope: Scope,
    /// Inputs of the choice of protocols; `None` while the peer is not known.
    pub protocols: Option<ProtoParams<'a>>,
    /// What follows from the lanes.
    pub config: Option<&'a EpConfig>,
}

/// The classes of tagged sends, in the order of the tables.
const CLASSES: [SendClass; 3] = [
    SendClass::FastCompletion,
    SendClass::Multi,
    SendClass::Normal,
];

/// What `ucp_ep_print_info` prints.
pub fn ep_info(info: &EpInfo<'_>) -> String {
    let mut out = format!(
        "#\n# UCP endpoint \n#\n#               peer: {}\n",
        info.peer_name
    );
    for lane in 0..info.lanes.all.len() {
        let _ = writeln!(
            out,
            "#                 {}",
            lanes::describe(info.context, info.lanes, lane)
        );
    }
    out.push_str("#\n");
    for table in protocols(info) {
        for line in table.text(None).lines() {
            let _ = writeln!(out, "# {line}");
        }
    }
    out
}

/// The tables of protocols of an endpoint.
fn protocols(info: &EpInfo<'_>) -> Vec<table::Table> {
    let Some(params) = &info.protocols else {
        return Vec::new();
    };
    let mut out = Vec::new();
    if info.context.has_feature(Features::TAG) {
        out.extend(CLASSES.map(|class| table::tag(info, params, class)));
    }
    if info.context.has_feature(Features::AM) {
        for reply in [false, true] {
            out.extend(CLASSES.map(|class| table::am(info, params, class, reply)));
        }
    }
    out
}

/// Whether `UCX_PROTO_INFO` wants the table with this title.
fn is_wanted(wanted: &str, title: &str) -> bool {
    match wanted {
        "n" | "no" | "0" | "off" => false,
        "auto" => crate::ucs::log::enabled(crate::ucs::log::Level::Debug),
        "y" | "yes" | "1" | "on" => true,
        // Told at the worker's end.
        used if used.eq_ignore_ascii_case("used") => false,
        pattern => title.contains(pattern) || glob_match(pattern.as_bytes(), title.as_bytes()),
    }
}

/// Whether any table may be wanted.
fn wants_tables(wanted: &str) -> bool {
    let some = !matches!(wanted, "n" | "no" | "0" | "off" | "auto");
    is_wanted(wanted, "") || some && !wanted.eq_ignore_ascii_case("used")
}

/// Whether `UCX_PROTO_INFO` asks for tables.
#[inline]
pub fn wants_proto_info(context: &Context) -> bool {
    wants_tables(context.config.text("PROTO_INFO"))
}

/// Prints those tables of protocols of a new endpoint configuration that `UCX_PROTO_INFO` asks for, and
/// under each the reasons.
pub fn proto_info(info: &EpInfo<'_>) {
    let wanted = info.context.config.text("PROTO_INFO");
    if !wants_tables(wanted) {
        return;
    }
    let mut tables = protocols(info);
    if info.context.has_feature(Features::STREAM) {
        tables.extend(CLASSES.map(|class| table::stream(info, class)));
    }
    for table in tables {
        if is_wanted(wanted, &table.title) {
            let text = table.text(None);
            let lines = text.lines().chain(table.reasons.lines());
            lines.for_each(crate::ucs::log::print_compact);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ucp::context::ContextParams;
    use crate::ucp::context::test_components::COMPONENTS;
    use crate::ucp::select::{LaneSpec, LaneUse};
    use crate::ucs::config::Config;
    use crate::uct::{IfaceAttr, IfaceCaps, PerfAttr};
    use std::sync::Arc;

    fn context(tls: &str) -> Arc<Context> {
        let mut config = Config::default();
        config.set("TLS", tls);
        let params = ContextParams {
            features: Features::TAG,
            name: Some("ucx_info".to_owned()),
            ..ContextParams::default()
        };
        Context::with_components(params, config, COMPONENTS).expect("resources")
    }

    #[test]
    fn context_in_the_form_that_openmpi_parses() {
        let expected = "\
#
# UCP context
#
#     component 0  :  self
#     component 1  :  tcp
#     component 2  :  sysv
#     component 3  :  posix
#     component 4  :  cma
#
#            md 0  :  component 0  self 
#            md 1  :  component 1  tcp 
#
#      resource 0  :  md 0  dev 0  flags -- self/memory
#      resource 1  :  md 1  dev 1  flags a- tcp/eth0
#      resource 2  :  md 1  dev 2  flags a- tcp/lo
#
";
        assert_eq!(context_info(&context("self,tcp:aux")), expected);
    }

    #[test]
    fn worker() {
        let context = context("all");
        let expected = "\
#
# UCP worker 'host:1'
#
#                 address: 213 bytes
#                 atomics: 0:self/memory, 3:sysv/memory
#
";
        assert_eq!(
            worker_info(&context, "host:1", Some(213), Some(&[0, 3])),
            expected
        );
        let without = worker_info(&context, "host:1", None, None);
        assert!(
            without.contains("# <failed to get address>\n#\n"),
            "{without}"
        );
    }

    fn lane(rsc_index: u8, md_index: u8, uses: LaneUse) -> LaneSpec {
        let (local, remote, dst_md_index) = (rsc_index, rsc_index, md_index);
        LaneSpec {
            rsc_index,
            local,
            remote,
            md_index,
            dst_md_index,
            rma_bw_index: 0,
            uses,
        }
    }

    fn shm_lanes() -> Lanes {
        Lanes {
            all: smallvec::smallvec![
                lane(3, 2, LaneUse::AM | LaneUse::AM_BW),
                lane(5, 4, LaneUse::RMA_BW)
            ],
            am: 0,
            am_bw: smallvec::smallvec![0],
            rndv_get: Some(1),
            rndv_put: None,
            device: None,
            keepalive: None,
            numbered: false,
            own: false,
        }
    }

    #[test]
    fn endpoint() {
        let context = context("all");
        let perf = PerfAttr {
            latency: 80e-9,
            overhead: 10e-9,
            bw_shared: 0.0,
            bw_dedicated: 16e9,
            priority: 0,
        };
        let am = IfaceAttr {
            caps: IfaceCaps::AM_SHORT | IfaceCaps::AM_BCOPY,
            max_short: 92,
            max_bcopy: 8256,
            max_zcopy: 0,
            max_zcopy_header: 0,
            max_iov: 1,
            max_rma: 0,
            device_addr_len: 8,
            iface_addr_len: 8,
            perf,
        };
        let lanes = shm_lanes();
        let info = EpInfo {
            context: &context,
            peer_name: "<no debug data>",
            lanes: &lanes,
            cfg_index: 0,
            scope: Scope::of(&context, &lanes),
            protocols: Some(ProtoParams {
                rndv_get: Some(&am),
                ..ProtoParams::new(&am)
            }),
            config: None,
        };
        let text = ep_info(&info);
        let expected = "\
#
# UCP endpoint 
#
#               peer: <no debug data>
#                 lane[0]:  3:sysv/memory.0 md[2]           -> md[2]/sysv/sysdev[255] seg 4294967295 am
#                 lane[1]:  5:cma/memory.0 md[4]            -> md[4]/cma/sysdev[255] seg 4294967295 rma_bw#0
#
# +--------------+-------------------------------------------+-------------+
# | ucx_info intra-node cfg#0                                              |
# | tagged message by ucp_tag_send*(fast-completion) from host memory      |
# +--------------+-------------------------------------------+-------------+
# |    Range     |                Description                |   Config    |
# +--------------+-------------------------------------------+-------------+
# |        0..92 | eager short                               | sysv/memory |
# |     93..8248 | eager copy-in copy-out                    | sysv/memory |
# | 8249..262143 | multi-frag eager copy-in copy-out         | sysv/memory |
# |    256K..inf | (?) rendezvous zero-copy read from remote | cma/memory  |
# +--------------+-------------------------------------------+-------------+
";
        assert!(text.starts_with(expected), "{text}");
        assert_eq!(text.matches("tagged message by").count(), 3);
    }

    #[test]
    fn transports_of_an_endpoint() {
        let context = context("all");
        let lanes = shm_lanes();
        let text = used_transports(&context, Scope::of(&context, &lanes), 2, &lanes);
        assert_eq!(
            text,
            "ucx_info intra-node cfg#2 tag(sysv/memory cma/memory)"
        );
    }
}
