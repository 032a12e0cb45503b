//! Types and constants of `ucp/api/ucp.h`: listener.

use crate::abi::prelude::*;

/// Which fields of `ucp_listener_params_t` are valid.
pub type ucp_listener_params_field = u64;
pub const UCP_LISTENER_PARAM_FIELD_SOCK_ADDR: ucp_listener_params_field = 1 << 0;
pub const UCP_LISTENER_PARAM_FIELD_ACCEPT_HANDLER: ucp_listener_params_field = 1 << 1;
pub const UCP_LISTENER_PARAM_FIELD_CONN_HANDLER: ucp_listener_params_field = 1 << 2;

/// Which fields of `ucp_listener_attr_t` are asked for.
pub type ucp_listener_attr_field = u64;
pub const UCP_LISTENER_ATTR_FIELD_SOCKADDR: ucp_listener_attr_field = 1 << 0;

/// Which fields of `ucp_conn_request_attr_t` are asked for.
pub type ucp_conn_request_attr_field = u64;
pub const UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ADDR: ucp_conn_request_attr_field = 1 << 0;
pub const UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ID: ucp_conn_request_attr_field = 1 << 1;

pub type ucp_listener_attr_t = ucp_listener_attr;
pub type ucp_conn_request_attr_t = ucp_conn_request_attr;
pub type ucp_listener_params_t = ucp_listener_params;

/// Attributes of a listener.
#[repr(C)]
pub struct ucp_listener_attr {
    /// Mask of `ucp_listener_attr_field`.
    pub field_mask: u64,
    /// The address it listens on.
    pub sockaddr: sockaddr_storage,
}

/// Attributes of a connection request.
#[repr(C)]
pub struct ucp_conn_request_attr {
    /// Mask of `ucp_conn_request_attr_field`.
    pub field_mask: u64,
    /// Socket address of the client.
    pub client_address: sockaddr_storage,
    /// Id of the client's worker.
    pub client_id: u64,
}

/// Parameters of `ucp_listener_create`.
#[repr(C)]
pub struct ucp_listener_params {
    /// Mask of `ucp_listener_params_field`.
    pub field_mask: u64,
    /// The address to listen on; port 0 lets the system choose.
    pub sockaddr: ucs_sock_addr_t,
    /// Called with a new endpoint for each connection. Older form of `conn_handler`.
    pub accept_handler: ucp_listener_accept_handler_t,
    /// Called with each connection request, which is to be passed to `ucp_ep_create` or
    /// `ucp_listener_reject`.
    pub conn_handler: ucp_listener_conn_handler_t,
}
