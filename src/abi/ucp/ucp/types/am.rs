//! Types and constants of `ucp/api/ucp.h`: am.

use crate::abi::prelude::*;

/// Flags of an active message handler.
pub type ucp_am_cb_flags = u64;
/// The handler gets whole messages only.
pub const UCP_AM_FLAG_WHOLE_MSG: ucp_am_cb_flags = 1 << 0;
/// The data may be kept by returning `UCS_INPROGRESS`.
pub const UCP_AM_FLAG_PERSISTENT_DATA: ucp_am_cb_flags = 1 << 1;

/// Flags of `ucp_am_send_nbx`.
pub type ucp_send_am_flags = u64;
/// The handler gets an endpoint to answer on.
pub const UCP_AM_SEND_FLAG_REPLY: ucp_send_am_flags = 1 << 0;
/// Send the data at once.
pub const UCP_AM_SEND_FLAG_EAGER: ucp_send_am_flags = 1 << 1;
/// Let the receiver ask for the data.
pub const UCP_AM_SEND_FLAG_RNDV: ucp_send_am_flags = 1 << 2;
/// The header is copied, and may be used again after the call.
pub const UCP_AM_SEND_FLAG_COPY_HEADER: ucp_send_am_flags = 1 << 3;
/// Older name of `UCP_AM_SEND_FLAG_REPLY`.
pub const UCP_AM_SEND_REPLY: ucp_send_am_flags = 1;

/// What is valid in `ucp_am_recv_param_t`, and what the data is.
pub type ucp_am_recv_attr_t = u32;
/// `reply_ep` is valid.
pub const UCP_AM_RECV_ATTR_FIELD_REPLY_EP: ucp_am_recv_attr_t = 1 << 0;
/// The data may be kept by returning `UCS_INPROGRESS`.
pub const UCP_AM_RECV_ATTR_FLAG_DATA: ucp_am_recv_attr_t = 1 << 16;
/// The data is not here yet: a descriptor for `ucp_am_recv_data_nbx`.
pub const UCP_AM_RECV_ATTR_FLAG_RNDV: ucp_am_recv_attr_t = 1 << 17;

/// Which fields of `ucp_am_handler_param_t` are valid.
pub type ucp_am_handler_param_field = u64;
pub const UCP_AM_HANDLER_PARAM_FIELD_ID: ucp_am_handler_param_field = 1 << 0;
pub const UCP_AM_HANDLER_PARAM_FIELD_FLAGS: ucp_am_handler_param_field = 1 << 1;
pub const UCP_AM_HANDLER_PARAM_FIELD_CB: ucp_am_handler_param_field = 1 << 2;
pub const UCP_AM_HANDLER_PARAM_FIELD_ARG: ucp_am_handler_param_field = 1 << 3;

pub type ucp_am_handler_param_t = ucp_am_handler_param;

/// Parameters of `ucp_worker_set_am_recv_handler`.
#[repr(C)]
pub struct ucp_am_handler_param {
    /// Mask of `ucp_am_handler_param_field`.
    pub field_mask: u64,
    /// Id of the messages.
    pub id: c_uint,
    /// Mask of `ucp_am_cb_flags`.
    pub flags: u32,
    /// The function that gets them.
    pub cb: ucp_am_recv_callback_t,
    /// Passed to it.
    pub arg: *mut c_void,
}

/// What an active message handler gets beside the message.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucp_am_recv_param {
    /// Mask of `ucp_am_recv_attr_t`.
    pub recv_attr: u64,
    /// An endpoint to the sender.
    pub reply_ep: ucp_ep_h,
}
