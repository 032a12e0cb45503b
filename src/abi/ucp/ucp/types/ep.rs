//! Types and constants of `ucp/api/ucp.h`: ep.

use crate::abi::prelude::*;

/// Which fields of `ucp_ep_params_t` are valid.
pub type ucp_ep_params_field = u64;
pub const UCP_EP_PARAM_FIELD_REMOTE_ADDRESS: ucp_ep_params_field = 1 << 0;
pub const UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE: ucp_ep_params_field = 1 << 1;
pub const UCP_EP_PARAM_FIELD_ERR_HANDLER: ucp_ep_params_field = 1 << 2;
pub const UCP_EP_PARAM_FIELD_USER_DATA: ucp_ep_params_field = 1 << 3;
pub const UCP_EP_PARAM_FIELD_SOCK_ADDR: ucp_ep_params_field = 1 << 4;
pub const UCP_EP_PARAM_FIELD_FLAGS: ucp_ep_params_field = 1 << 5;
pub const UCP_EP_PARAM_FIELD_CONN_REQUEST: ucp_ep_params_field = 1 << 6;
pub const UCP_EP_PARAM_FIELD_NAME: ucp_ep_params_field = 1 << 7;
pub const UCP_EP_PARAM_FIELD_LOCAL_SOCK_ADDR: ucp_ep_params_field = 1 << 8;

/// Flags of `ucp_ep_params_t`.
pub type ucp_ep_params_flags_field = u64;
/// The peer is named by a socket address.
pub const UCP_EP_PARAMS_FLAGS_CLIENT_SERVER: ucp_ep_params_flags_field = 1 << 0;
/// An endpoint to its own worker doesn't lead back to itself: two of them, in the order in which they
/// are created, are each other's ends.
pub const UCP_EP_PARAMS_FLAGS_NO_LOOPBACK: ucp_ep_params_flags_field = 1 << 1;
/// The worker's client id is sent with the connection request.
pub const UCP_EP_PARAMS_FLAGS_SEND_CLIENT_ID: ucp_ep_params_flags_field = 1 << 2;

/// Flags of `ucp_ep_close_nbx`.
pub type ucp_ep_close_flags_t = u32;
/// Close without waiting for the peer; what was posted is cancelled.
pub const UCP_EP_CLOSE_FLAG_FORCE: ucp_ep_close_flags_t = 1 << 0;

/// Which fields of `ucp_ep_evaluate_perf_param_t` are valid.
pub type ucp_ep_perf_param_field = u32;
pub const UCP_EP_PERF_PARAM_FIELD_MESSAGE_SIZE: ucp_ep_perf_param_field = 1 << 0;

/// Which fields of `ucp_ep_evaluate_perf_attr_t` are asked for.
pub type ucp_ep_perf_attr_field = u32;
pub const UCP_EP_PERF_ATTR_FIELD_ESTIMATED_TIME: ucp_ep_perf_attr_field = 1 << 0;

/// Which fields of `ucp_ep_attr_t` are asked for.
pub type ucp_ep_attr_field = u64;
pub const UCP_EP_ATTR_FIELD_NAME: ucp_ep_attr_field = 1 << 0;
pub const UCP_EP_ATTR_FIELD_LOCAL_SOCKADDR: ucp_ep_attr_field = 1 << 1;
pub const UCP_EP_ATTR_FIELD_REMOTE_SOCKADDR: ucp_ep_attr_field = 1 << 2;
pub const UCP_EP_ATTR_FIELD_TRANSPORTS: ucp_ep_attr_field = 1 << 3;
pub const UCP_EP_ATTR_FIELD_USER_DATA: ucp_ep_attr_field = 1 << 4;

pub type ucp_ep_perf_param_field_t = ucp_ep_perf_param_field;
pub type ucp_ep_perf_attr_field_t = ucp_ep_perf_attr_field;
pub type ucp_ep_attr_t = ucp_ep_attr;

/// The operation that an estimate is asked for.
#[repr(C)]
pub struct ucp_ep_evaluate_perf_param_t {
    pub field_mask: u64,
    /// Bytes.
    pub message_size: usize,
}

/// An estimate.
#[repr(C)]
pub struct ucp_ep_evaluate_perf_attr_t {
    pub field_mask: u64,
    /// Seconds.
    pub estimated_time: f64,
}

/// Attributes of an endpoint.
#[repr(C)]
pub struct ucp_ep_attr {
    /// Mask of `ucp_ep_attr_field`.
    pub field_mask: u64,
    /// Name, with a terminating zero.
    pub name: [c_char; 32],
    /// Local socket address; `UCS_ERR_NOT_CONNECTED` without one.
    pub local_sockaddr: sockaddr_storage,
    /// Socket address of the peer.
    pub remote_sockaddr: sockaddr_storage,
    /// Given: room for the names of transports and devices. Becomes those that are used.
    pub transports: ucp_transports_t,
    /// What was given when the endpoint was created.
    pub user_data: *mut c_void,
}
