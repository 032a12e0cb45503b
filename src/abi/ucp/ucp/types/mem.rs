//! Types and constants of `ucp/api/ucp.h`: mem.

use crate::abi::prelude::*;

pub type ucp_mem_map_params_field = u64;
pub const UCP_MEM_MAP_PARAM_FIELD_ADDRESS: ucp_mem_map_params_field = 1 << 0;
pub const UCP_MEM_MAP_PARAM_FIELD_LENGTH: ucp_mem_map_params_field = 1 << 1;
pub const UCP_MEM_MAP_PARAM_FIELD_FLAGS: ucp_mem_map_params_field = 1 << 2;
pub const UCP_MEM_MAP_PARAM_FIELD_PROT: ucp_mem_map_params_field = 1 << 3;
pub const UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE: ucp_mem_map_params_field = 1 << 4;
pub const UCP_MEM_MAP_PARAM_FIELD_EXPORTED_MEMH_BUFFER: ucp_mem_map_params_field = 1 << 5;

pub type ucp_mem_advise_params_field = u64;
pub const UCP_MEM_ADVISE_PARAM_FIELD_ADDRESS: ucp_mem_advise_params_field = 1 << 0;
pub const UCP_MEM_ADVISE_PARAM_FIELD_LENGTH: ucp_mem_advise_params_field = 1 << 1;
pub const UCP_MEM_ADVISE_PARAM_FIELD_ADVICE: ucp_mem_advise_params_field = 1 << 2;

pub type ucp_mem_map_enum = u64;
pub const UCP_MEM_MAP_NONBLOCK: ucp_mem_map_enum = 1 << 0;
pub const UCP_MEM_MAP_ALLOCATE: ucp_mem_map_enum = 1 << 1;
pub const UCP_MEM_MAP_FIXED: ucp_mem_map_enum = 1 << 2;
pub const UCP_MEM_MAP_SYMMETRIC_RKEY: ucp_mem_map_enum = 1 << 3;
pub const UCP_MEM_MAP_LOCK: ucp_mem_map_enum = 1 << 4;

pub type ucp_mem_map_prot_enum = u64;
pub const UCP_MEM_MAP_PROT_LOCAL_READ: ucp_mem_map_prot_enum = 1 << 0;
pub const UCP_MEM_MAP_PROT_LOCAL_WRITE: ucp_mem_map_prot_enum = 1 << 1;
pub const UCP_MEM_MAP_PROT_REMOTE_READ: ucp_mem_map_prot_enum = 1 << 8;
pub const UCP_MEM_MAP_PROT_REMOTE_WRITE: ucp_mem_map_prot_enum = 1 << 9;

pub type ucp_mem_advice = u32;
pub const UCP_MADV_NORMAL: ucp_mem_advice = 0;
pub const UCP_MADV_WILLNEED: ucp_mem_advice = 1;

pub type ucp_memh_pack_params_field = u64;
pub const UCP_MEMH_PACK_PARAM_FIELD_FLAGS: ucp_memh_pack_params_field = 1 << 0;

pub type ucp_memh_pack_flags = u64;
pub const UCP_MEMH_PACK_FLAG_EXPORT: ucp_memh_pack_flags = 1 << 0;

pub type ucp_mem_map_params_t = ucp_mem_map_params;
pub type ucp_mem_advice_t = ucp_mem_advice;
pub type ucp_mem_advise_params_t = ucp_mem_advise_params;
pub type ucp_memh_pack_params_t = ucp_memh_pack_params;
pub type ucp_memh_buffer_release_params_t = ucp_memh_buffer_release_params;

#[repr(C)]
pub struct ucp_mem_map_params {
    pub field_mask: u64,
    pub address: *mut c_void,
    pub length: usize,
    pub flags: c_uint,
    pub prot: c_uint,
    pub memory_type: ucs_memory_type_t,
    pub exported_memh_buffer: *const c_void,
}

#[repr(C)]
pub struct ucp_mem_advise_params {
    pub field_mask: u64,
    pub address: *mut c_void,
    pub length: usize,
    pub advice: ucp_mem_advice_t,
}

#[repr(C)]
pub struct ucp_memh_pack_params {
    pub field_mask: u64,
    pub flags: u64,
}

#[repr(C)]
pub struct ucp_memh_buffer_release_params {
    pub field_mask: u64,
}
