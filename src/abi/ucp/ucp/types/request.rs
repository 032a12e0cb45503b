//! Types and constants of `ucp/api/ucp.h`: request.

use crate::abi::prelude::*;

/// What is valid in `ucp_request_param_t`, and flags of the operation.
pub type ucp_op_attr_t = u32;
pub const UCP_OP_ATTR_FIELD_REQUEST: ucp_op_attr_t = 1 << 0;
pub const UCP_OP_ATTR_FIELD_CALLBACK: ucp_op_attr_t = 1 << 1;
pub const UCP_OP_ATTR_FIELD_USER_DATA: ucp_op_attr_t = 1 << 2;
pub const UCP_OP_ATTR_FIELD_DATATYPE: ucp_op_attr_t = 1 << 3;
pub const UCP_OP_ATTR_FIELD_FLAGS: ucp_op_attr_t = 1 << 4;
pub const UCP_OP_ATTR_FIELD_REPLY_BUFFER: ucp_op_attr_t = 1 << 5;
pub const UCP_OP_ATTR_FIELD_MEMORY_TYPE: ucp_op_attr_t = 1 << 6;
pub const UCP_OP_ATTR_FIELD_RECV_INFO: ucp_op_attr_t = 1 << 7;
pub const UCP_OP_ATTR_FIELD_MEMH: ucp_op_attr_t = 1 << 8;
pub const UCP_OP_ATTR_FIELD_REMOTE_DATATYPE: ucp_op_attr_t = 1 << 9;
pub const UCP_OP_ATTR_FIELD_REMOTE: ucp_op_attr_t = 1 << 10;
pub const UCP_OP_ATTR_FIELD_REMOTE_COUNT: ucp_op_attr_t = 1 << 11;
/// Never complete at once: a request is returned and its callback called.
pub const UCP_OP_ATTR_FLAG_NO_IMM_CMPL: ucp_op_attr_t = 1 << 16;
/// Complete soon rather than with the least work: copy the data if that helps.
pub const UCP_OP_ATTR_FLAG_FAST_CMPL: ucp_op_attr_t = 1 << 17;
/// Complete at once or fail with `UCS_ERR_NO_RESOURCE`.
pub const UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL: ucp_op_attr_t = 1 << 18;
/// More operations follow: optimise for their number, not for the time of each.
pub const UCP_OP_ATTR_FLAG_MULTI_SEND: ucp_op_attr_t = 1 << 19;

/// Which fields of `ucp_request_attr_t` are asked for.
pub type ucp_req_attr_field = u32;
pub const UCP_REQUEST_ATTR_FIELD_INFO_STRING: ucp_req_attr_field = 1 << 0;
pub const UCP_REQUEST_ATTR_FIELD_INFO_STRING_SIZE: ucp_req_attr_field = 1 << 1;
pub const UCP_REQUEST_ATTR_FIELD_STATUS: ucp_req_attr_field = 1 << 2;
pub const UCP_REQUEST_ATTR_FIELD_MEM_TYPE: ucp_req_attr_field = 1 << 3;

/// What a tagged receive got.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucp_tag_recv_info {
    /// The whole tag of the message.
    pub sender_tag: ucp_tag_t,
    /// Bytes received.
    pub length: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union ucp_request_param_cb {
    pub send: ucp_send_nbx_callback_t,
    pub recv: ucp_tag_recv_nbx_callback_t,
    pub recv_stream: ucp_stream_recv_nbx_callback_t,
    pub recv_am: ucp_am_recv_data_nbx_callback_t,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union ucp_request_param_recv_info {
    pub length: *mut usize,
    pub tag_info: *mut ucp_tag_recv_info_t,
}

/// Optional parameters of an operation.
#[repr(C)]
pub struct ucp_request_param_t {
    /// Mask of `ucp_op_attr_t`.
    pub op_attr_mask: u32,
    /// Flags of the particular operation.
    pub flags: u32,
    /// Memory of the caller for the request: the library uses the bytes before it, as many as the
    /// context says.
    pub request: *mut c_void,
    /// Called when the operation has ended, unless it did at once.
    pub cb: ucp_request_param_cb,
    /// Type of the elements; bytes if not given.
    pub datatype: ucp_datatype_t,
    /// Passed to the callback.
    pub user_data: *mut c_void,
    /// Where an atomic operation writes the value before.
    pub reply_buffer: *mut c_void,
    /// Type of the buffer's memory; found out if not given.
    pub memory_type: ucs_memory_type_t,
    /// Where a receive that completes at once writes what it got.
    pub recv_info: ucp_request_param_recv_info,
    /// Memory handle of the buffer.
    pub memh: ucp_mem_h,
    /// Type of the remote elements.
    pub remote_datatype: ucp_datatype_t,
    /// Description of the remote side, by its datatype.
    pub remote: *const c_void,
    /// Number of remote elements.
    pub remote_count: usize,
}

/// Attributes of a request.
#[repr(C)]
pub struct ucp_request_attr_t {
    /// Mask of `ucp_req_attr_field`.
    pub field_mask: u64,
    /// Given: room for a description for people.
    pub debug_string: *mut c_char,
    /// Given: its bytes.
    pub debug_string_size: usize,
    /// As `ucp_request_check_status`.
    pub status: ucs_status_t,
    /// Memory type of the buffer.
    pub mem_type: ucs_memory_type_t,
}
