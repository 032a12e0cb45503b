//! Types and constants of `ucp/api/ucp.h`: am.

use crate::abi::prelude::*;

pub type ucp_am_cb_flags = u64;
pub const UCP_AM_FLAG_WHOLE_MSG: ucp_am_cb_flags = 1 << 0;
pub const UCP_AM_FLAG_PERSISTENT_DATA: ucp_am_cb_flags = 1 << 1;

pub type ucp_send_am_flags = u64;
pub const UCP_AM_SEND_FLAG_REPLY: ucp_send_am_flags = 1 << 0;
pub const UCP_AM_SEND_FLAG_EAGER: ucp_send_am_flags = 1 << 1;
pub const UCP_AM_SEND_FLAG_RNDV: ucp_send_am_flags = 1 << 2;
pub const UCP_AM_SEND_FLAG_COPY_HEADER: ucp_send_am_flags = 1 << 3;
pub const UCP_AM_SEND_REPLY: ucp_send_am_flags = 1;

pub type ucp_am_recv_attr_t = u32;
pub const UCP_AM_RECV_ATTR_FIELD_REPLY_EP: ucp_am_recv_attr_t = 1 << 0;
pub const UCP_AM_RECV_ATTR_FLAG_DATA: ucp_am_recv_attr_t = 1 << 16;
pub const UCP_AM_RECV_ATTR_FLAG_RNDV: ucp_am_recv_attr_t = 1 << 17;

pub type ucp_am_handler_param_field = u64;
pub const UCP_AM_HANDLER_PARAM_FIELD_ID: ucp_am_handler_param_field = 1 << 0;
pub const UCP_AM_HANDLER_PARAM_FIELD_FLAGS: ucp_am_handler_param_field = 1 << 1;
pub const UCP_AM_HANDLER_PARAM_FIELD_CB: ucp_am_handler_param_field = 1 << 2;
pub const UCP_AM_HANDLER_PARAM_FIELD_ARG: ucp_am_handler_param_field = 1 << 3;

pub type ucp_am_handler_param_t = ucp_am_handler_param;

#[repr(C)]
pub struct ucp_am_handler_param {
    pub field_mask: u64,
    pub id: c_uint,
    pub flags: u32,
    pub cb: ucp_am_recv_callback_t,
    pub arg: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucp_am_recv_param {
    pub recv_attr: u64,
    pub reply_ep: ucp_ep_h,
}
