//! Types and constants of `ucp/api/ucp.h`: ep.

use crate::abi::prelude::*;

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

pub type ucp_ep_params_flags_field = u64;
pub const UCP_EP_PARAMS_FLAGS_CLIENT_SERVER: ucp_ep_params_flags_field = 1 << 0;
pub const UCP_EP_PARAMS_FLAGS_NO_LOOPBACK: ucp_ep_params_flags_field = 1 << 1;
pub const UCP_EP_PARAMS_FLAGS_SEND_CLIENT_ID: ucp_ep_params_flags_field = 1 << 2;

pub type ucp_ep_close_flags_t = u32;
pub const UCP_EP_CLOSE_FLAG_FORCE: ucp_ep_close_flags_t = 1 << 0;

pub type ucp_ep_perf_param_field = u32;
pub const UCP_EP_PERF_PARAM_FIELD_MESSAGE_SIZE: ucp_ep_perf_param_field = 1 << 0;

pub type ucp_ep_perf_attr_field = u32;
pub const UCP_EP_PERF_ATTR_FIELD_ESTIMATED_TIME: ucp_ep_perf_attr_field = 1 << 0;

pub type ucp_ep_attr_field = u64;
pub const UCP_EP_ATTR_FIELD_NAME: ucp_ep_attr_field = 1 << 0;
pub const UCP_EP_ATTR_FIELD_LOCAL_SOCKADDR: ucp_ep_attr_field = 1 << 1;
pub const UCP_EP_ATTR_FIELD_REMOTE_SOCKADDR: ucp_ep_attr_field = 1 << 2;
pub const UCP_EP_ATTR_FIELD_TRANSPORTS: ucp_ep_attr_field = 1 << 3;
pub const UCP_EP_ATTR_FIELD_USER_DATA: ucp_ep_attr_field = 1 << 4;

pub type ucp_ep_perf_param_field_t = ucp_ep_perf_param_field;
pub type ucp_ep_perf_attr_field_t = ucp_ep_perf_attr_field;
pub type ucp_ep_attr_t = ucp_ep_attr;

#[repr(C)]
pub struct ucp_ep_evaluate_perf_param_t {
    pub field_mask: u64,
    pub message_size: usize,
}

#[repr(C)]
pub struct ucp_ep_evaluate_perf_attr_t {
    pub field_mask: u64,
    pub estimated_time: f64,
}

#[repr(C)]
pub struct ucp_ep_attr {
    pub field_mask: u64,
    pub name: [c_char; 32],
    pub local_sockaddr: sockaddr_storage,
    pub remote_sockaddr: sockaddr_storage,
    pub transports: ucp_transports_t,
    pub user_data: *mut c_void,
}
