//! Types and constants of `uct/api/uct.h`: md.

use crate::abi::prelude::*;

pub type uct_alloc_method_t = u32;
pub const UCT_ALLOC_METHOD_THP: uct_alloc_method_t = 0;
pub const UCT_ALLOC_METHOD_MD: uct_alloc_method_t = 1;
pub const UCT_ALLOC_METHOD_HEAP: uct_alloc_method_t = 2;
pub const UCT_ALLOC_METHOD_MMAP: uct_alloc_method_t = 3;
pub const UCT_ALLOC_METHOD_HUGE: uct_alloc_method_t = 4;
pub const UCT_ALLOC_METHOD_LAST: uct_alloc_method_t = 5;
pub const UCT_ALLOC_METHOD_DEFAULT: uct_alloc_method_t = 5;

pub type uct_md_flag_enum = u64;
pub const UCT_MD_FLAG_ALLOC: uct_md_flag_enum = 1 << 0;
pub const UCT_MD_FLAG_REG: uct_md_flag_enum = 1 << 1;
pub const UCT_MD_FLAG_NEED_MEMH: uct_md_flag_enum = 1 << 2;
pub const UCT_MD_FLAG_NEED_RKEY: uct_md_flag_enum = 1 << 3;
pub const UCT_MD_FLAG_ADVISE: uct_md_flag_enum = 1 << 4;
pub const UCT_MD_FLAG_FIXED: uct_md_flag_enum = 1 << 5;
pub const UCT_MD_FLAG_RKEY_PTR: uct_md_flag_enum = 1 << 6;
pub const UCT_MD_FLAG_SOCKADDR: uct_md_flag_enum = 1 << 7;
pub const UCT_MD_FLAG_INVALIDATE: uct_md_flag_enum = 1 << 8;
pub const UCT_MD_FLAG_EXPORTED_MKEY: uct_md_flag_enum = 1 << 9;
pub const UCT_MD_FLAG_REG_DMABUF: uct_md_flag_enum = 1 << 10;
pub const UCT_MD_FLAG_LAST: uct_md_flag_enum = 1 << 11;

pub type uct_md_mem_flags = u64;
pub const UCT_MD_MEM_FLAG_NONBLOCK: uct_md_mem_flags = 1 << 0;
pub const UCT_MD_MEM_FLAG_FIXED: uct_md_mem_flags = 1 << 1;
pub const UCT_MD_MEM_FLAG_LOCK: uct_md_mem_flags = 1 << 2;
pub const UCT_MD_MEM_FLAG_HIDE_ERRORS: uct_md_mem_flags = 1 << 3;
pub const UCT_MD_MEM_ACCESS_REMOTE_PUT: uct_md_mem_flags = 1 << 5;
pub const UCT_MD_MEM_ACCESS_REMOTE_GET: uct_md_mem_flags = 1 << 6;
pub const UCT_MD_MEM_ACCESS_REMOTE_ATOMIC: uct_md_mem_flags = 1 << 7;
pub const UCT_MD_MEM_ACCESS_LOCAL_READ: uct_md_mem_flags = 1 << 8;
pub const UCT_MD_MEM_ACCESS_LOCAL_WRITE: uct_md_mem_flags = 1 << 9;
pub const UCT_MD_MEM_SYMMETRIC_RKEY: uct_md_mem_flags = 1 << 10;
pub const UCT_MD_MEM_GVA: uct_md_mem_flags = 1 << 11;
pub const UCT_MD_MEM_ACCESS_ALL: uct_md_mem_flags = 992;
pub const UCT_MD_MEM_ACCESS_RMA: uct_md_mem_flags = 864;

pub type uct_mem_advice_t = u32;
pub const UCT_MADV_NORMAL: uct_mem_advice_t = 0;
pub const UCT_MADV_WILLNEED: uct_mem_advice_t = 1;

