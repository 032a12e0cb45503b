//! Types and constants of `ucp/api/ucp_compat.h`.

use crate::abi::prelude::*;

/// Operations of `ucp_atomic_post`.
pub type ucp_atomic_post_op_t = u32;
pub const UCP_ATOMIC_POST_OP_ADD: ucp_atomic_post_op_t = 0;
pub const UCP_ATOMIC_POST_OP_AND: ucp_atomic_post_op_t = 1;
pub const UCP_ATOMIC_POST_OP_OR: ucp_atomic_post_op_t = 2;
pub const UCP_ATOMIC_POST_OP_XOR: ucp_atomic_post_op_t = 3;
pub const UCP_ATOMIC_POST_OP_LAST: ucp_atomic_post_op_t = 4;

/// Operations of `ucp_atomic_fetch_nb`.
pub type ucp_atomic_fetch_op_t = u32;
pub const UCP_ATOMIC_FETCH_OP_FADD: ucp_atomic_fetch_op_t = 0;
pub const UCP_ATOMIC_FETCH_OP_SWAP: ucp_atomic_fetch_op_t = 1;
pub const UCP_ATOMIC_FETCH_OP_CSWAP: ucp_atomic_fetch_op_t = 2;
pub const UCP_ATOMIC_FETCH_OP_FAND: ucp_atomic_fetch_op_t = 3;
pub const UCP_ATOMIC_FETCH_OP_FOR: ucp_atomic_fetch_op_t = 4;
pub const UCP_ATOMIC_FETCH_OP_FXOR: ucp_atomic_fetch_op_t = 5;
pub const UCP_ATOMIC_FETCH_OP_LAST: ucp_atomic_fetch_op_t = 6;

/// Modes of `ucp_ep_close_nb`.
pub type ucp_ep_close_mode = u64;
/// Without waiting for the peer; what was posted is cancelled.
pub const UCP_EP_CLOSE_MODE_FORCE: ucp_ep_close_mode = 0;
/// After what was posted is complete.
pub const UCP_EP_CLOSE_MODE_FLUSH: ucp_ep_close_mode = 1;

pub type ucp_listener_accept_handler_t = ucp_listener_accept_handler;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucp_listener_accept_handler {
    pub cb: ucp_listener_accept_callback_t,
    pub arg: *mut c_void,
}
