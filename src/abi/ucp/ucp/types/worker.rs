//! Types and constants of `ucp/api/ucp.h`: worker.

use crate::abi::prelude::*;

pub type ucp_worker_params_field = u64;
pub const UCP_WORKER_PARAM_FIELD_THREAD_MODE: ucp_worker_params_field = 1 << 0;
pub const UCP_WORKER_PARAM_FIELD_CPU_MASK: ucp_worker_params_field = 1 << 1;
pub const UCP_WORKER_PARAM_FIELD_EVENTS: ucp_worker_params_field = 1 << 2;
pub const UCP_WORKER_PARAM_FIELD_USER_DATA: ucp_worker_params_field = 1 << 3;
pub const UCP_WORKER_PARAM_FIELD_EVENT_FD: ucp_worker_params_field = 1 << 4;
pub const UCP_WORKER_PARAM_FIELD_FLAGS: ucp_worker_params_field = 1 << 5;
pub const UCP_WORKER_PARAM_FIELD_NAME: ucp_worker_params_field = 1 << 6;
pub const UCP_WORKER_PARAM_FIELD_AM_ALIGNMENT: ucp_worker_params_field = 1 << 7;
pub const UCP_WORKER_PARAM_FIELD_CLIENT_ID: ucp_worker_params_field = 1 << 8;

pub type ucp_worker_flags_t = u32;
pub const UCP_WORKER_FLAG_IGNORE_REQUEST_LEAK: ucp_worker_flags_t = 1 << 0;

pub type ucp_worker_address_flags_t = u32;
pub const UCP_WORKER_ADDRESS_FLAG_NET_ONLY: ucp_worker_address_flags_t = 1 << 0;

pub type ucp_worker_attr_field = u64;
pub const UCP_WORKER_ATTR_FIELD_THREAD_MODE: ucp_worker_attr_field = 1 << 0;
pub const UCP_WORKER_ATTR_FIELD_ADDRESS: ucp_worker_attr_field = 1 << 1;
pub const UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS: ucp_worker_attr_field = 1 << 2;
pub const UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER: ucp_worker_attr_field = 1 << 3;
pub const UCP_WORKER_ATTR_FIELD_NAME: ucp_worker_attr_field = 1 << 4;
pub const UCP_WORKER_ATTR_FIELD_MAX_INFO_STRING: ucp_worker_attr_field = 1 << 5;

pub type ucp_worker_address_attr_field = u64;
pub const UCP_WORKER_ADDRESS_ATTR_FIELD_UID: ucp_worker_address_attr_field = 1 << 0;

pub type ucp_worker_attr_t = ucp_worker_attr;
pub type ucp_worker_params_t = ucp_worker_params;
pub type ucp_worker_address_attr_t = ucp_worker_address_attr;

#[repr(C)]
pub struct ucp_worker_attr {
    pub field_mask: u64,
    pub thread_mode: ucs_thread_mode_t,
    pub address_flags: u32,
    pub address: *mut ucp_address_t,
    pub address_length: usize,
    pub max_am_header: usize,
    pub name: [c_char; 32],
    pub max_debug_string: usize,
}

#[repr(C)]
pub struct ucp_worker_params {
    pub field_mask: u64,
    pub thread_mode: ucs_thread_mode_t,
    pub cpu_mask: ucs_cpu_set_t,
    pub events: c_uint,
    pub user_data: *mut c_void,
    pub event_fd: c_int,
    pub flags: u64,
    pub name: *const c_char,
    pub am_alignment: usize,
    pub client_id: u64,
}

#[repr(C)]
pub struct ucp_worker_address_attr {
    pub field_mask: u64,
    pub worker_uid: u64,
}
