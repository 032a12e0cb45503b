//! Types and constants of `ucp/api/ucp.h`: stream.

use crate::abi::prelude::*;

/// Flags of `ucp_stream_recv_nbx`.
pub type ucp_stream_recv_flags_t = u32;
/// Complete only when the whole buffer is filled.
pub const UCP_STREAM_RECV_FLAG_WAITALL: ucp_stream_recv_flags_t = 1 << 0;

pub type ucp_stream_poll_ep_t = ucp_stream_poll_ep;

/// An endpoint that has stream data.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucp_stream_poll_ep {
    pub ep: ucp_ep_h,
    /// What was given when the endpoint was created.
    pub user_data: *mut c_void,
    pub flags: c_uint,
    pub reserved: [u8; 16],
}
