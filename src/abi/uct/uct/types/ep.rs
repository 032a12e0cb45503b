//! Types and constants of `uct/api/uct.h`: ep.

use crate::abi::prelude::*;

pub type uct_atomic_op = u32;
pub const UCT_ATOMIC_OP_ADD: uct_atomic_op = 0;
pub const UCT_ATOMIC_OP_AND: uct_atomic_op = 1;
pub const UCT_ATOMIC_OP_OR: uct_atomic_op = 2;
pub const UCT_ATOMIC_OP_XOR: uct_atomic_op = 3;
pub const UCT_ATOMIC_OP_SWAP: uct_atomic_op = 4;
pub const UCT_ATOMIC_OP_CSWAP: uct_atomic_op = 5;
pub const UCT_ATOMIC_OP_LAST: uct_atomic_op = 6;

/// Flags of a flush.
pub type uct_flush_flags = u64;
/// Buffers may be used again.
pub const UCT_FLUSH_FLAG_LOCAL: uct_flush_flags = 0;
/// Operations that can be cancelled end with an error.
pub const UCT_FLUSH_FLAG_CANCEL: uct_flush_flags = 1 << 0;
/// What was written can be seen by everybody at the peer.
pub const UCT_FLUSH_FLAG_REMOTE: uct_flush_flags = 1 << 1;

pub type uct_ep_params_field = u64;
pub const UCT_EP_PARAM_FIELD_IFACE: uct_ep_params_field = 1 << 0;
pub const UCT_EP_PARAM_FIELD_USER_DATA: uct_ep_params_field = 1 << 1;
pub const UCT_EP_PARAM_FIELD_DEV_ADDR: uct_ep_params_field = 1 << 2;
pub const UCT_EP_PARAM_FIELD_IFACE_ADDR: uct_ep_params_field = 1 << 3;
pub const UCT_EP_PARAM_FIELD_SOCKADDR: uct_ep_params_field = 1 << 4;
pub const UCT_EP_PARAM_FIELD_SOCKADDR_CB_FLAGS: uct_ep_params_field = 1 << 5;
pub const UCT_EP_PARAM_FIELD_SOCKADDR_PACK_CB: uct_ep_params_field = 1 << 6;
pub const UCT_EP_PARAM_FIELD_CM: uct_ep_params_field = 1 << 7;
pub const UCT_EP_PARAM_FIELD_CONN_REQUEST: uct_ep_params_field = 1 << 8;
pub const UCT_EP_PARAM_FIELD_SOCKADDR_CONNECT_CB_CLIENT: uct_ep_params_field = 1 << 9;
pub const UCT_EP_PARAM_FIELD_SOCKADDR_NOTIFY_CB_SERVER: uct_ep_params_field = 1 << 10;
pub const UCT_EP_PARAM_FIELD_SOCKADDR_DISCONNECT_CB: uct_ep_params_field = 1 << 11;
pub const UCT_EP_PARAM_FIELD_PATH_INDEX: uct_ep_params_field = 1 << 12;
pub const UCT_EP_PARAM_FIELD_CM_RESOLVE_CB: uct_ep_params_field = 1 << 13;
pub const UCT_EP_PARAM_FIELD_PRIV_DATA: uct_ep_params_field = 1 << 14;
pub const UCT_EP_PARAM_FIELD_PRIV_DATA_LENGTH: uct_ep_params_field = 1 << 15;
pub const UCT_EP_PARAM_FIELD_LOCAL_SOCKADDR: uct_ep_params_field = 1 << 16;
pub const UCT_EP_PARAM_FIELD_DEV_ADDR_LENGTH: uct_ep_params_field = 1 << 17;
pub const UCT_EP_PARAM_FIELD_IFACE_ADDR_LENGTH: uct_ep_params_field = 1 << 18;

/// Atomic operations.
pub type uct_atomic_op_t = uct_atomic_op;

/// Parameters of `uct_ep_create`.
#[repr(C)]
pub struct uct_ep_params {
    /// Mask of `uct_ep_params_field`.
    pub field_mask: u64,
    /// The interface.
    pub iface: uct_iface_h,
    /// Passed to callbacks.
    pub user_data: *mut c_void,
    /// Address of the peer's device.
    pub dev_addr: *const uct_device_addr_t,
    /// Address of the peer's interface.
    pub iface_addr: *const uct_iface_addr_t,
    /// Socket address of the peer.
    pub sockaddr: *const ucs_sock_addr_t,
    pub sockaddr_cb_flags: u32,
    pub sockaddr_pack_cb: uct_cm_ep_priv_data_pack_callback_t,
    /// The connection manager.
    pub cm: uct_cm_h,
    /// A connection request to accept.
    pub conn_request: uct_conn_request_h,
    pub sockaddr_cb_client: uct_cm_ep_client_connect_callback_t,
    pub sockaddr_cb_server: uct_cm_ep_server_conn_notify_callback_t,
    pub disconnect_cb: uct_ep_disconnect_cb_t,
    /// Which path through the device to use.
    pub path_index: c_uint,
    pub cm_resolve_cb: uct_cm_ep_resolve_callback_t,
    /// Data that is sent with the connection request.
    pub private_data: *const c_void,
    /// Its bytes.
    pub private_data_length: usize,
    /// Socket address to connect from.
    pub local_sockaddr: *const ucs_sock_addr_t,
    pub dev_addr_length: usize,
    pub iface_addr_length: usize,
}
