//! Types and constants of `uct/api/uct.h`: cm.

use crate::abi::prelude::*;

/// Endpoints connect to interfaces.
pub const UCT_IFACE_FLAG_CONNECT_TO_IFACE: u64 = 1 << 40;
/// Endpoints connect to endpoints.
pub const UCT_IFACE_FLAG_CONNECT_TO_EP: u64 = 1 << 41;
/// Endpoints connect to socket addresses.
pub const UCT_IFACE_FLAG_CONNECT_TO_SOCKADDR: u64 = 1 << 42;

pub type uct_cb_flags = u64;
pub const UCT_CB_FLAG_RESERVED: uct_cb_flags = 1 << 1;
pub const UCT_CB_FLAG_ASYNC: uct_cb_flags = 1 << 2;

pub type uct_sockaddr_accessibility_t = u32;
pub const UCT_SOCKADDR_ACC_LOCAL: uct_sockaddr_accessibility_t = 0;
pub const UCT_SOCKADDR_ACC_REMOTE: uct_sockaddr_accessibility_t = 1;

pub type uct_cm_attr_field = u64;
pub const UCT_CM_ATTR_FIELD_MAX_CONN_PRIV: uct_cm_attr_field = 1 << 0;

pub type uct_listener_attr_field = u64;
pub const UCT_LISTENER_ATTR_FIELD_SOCKADDR: uct_listener_attr_field = 1 << 0;

pub type uct_listener_params_field = u64;
pub const UCT_LISTENER_PARAM_FIELD_BACKLOG: uct_listener_params_field = 1 << 0;
pub const UCT_LISTENER_PARAM_FIELD_CONN_REQUEST_CB: uct_listener_params_field = 1 << 1;
pub const UCT_LISTENER_PARAM_FIELD_USER_DATA: uct_listener_params_field = 1 << 2;

pub type uct_ep_connect_params_field = u64;
pub const UCT_EP_CONNECT_PARAM_FIELD_PRIVATE_DATA: uct_ep_connect_params_field = 1 << 0;
pub const UCT_EP_CONNECT_PARAM_FIELD_PRIVATE_DATA_LENGTH: uct_ep_connect_params_field = 1 << 1;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_iface_params_mode_sockaddr {
    pub listen_sockaddr: ucs_sock_addr_t,
    pub conn_request_arg: *mut c_void,
    pub conn_request_cb: uct_sockaddr_conn_request_callback_t,
    pub cb_flags: u32,
}

#[repr(C)]
pub struct uct_ep_connect_params {
    pub field_mask: u64,
    pub private_data: *const c_void,
    pub private_data_length: usize,
}

#[repr(C)]
pub struct uct_cm_attr {
    pub field_mask: u64,
    pub max_conn_priv: usize,
}

#[repr(C)]
pub struct uct_listener_attr {
    pub field_mask: u64,
    pub sockaddr: sockaddr_storage,
}

#[repr(C)]
pub struct uct_listener_params {
    pub field_mask: u64,
    pub backlog: c_int,
    pub conn_request_cb: uct_cm_listener_conn_request_callback_t,
    pub user_data: *mut c_void,
}
