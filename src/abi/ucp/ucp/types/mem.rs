//! Types and constants of `ucp/api/ucp.h`: mem.

use crate::abi::prelude::*;

/// Which fields of `ucp_mem_map_params_t` are valid.
pub type ucp_mem_map_params_field = u64;
pub const UCP_MEM_MAP_PARAM_FIELD_ADDRESS: ucp_mem_map_params_field = 1 << 0;
pub const UCP_MEM_MAP_PARAM_FIELD_LENGTH: ucp_mem_map_params_field = 1 << 1;
pub const UCP_MEM_MAP_PARAM_FIELD_FLAGS: ucp_mem_map_params_field = 1 << 2;
pub const UCP_MEM_MAP_PARAM_FIELD_PROT: ucp_mem_map_params_field = 1 << 3;
pub const UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE: ucp_mem_map_params_field = 1 << 4;
pub const UCP_MEM_MAP_PARAM_FIELD_EXPORTED_MEMH_BUFFER: ucp_mem_map_params_field = 1 << 5;

/// Which fields of `ucp_mem_advise_params_t` are valid.
pub type ucp_mem_advise_params_field = u64;
pub const UCP_MEM_ADVISE_PARAM_FIELD_ADDRESS: ucp_mem_advise_params_field = 1 << 0;
pub const UCP_MEM_ADVISE_PARAM_FIELD_LENGTH: ucp_mem_advise_params_field = 1 << 1;
pub const UCP_MEM_ADVISE_PARAM_FIELD_ADVICE: ucp_mem_advise_params_field = 1 << 2;

/// Flags of `ucp_mem_map`.
pub type ucp_mem_map_enum = u64;
/// Registration may be left for later.
pub const UCP_MEM_MAP_NONBLOCK: ucp_mem_map_enum = 1 << 0;
/// Memory is to be allocated.
pub const UCP_MEM_MAP_ALLOCATE: ucp_mem_map_enum = 1 << 1;
/// It is to be allocated at the given address.
pub const UCP_MEM_MAP_FIXED: ucp_mem_map_enum = 1 << 2;
/// All processes map memory with the same parameters, so that keys may be equal.
pub const UCP_MEM_MAP_SYMMETRIC_RKEY: ucp_mem_map_enum = 1 << 3;
/// Pages are to be resident.
pub const UCP_MEM_MAP_LOCK: ucp_mem_map_enum = 1 << 4;

/// Who may do what with mapped memory.
pub type ucp_mem_map_prot_enum = u64;
/// This process reads.
pub const UCP_MEM_MAP_PROT_LOCAL_READ: ucp_mem_map_prot_enum = 1 << 0;
/// This process writes.
pub const UCP_MEM_MAP_PROT_LOCAL_WRITE: ucp_mem_map_prot_enum = 1 << 1;
/// Peers read.
pub const UCP_MEM_MAP_PROT_REMOTE_READ: ucp_mem_map_prot_enum = 1 << 8;
/// Peers write.
pub const UCP_MEM_MAP_PROT_REMOTE_WRITE: ucp_mem_map_prot_enum = 1 << 9;

/// What memory will be used for.
pub type ucp_mem_advice = u32;
/// Nothing special.
pub const UCP_MADV_NORMAL: ucp_mem_advice = 0;
/// It will be used soon.
pub const UCP_MADV_WILLNEED: ucp_mem_advice = 1;

/// Which fields of `ucp_memh_pack_params_t` are valid.
pub type ucp_memh_pack_params_field = u64;
pub const UCP_MEMH_PACK_PARAM_FIELD_FLAGS: ucp_memh_pack_params_field = 1 << 0;

/// Flags of `ucp_memh_pack`.
pub type ucp_memh_pack_flags = u64;
/// For use by other processes of this host, instead of a remote key.
pub const UCP_MEMH_PACK_FLAG_EXPORT: ucp_memh_pack_flags = 1 << 0;

pub type ucp_mem_map_params_t = ucp_mem_map_params;
pub type ucp_mem_advice_t = ucp_mem_advice;
pub type ucp_mem_advise_params_t = ucp_mem_advise_params;
pub type ucp_memh_pack_params_t = ucp_memh_pack_params;
pub type ucp_memh_buffer_release_params_t = ucp_memh_buffer_release_params;

/// Parameters of `ucp_mem_map`.
#[repr(C)]
pub struct ucp_mem_map_params {
    /// Mask of `ucp_mem_map_params_field`.
    pub field_mask: u64,
    /// Start of the memory; NULL lets the library choose when it allocates.
    pub address: *mut c_void,
    /// Bytes.
    pub length: usize,
    /// Mask of `UCP_MEM_MAP_*`.
    pub flags: c_uint,
    /// Mask of `UCP_MEM_MAP_PROT_*`; all of them if not given.
    pub prot: c_uint,
    /// Type of the memory; found out if not given.
    pub memory_type: ucs_memory_type_t,
    /// A handle that another process exported by `ucp_memh_pack`.
    pub exported_memh_buffer: *const c_void,
}

/// Parameters of `ucp_mem_advise`.
#[repr(C)]
pub struct ucp_mem_advise_params {
    /// Mask of `ucp_mem_advise_params_field`.
    pub field_mask: u64,
    /// Start of the range.
    pub address: *mut c_void,
    /// Its bytes.
    pub length: usize,
    /// What it will be used for.
    pub advice: ucp_mem_advice_t,
}

/// Parameters of `ucp_memh_pack`.
#[repr(C)]
pub struct ucp_memh_pack_params {
    /// Mask of `ucp_memh_pack_params_field`.
    pub field_mask: u64,
    /// Mask of `ucp_memh_pack_flags`.
    pub flags: u64,
}

/// Parameters of `ucp_memh_buffer_release`: none so far.
#[repr(C)]
pub struct ucp_memh_buffer_release_params {
    pub field_mask: u64,
}
