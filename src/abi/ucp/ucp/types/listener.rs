//! Types and constants of `ucp/api/ucp.h`: listener.

use crate::abi::prelude::*;

pub type ucp_listener_params_field = u64;
pub const UCP_LISTENER_PARAM_FIELD_SOCK_ADDR: ucp_listener_params_field = 1 << 0;
pub const UCP_LISTENER_PARAM_FIELD_ACCEPT_HANDLER: ucp_listener_params_field = 1 << 1;
pub const UCP_LISTENER_PARAM_FIELD_CONN_HANDLER: ucp_listener_params_field = 1 << 2;

pub type ucp_listener_attr_field = u64;
pub const UCP_LISTENER_ATTR_FIELD_SOCKADDR: ucp_listener_attr_field = 1 << 0;

pub type ucp_conn_request_attr_field = u64;
pub const UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ADDR: ucp_conn_request_attr_field = 1 << 0;
pub const UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ID: ucp_conn_request_attr_field = 1 << 1;

pub type ucp_listener_attr_t = ucp_listener_attr;
pub type ucp_conn_request_attr_t = ucp_conn_request_attr;
pub type ucp_listener_params_t = ucp_listener_params;

#[repr(C)]
pub struct ucp_listener_attr {
    pub field_mask: u64,
    pub sockaddr: sockaddr_storage,
}

#[repr(C)]
pub struct ucp_conn_request_attr {
    pub field_mask: u64,
    pub client_address: sockaddr_storage,
    pub client_id: u64,
}

#[repr(C)]
pub struct ucp_listener_params {
    pub field_mask: u64,
    pub sockaddr: ucs_sock_addr_t,
    pub accept_handler: ucp_listener_accept_handler_t,
    pub conn_handler: ucp_listener_conn_handler_t,
}
