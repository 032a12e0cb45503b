//! Types and constants of `ucp/api/ucp.h`: stream.

use crate::abi::prelude::*;

pub type ucp_stream_recv_flags_t = u32;
pub const UCP_STREAM_RECV_FLAG_WAITALL: ucp_stream_recv_flags_t = 1 << 0;

pub type ucp_stream_poll_ep_t = ucp_stream_poll_ep;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucp_stream_poll_ep {
    pub ep: ucp_ep_h,
    pub user_data: *mut c_void,
    pub flags: c_uint,
    pub reserved: [u8; 16],
}
