//! `ucs/stats/libstats.h`.

use crate::abi::prelude::*;

pub const UCS_STATS_DEFAULT_UDP_PORT: i32 = 37873;
pub const UCS_STAT_NAME_MAX: i32 = 39;
pub const UCS_STATS_NODE_FMT: &str = "%s%s";

pub struct ucs_stats_client {
    _opaque: [u8; 0],
}

pub struct ucs_stats_server {
    _opaque: [u8; 0],
}

pub type ucs_stats_serialize_enum = u64;
pub const UCS_STATS_SERIALIZE_INACTVIVE: ucs_stats_serialize_enum = 1 << 0;
pub const UCS_STATS_SERIALIZE_BINARY: ucs_stats_serialize_enum = 1 << 1;
pub const UCS_STATS_SERIALIZE_COMPRESS: ucs_stats_serialize_enum = 1 << 2;

pub type ucs_stats_children_sel = u32;
pub const UCS_STATS_INACTIVE_CHILDREN: ucs_stats_children_sel = 0;
pub const UCS_STATS_ACTIVE_CHILDREN: ucs_stats_children_sel = 1;
pub const UCS_STATS_CHILDREN_LAST: ucs_stats_children_sel = 2;

pub type ucs_stats_server_h = *mut ucs_stats_server;
pub type ucs_stats_client_h = *mut ucs_stats_client;
pub type ucs_stats_children_sel_t = ucs_stats_children_sel;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_stats_class {
    pub name: *const c_char,
    pub num_counters: c_uint,
    pub class_id: c_uint,
    pub counter_names: [*const c_char; 0],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_stats_node {
    pub cls: *mut ucs_stats_class_t,
    pub parent: *mut ucs_stats_node_t,
    pub name: [c_char; 40],
    pub list: ucs_list_link_t,
    pub children: [ucs_list_link_t; 2],
    pub type_list: ucs_list_link_t,
    pub filter_node: *mut ucs_stats_filter_node_t,
    pub counters: [ucs_stats_counter_t; 1],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_stats_filter_node {
    pub parent: *mut ucs_stats_filter_node_t,
    pub list: ucs_list_link_t,
    pub children: ucs_list_link_t,
    pub type_list_head: ucs_list_link_t,
    pub type_list_len: c_int,
    pub ref_count: c_int,
    pub counters_bitmask: u64,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_stats_node_initv(
    node: *mut ucs_stats_node_t,
    cls: *mut ucs_stats_class_t,
    name: *const c_char,
    ap: va_list,
) -> ucs_status_t {
    let _ = (node, cls, name, ap);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_stats_serialize(
    stream: *mut FILE,
    root: *mut ucs_stats_node_t,
    options: c_int,
) -> ucs_status_t {
    let _ = (stream, root, options);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_stats_deserialize(
    stream: *mut FILE,
    p_root: *mut *mut ucs_stats_node_t,
) -> ucs_status_t {
    let _ = (stream, p_root);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_stats_free(root: *mut ucs_stats_node_t) {
    let _ = root;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_stats_client_init(
    server_addr: *const c_char,
    port: c_int,
    p_client: *mut ucs_stats_client_h,
) -> ucs_status_t {
    let _ = (server_addr, port, p_client);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_stats_client_cleanup(client: ucs_stats_client_h) {
    let _ = client;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_stats_client_send(
    client: ucs_stats_client_h,
    root: *mut ucs_stats_node_t,
    timestamp: u64,
) -> ucs_status_t {
    let _ = (client, root, timestamp);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_stats_server_start(
    port: c_int,
    p_server: *mut ucs_stats_server_h,
) -> ucs_status_t {
    let _ = (port, p_server);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_stats_server_destroy(server: ucs_stats_server_h) {
    let _ = server;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_stats_server_get_port(server: ucs_stats_server_h) -> c_int {
    let _ = server;
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_stats_server_get_stats(
    server: ucs_stats_server_h,
) -> *mut ucs_list_link_t {
    let _ = server;
    core::ptr::null_mut()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_stats_server_purge_stats(server: ucs_stats_server_h) {
    let _ = server;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_stats_server_rcvd_packets(server: ucs_stats_server_h) -> c_ulong {
    let _ = server;
    0
}
