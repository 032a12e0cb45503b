//! Types and constants of `ucp/api/ucp.h`: worker.

use crate::abi::prelude::*;

/// Which fields of `ucp_worker_params_t` are valid.
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

/// Flags of `ucp_worker_params_t`.
pub type ucp_worker_flags_t = u32;
/// Say nothing about requests that were not freed when the worker is destroyed.
pub const UCP_WORKER_FLAG_IGNORE_REQUEST_LEAK: ucp_worker_flags_t = 1 << 0;

/// What a worker address is to hold.
pub type ucp_worker_address_flags_t = u32;
/// Nothing that only reaches within a host.
pub const UCP_WORKER_ADDRESS_FLAG_NET_ONLY: ucp_worker_address_flags_t = 1 << 0;

/// Which fields of `ucp_worker_attr_t` are asked for.
pub type ucp_worker_attr_field = u64;
pub const UCP_WORKER_ATTR_FIELD_THREAD_MODE: ucp_worker_attr_field = 1 << 0;
pub const UCP_WORKER_ATTR_FIELD_ADDRESS: ucp_worker_attr_field = 1 << 1;
pub const UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS: ucp_worker_attr_field = 1 << 2;
pub const UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER: ucp_worker_attr_field = 1 << 3;
pub const UCP_WORKER_ATTR_FIELD_NAME: ucp_worker_attr_field = 1 << 4;
pub const UCP_WORKER_ATTR_FIELD_MAX_INFO_STRING: ucp_worker_attr_field = 1 << 5;

/// Which fields of `ucp_worker_address_attr_t` are asked for.
pub type ucp_worker_address_attr_field = u64;
pub const UCP_WORKER_ADDRESS_ATTR_FIELD_UID: ucp_worker_address_attr_field = 1 << 0;

pub type ucp_worker_attr_t = ucp_worker_attr;
pub type ucp_worker_params_t = ucp_worker_params;
pub type ucp_worker_address_attr_t = ucp_worker_address_attr;

/// Attributes of a worker.
#[repr(C)]
pub struct ucp_worker_attr {
    /// Mask of `ucp_worker_attr_field`.
    pub field_mask: u64,
    /// How threads may use the worker.
    pub thread_mode: ucs_thread_mode_t,
    /// Given: what the address is to hold.
    pub address_flags: u32,
    /// The address, to be released by `ucp_worker_release_address`.
    pub address: *mut ucp_address_t,
    /// Its bytes.
    pub address_length: usize,
    /// The longest header of an active message, in bytes.
    pub max_am_header: usize,
    /// Name, with a terminating zero.
    pub name: [c_char; 32],
    /// Bytes that hold any description of a request.
    pub max_debug_string: usize,
}

/// Parameters of `ucp_worker_create`.
#[repr(C)]
pub struct ucp_worker_params {
    /// Mask of `ucp_worker_params_field`.
    pub field_mask: u64,
    /// How threads use the worker; by one only, if not given.
    pub thread_mode: ucs_thread_mode_t,
    /// Processors near which resources are to be.
    pub cpu_mask: ucs_cpu_set_t,
    /// Mask of `ucp_wakeup_event_t`: what wakes a waiter.
    pub events: c_uint,
    /// Passed to wake-up of an outer event loop.
    pub user_data: *mut c_void,
    /// An event descriptor (epoll) of the caller that the worker adds its own to.
    pub event_fd: c_int,
    /// Mask of `ucp_worker_flags_t`.
    pub flags: u64,
    /// Name for messages to people.
    pub name: *const c_char,
    /// Alignment in bytes of the data of active messages.
    pub am_alignment: usize,
    /// Id that is sent with connection requests.
    pub client_id: u64,
}

/// What a worker address says.
#[repr(C)]
pub struct ucp_worker_address_attr {
    /// Mask of `ucp_worker_address_attr_field`.
    pub field_mask: u64,
    /// Unique id of the worker.
    pub worker_uid: u64,
}