pub type uct_md_mem_attr_field = u32;
pub const UCT_MD_MEM_ATTR_FIELD_MEM_TYPE: uct_md_mem_attr_field = 1 << 0;
pub const UCT_MD_MEM_ATTR_FIELD_SYS_DEV: uct_md_mem_attr_field = 1 << 1;
pub const UCT_MD_MEM_ATTR_FIELD_BASE_ADDRESS: uct_md_mem_attr_field = 1 << 2;
pub const UCT_MD_MEM_ATTR_FIELD_ALLOC_LENGTH: uct_md_mem_attr_field = 1 << 3;
pub const UCT_MD_MEM_ATTR_FIELD_DMABUF_FD: uct_md_mem_attr_field = 1 << 4;
pub const UCT_MD_MEM_ATTR_FIELD_DMABUF_OFFSET: uct_md_mem_attr_field = 1 << 5;

pub type uct_mem_alloc_params_field_t = u32;
pub const UCT_MEM_ALLOC_PARAM_FIELD_FLAGS: uct_mem_alloc_params_field_t = 1 << 0;
pub const UCT_MEM_ALLOC_PARAM_FIELD_ADDRESS: uct_mem_alloc_params_field_t = 1 << 1;
pub const UCT_MEM_ALLOC_PARAM_FIELD_MEM_TYPE: uct_mem_alloc_params_field_t = 1 << 2;
pub const UCT_MEM_ALLOC_PARAM_FIELD_MDS: uct_mem_alloc_params_field_t = 1 << 3;
pub const UCT_MEM_ALLOC_PARAM_FIELD_NAME: uct_mem_alloc_params_field_t = 1 << 4;
pub const UCT_MEM_ALLOC_PARAM_FIELD_SYS_DEVICE: uct_mem_alloc_params_field_t = 1 << 5;

pub type uct_md_resource_desc_t = uct_md_resource_desc;
pub type uct_md_mem_attr_field_t = uct_md_mem_attr_field;
pub type uct_md_mem_attr_t = uct_md_mem_attr;
pub type uct_allocated_memory_t = uct_allocated_memory;
pub type uct_rkey_bundle_t = uct_rkey_bundle;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_md_resource_desc {
    pub md_name: [c_char; 16],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_md_attr_cap {
    pub max_alloc: u64,
    pub max_reg: usize,
    pub flags: u64,
    pub reg_mem_types: u64,
    pub detect_mem_types: u64,
    pub alloc_mem_types: u64,
    pub access_mem_types: u64,
}

/// What a memory domain can do.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_md_attr {
    /// Limits and flags.
    pub cap: uct_md_attr_cap,
    /// Seconds that a registration takes, by its bytes.
    pub reg_cost: ucs_linear_func_t,
    /// Name of the component.
    pub component_name: [c_char; 16],
    /// Bytes of a packed key.
    pub rkey_packed_size: usize,
    /// Processors near the device.
    pub local_cpus: ucs_cpu_set_t,
}

#[repr(C)]
pub struct uct_md_mem_attr {
    pub field_mask: u64,
    pub mem_type: ucs_memory_type_t,
    pub sys_dev: ucs_sys_device_t,
    pub base_address: *mut c_void,
    pub alloc_length: usize,
    pub dmabuf_fd: c_int,
    pub dmabuf_offset: usize,
}

/// Memory that was allocated.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_allocated_memory {
    /// Its address.
    pub address: *mut c_void,
    /// Its bytes.
    pub length: usize,
    /// How it was allocated.
    pub method: uct_alloc_method_t,
    /// Its type.
    pub mem_type: ucs_memory_type_t,
    /// The memory domain, if one allocated it.
    pub md: uct_md_h,
    /// Its handle there.
    pub memh: uct_mem_h,
    /// The device that it is on.
    pub sys_device: ucs_sys_device_t,
}

/// A key and what is needed to release it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_rkey_bundle {
    pub rkey: uct_rkey_t,
    pub handle: *mut c_void,
    pub type_: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_mem_alloc_params_mds {
    pub mds: *const uct_md_h,
    pub count: c_uint,
}

#[repr(C)]
pub struct uct_mem_alloc_params_t {
    pub field_mask: u64,
    pub flags: c_uint,
    pub address: *mut c_void,
    pub mem_type: ucs_memory_type_t,
    pub mds: uct_mem_alloc_params_mds,
    pub name: *const c_char,
    pub sys_device: ucs_sys_device_t,
}
