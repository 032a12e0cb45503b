//! `-y`: sizes of types.

use crate::abi::prelude::*;
use crate::tools::out;

macro_rules! sizes {
    ($($ty:ident),* $(,)?) => { &[$((stringify!($ty), size_of::<$ty>())),*] };
}

type Sizes = &'static [(&'static str, usize)];

/// Types of the C API by layer. Those that are private to UCX have no counterpart here.
pub const GROUPS: [(&str, Sizes); 3] = [
    (
        "UCS",
        sizes!(
            ucs_mpool_t,
            ucs_config_field_t,
            ucs_config_parser_t,
            ucs_list_link_t,
            ucs_callbackq_t,
            ucs_callbackq_elem_t,
            ucs_recursive_spinlock_t,
            ucs_rcache_region_t,
            ucs_memory_info_t,
            ucs_string_buffer_t,
            ucs_sys_dev_distance_t,
        ),
    ),
    (
        "UCT",
        sizes!(
            uct_completion_t,
            uct_ep_t,
            uct_mem_h,
            uct_rkey_t,
            uct_iface_t,
            uct_iface_attr_t,
            uct_iface_params_t,
            uct_iface_ops_t,
            uct_md_attr_t,
            uct_md_attr_v2_t,
            uct_tl_resource_desc_t,
            uct_rkey_bundle_t,
            uct_pending_req_t,
            uct_worker_t,
        ),
    ),
    (
        "UCP",
        sizes!(
            ucp_params_t,
            ucp_context_attr_t,
            ucp_worker_params_t,
            ucp_worker_attr_t,
            ucp_ep_params_t,
            ucp_ep_attr_t,
            ucp_request_param_t,
            ucp_mem_map_params_t,
            ucp_tag_recv_info_t,
        ),
    ),
];

/// Prints them, or with a transport only those above it.
pub fn print(tl: Option<&str>) {
    for (name, types) in GROUPS {
        if tl.is_some() && name != "UCP" {
            continue;
        }
        if name == "UCP" {
            out!("\n");
        }
        out!("{name}:\n");
        for (name, size) in types {
            let text = format!("    sizeof({name})");
            let dots = ".".repeat(50usize.saturating_sub(text.len()));
            out!("{text} = {dots} {size:<6}\n");
        }
        if name != "UCP" {
            out!("\n");
        }
    }
}
