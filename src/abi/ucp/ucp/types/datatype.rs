//! Types and constants of `ucp/api/ucp.h`: datatype.

use crate::abi::prelude::*;

/// Kinds of datatypes, in their lowest bits.
pub type ucp_dt_type = u64;
/// Contiguous elements.
pub const UCP_DATATYPE_CONTIG: ucp_dt_type = 0;
/// Elements at equal distances.
pub const UCP_DATATYPE_STRIDED: ucp_dt_type = 1;
/// A list of buffers.
pub const UCP_DATATYPE_IOV: ucp_dt_type = 2;
/// A list of local and remote buffers.
pub const UCP_DATATYPE_SGL: ucp_dt_type = 4;
/// Packed and unpacked by functions of the user.
pub const UCP_DATATYPE_GENERIC: ucp_dt_type = 7;
/// Number of bits that hold the kind.
pub const UCP_DATATYPE_SHIFT: ucp_dt_type = 3;
/// Those bits.
pub const UCP_DATATYPE_CLASS_MASK: ucp_dt_type = 7;

/// Which fields of `ucp_datatype_attr_t` are valid or asked for.
pub type ucp_datatype_attr_field = u64;
pub const UCP_DATATYPE_ATTR_FIELD_PACKED_SIZE: ucp_datatype_attr_field = 1 << 0;
pub const UCP_DATATYPE_ATTR_FIELD_BUFFER: ucp_datatype_attr_field = 1 << 1;
pub const UCP_DATATYPE_ATTR_FIELD_COUNT: ucp_datatype_attr_field = 1 << 2;

/// Which fields of `ucp_dt_local_sgl_t` are valid.
pub type ucp_dt_local_sgl_field = u64;
pub const UCP_DT_LOCAL_SGL_FIELD_BUFFERS: ucp_dt_local_sgl_field = 1 << 0;
pub const UCP_DT_LOCAL_SGL_FIELD_LENGTHS: ucp_dt_local_sgl_field = 1 << 1;
pub const UCP_DT_LOCAL_SGL_FIELD_MEMHS: ucp_dt_local_sgl_field = 1 << 2;
pub const UCP_DT_LOCAL_SGL_FIELD_COUNTS: ucp_dt_local_sgl_field = 1 << 3;
pub const UCP_DT_LOCAL_SGL_FIELD_STRIDES: ucp_dt_local_sgl_field = 1 << 4;

/// Which fields of `ucp_dt_remote_sgl_t` are valid.
pub type ucp_dt_remote_sgl_field = u64;
pub const UCP_DT_REMOTE_SGL_FIELD_REMOTE_ADDRS: ucp_dt_remote_sgl_field = 1 << 0;
pub const UCP_DT_REMOTE_SGL_FIELD_LENGTHS: ucp_dt_remote_sgl_field = 1 << 1;
pub const UCP_DT_REMOTE_SGL_FIELD_RKEYS: ucp_dt_remote_sgl_field = 1 << 2;

pub type ucp_dt_iov_t = ucp_dt_iov;
pub type ucp_datatype_attr_t = ucp_datatype_attr;

/// One buffer of a list.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucp_dt_iov {
    /// Its address.
    pub buffer: *mut c_void,
    /// Its bytes.
    pub length: usize,
}

/// The local side of a list of transfers: arrays with an element for each.
#[repr(C)]
pub struct ucp_dt_local_sgl_t {
    /// Mask of `ucp_dt_local_sgl_field`.
    pub field_mask: u64,
    /// Local addresses.
    pub buffers: *const *mut c_void,
    /// Bytes of a block.
    pub lengths: *const usize,
    /// Memory handles of the buffers.
    pub memhs: *const ucp_mem_h,
    /// Numbers of blocks.
    pub counts: *const usize,
    /// Bytes from one block to the next.
    pub strides: *const usize,
}

/// The remote side of a list of transfers.
#[repr(C)]
pub struct ucp_dt_remote_sgl_t {
    /// Mask of `ucp_dt_remote_sgl_field`.
    pub field_mask: u64,
    /// Remote addresses.
    pub remote_addrs: *const u64,
    /// Bytes of a block.
    pub lengths: *const usize,
    /// Keys of the remote memory.
    pub rkeys: *const ucp_rkey_h,
}

/// Attributes of a datatype.
#[repr(C)]
pub struct ucp_datatype_attr {
    /// Mask of `ucp_datatype_attr_field`.
    pub field_mask: u64,
    /// Bytes of the packed message.
    pub packed_size: usize,
    /// Given: the buffer that the size is asked for.
    pub buffer: *const c_void,
    /// Given: its number of elements.
    pub count: usize,
}
