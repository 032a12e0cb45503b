//! Types and constants of `ucp/api/ucp.h`: request.

use crate::abi::prelude::*;

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
pub const UCP_OP_ATTR_FLAG_NO_IMM_CMPL: ucp_op_attr_t = 1 << 16;
pub const UCP_OP_ATTR_FLAG_FAST_CMPL: ucp_op_attr_t = 1 << 17;
pub const UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL: ucp_op_attr_t = 1 << 18;
pub const UCP_OP_ATTR_FLAG_MULTI_SEND: ucp_op_attr_t = 1 << 19;

pub type ucp_req_attr_field = u32;
pub const UCP_REQUEST_ATTR_FIELD_INFO_STRING: ucp_req_attr_field = 1 << 0;
pub const UCP_REQUEST_ATTR_FIELD_INFO_STRING_SIZE: ucp_req_attr_field = 1 << 1;
pub const UCP_REQUEST_ATTR_FIELD_STATUS: ucp_req_attr_field = 1 << 2;
pub const UCP_REQUEST_ATTR_FIELD_MEM_TYPE: ucp_req_attr_field = 1 << 3;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucp_tag_recv_info {
    pub sender_tag: ucp_tag_t,
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

#[repr(C)]
pub struct ucp_request_param_t {
    pub op_attr_mask: u32,
    pub flags: u32,
    pub request: *mut c_void,
    pub cb: ucp_request_param_cb,
    pub datatype: ucp_datatype_t,
    pub user_data: *mut c_void,
    pub reply_buffer: *mut c_void,
    pub memory_type: ucs_memory_type_t,
    pub recv_info: ucp_request_param_recv_info,
    pub memh: ucp_mem_h,
    pub remote_datatype: ucp_datatype_t,
    pub remote: *const c_void,
    pub remote_count: usize,
}

#[repr(C)]
pub struct ucp_request_attr_t {
    pub field_mask: u64,
    pub debug_string: *mut c_char,
    pub debug_string_size: usize,
    pub status: ucs_status_t,
    pub mem_type: ucs_memory_type_t,
}
