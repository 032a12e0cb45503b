//! Types and constants of `ucp/api/ucp.h`: datatype.

use crate::abi::prelude::*;

pub type ucp_dt_type = u64;
pub const UCP_DATATYPE_CONTIG: ucp_dt_type = 0;
pub const UCP_DATATYPE_STRIDED: ucp_dt_type = 1;
pub const UCP_DATATYPE_IOV: ucp_dt_type = 2;
pub const UCP_DATATYPE_SGL: ucp_dt_type = 4;
pub const UCP_DATATYPE_GENERIC: ucp_dt_type = 7;
pub const UCP_DATATYPE_SHIFT: ucp_dt_type = 3;
pub const UCP_DATATYPE_CLASS_MASK: ucp_dt_type = 7;

pub type ucp_datatype_attr_field = u64;
pub const UCP_DATATYPE_ATTR_FIELD_PACKED_SIZE: ucp_datatype_attr_field = 1 << 0;
pub const UCP_DATATYPE_ATTR_FIELD_BUFFER: ucp_datatype_attr_field = 1 << 1;
pub const UCP_DATATYPE_ATTR_FIELD_COUNT: ucp_datatype_attr_field = 1 << 2;

pub type ucp_dt_local_sgl_field = u64;
pub const UCP_DT_LOCAL_SGL_FIELD_BUFFERS: ucp_dt_local_sgl_field = 1 << 0;
pub const UCP_DT_LOCAL_SGL_FIELD_LENGTHS: ucp_dt_local_sgl_field = 1 << 1;
pub const UCP_DT_LOCAL_SGL_FIELD_MEMHS: ucp_dt_local_sgl_field = 1 << 2;
pub const UCP_DT_LOCAL_SGL_FIELD_COUNTS: ucp_dt_local_sgl_field = 1 << 3;
pub const UCP_DT_LOCAL_SGL_FIELD_STRIDES: ucp_dt_local_sgl_field = 1 << 4;

pub type ucp_dt_remote_sgl_field = u64;
pub const UCP_DT_REMOTE_SGL_FIELD_REMOTE_ADDRS: ucp_dt_remote_sgl_field = 1 << 0;
pub const UCP_DT_REMOTE_SGL_FIELD_LENGTHS: ucp_dt_remote_sgl_field = 1 << 1;
pub const UCP_DT_REMOTE_SGL_FIELD_RKEYS: ucp_dt_remote_sgl_field = 1 << 2;

pub type ucp_dt_iov_t = ucp_dt_iov;
pub type ucp_datatype_attr_t = ucp_datatype_attr;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucp_dt_iov {
    pub buffer: *mut c_void,
    pub length: usize,
}

#[repr(C)]
pub struct ucp_dt_local_sgl_t {
    pub field_mask: u64,
    pub buffers: *const *mut c_void,
    pub lengths: *const usize,
    pub memhs: *const ucp_mem_h,
    pub counts: *const usize,
    pub strides: *const usize,
}

#[repr(C)]
pub struct ucp_dt_remote_sgl_t {
    pub field_mask: u64,
    pub remote_addrs: *const u64,
    pub lengths: *const usize,
    pub rkeys: *const ucp_rkey_h,
}

#[repr(C)]
pub struct ucp_datatype_attr {
    pub field_mask: u64,
    pub packed_size: usize,
    pub buffer: *const c_void,
    pub count: usize,
}
