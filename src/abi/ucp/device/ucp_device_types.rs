//! `ucp/api/device/ucp_device_types.h`.

use crate::abi::prelude::*;

pub const UCP_DEVICE_MEM_LIST_VERSION_V1: i32 = 2;

pub type ucp_device_remote_mem_list_t = ucp_device_remote_mem_list;
pub type ucp_device_local_mem_list_t = ucp_device_local_mem_list;

/// Remote memory, as device code sees it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucp_device_remote_mem_list {
    pub version: u16,
    pub num_lanes: u16,
    pub length: u32,
    pub mem_elements: [uct_device_remote_mem_elem_t; 0],
}

/// Local memory, as device code sees it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucp_device_local_mem_list {
    pub version: u16,
    pub num_lanes: u16,
    pub length: u32,
    pub mem_elements: [uct_device_local_mem_elem_t; 0],
}
