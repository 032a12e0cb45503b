//! The C functions that these tests call beside those of the operation table.

use core::ffi::{c_char, c_int, c_uint, c_void};

use crate::abi::prelude::*;
use crate::tools::library::functions;

functions! {
    fn uct_md_query(md: uct_md_h, attr: *mut uct_md_attr_t) -> ucs_status_t;
    fn uct_md_mkey_pack_v2(
        md: uct_md_h,
        memh: uct_mem_h,
        address: *mut c_void,
        length: usize,
        params: *const uct_md_mkey_pack_params_t,
        buffer: *mut c_void,
    ) -> ucs_status_t;
    fn uct_rkey_unpack(
        component: uct_component_h,
        buffer: *const c_void,
        rkey: *mut uct_rkey_bundle_t,
    ) -> ucs_status_t;
    fn uct_rkey_release(component: uct_component_h, rkey: *const uct_rkey_bundle_t) -> ucs_status_t;
    fn uct_iface_mem_alloc(
        iface: uct_iface_h,
        length: usize,
        flags: c_uint,
        name: *const c_char,
        mem: *mut uct_allocated_memory_t,
    ) -> ucs_status_t;
    fn uct_iface_mem_free(mem: *const uct_allocated_memory_t);
    fn uct_iface_set_am_handler(
        iface: uct_iface_h,
        id: u8,
        cb: uct_am_callback_t,
        arg: *mut c_void,
        flags: u32,
    ) -> ucs_status_t;
    fn uct_iface_get_device_address(iface: uct_iface_h, addr: *mut uct_device_addr_t) -> ucs_status_t;
    fn uct_iface_get_address(iface: uct_iface_h, addr: *mut uct_iface_addr_t) -> ucs_status_t;
    fn uct_iface_is_reachable(
        iface: uct_iface_h,
        device: *const uct_device_addr_t,
        iface_addr: *const uct_iface_addr_t,
    ) -> c_int;
    fn uct_ep_create(params: *const uct_ep_params_t, ep: *mut uct_ep_h) -> ucs_status_t;
    fn uct_ep_destroy(ep: uct_ep_h);
    fn uct_ep_get_address(ep: uct_ep_h, addr: *mut uct_ep_addr_t) -> ucs_status_t;
    fn uct_ep_connect_to_ep(
        ep: uct_ep_h,
        device: *const uct_device_addr_t,
        ep_addr: *const uct_ep_addr_t,
    ) -> ucs_status_t;
}
