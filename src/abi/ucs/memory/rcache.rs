//! `ucs/memory/rcache.h`.

use crate::abi::prelude::*;

pub const UCS_RCACHE_PROT_FMT: &str = "%c%c";
pub const UCS_RCACHE_MIN_ALIGNMENT: u64 = 1 << 4;

pub struct ucs_rcache {
    _opaque: [u8; 0],
}

pub type ucs_rcache_region_flag_enum = u64;
pub const UCS_RCACHE_REGION_FLAG_REGISTERED: ucs_rcache_region_flag_enum = 1 << 0;
pub const UCS_RCACHE_REGION_FLAG_PGTABLE: ucs_rcache_region_flag_enum = 1 << 1;

pub type ucs_rcache_mem_reg_hide_errors_enum = u64;
pub const UCS_RCACHE_MEM_REG_HIDE_ERRORS: ucs_rcache_mem_reg_hide_errors_enum = 1 << 0;

pub type ucs_rcache_flag_enum = u64;
pub const UCS_RCACHE_FLAG_NO_PFN_CHECK: ucs_rcache_flag_enum = 1 << 0;
pub const UCS_RCACHE_FLAG_PURGE_ON_FORK: ucs_rcache_flag_enum = 1 << 1;
pub const UCS_RCACHE_FLAG_SYNC_EVENTS: ucs_rcache_flag_enum = 1 << 2;
pub const UCS_RCACHE_FLAG_NEED_LRU_LOCK: ucs_rcache_flag_enum = 1 << 3;

pub type ucs_rcache_lru_flag_in_lru_enum = u64;
pub const UCS_RCACHE_LRU_FLAG_IN_LRU: ucs_rcache_lru_flag_in_lru_enum = 1 << 0;

pub type ucs_rcache_t = ucs_rcache;
pub type ucs_rcache_ops_t = ucs_rcache_ops;
pub type ucs_rcache_params_t = ucs_rcache_params;
pub type ucs_rcache_region_t = ucs_rcache_region;
pub type ucs_rcache_config_t = ucs_rcache_config;
pub type ucs_rcache_invalidate_comp_func_t = Option<unsafe extern "C" fn(arg: *mut c_void)>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_rcache_ops {
    pub mem_reg: Option<
        unsafe extern "C" fn(
            *mut c_void,
            *mut ucs_rcache_t,
            *mut c_void,
            *mut ucs_rcache_region_t,
            u16,
        ) -> ucs_status_t,
    >,
    pub mem_dereg:
        Option<unsafe extern "C" fn(*mut c_void, *mut ucs_rcache_t, *mut ucs_rcache_region_t)>,
    pub merge: Option<
        unsafe extern "C" fn(*mut c_void, *mut ucs_rcache_t, *mut c_void, *mut ucs_rcache_region_t),
    >,
    pub dump_region: Option<
        unsafe extern "C" fn(
            *mut c_void,
            *mut ucs_rcache_t,
            *mut ucs_rcache_region_t,
            *mut c_char,
            usize,
        ),
    >,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_rcache_params {
    pub region_struct_size: usize,
    pub ucm_events: c_int,
    pub ucm_event_priority: c_int,
    pub ops: *const ucs_rcache_ops_t,
    pub context: *mut c_void,
    pub flags: c_int,
    pub max_regions: c_ulong,
    pub max_size: usize,
    pub max_unreleased: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_rcache_config {
    pub event_prio: c_uint,
    pub overhead: ucs_time_t,
    pub max_regions: c_ulong,
    pub max_size: usize,
    pub max_unreleased: usize,
    pub purge_on_fork: c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union ucs_rcache_region_anon0 {
    pub priv_: u64,
    pub pfn: *mut c_ulong,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_rcache_region {
    pub super_: ucs_pgt_region_t,
    pub lru_list: ucs_list_link_t,
    pub tmp_list: ucs_list_link_t,
    pub comp_list: ucs_list_link_t,
    pub alignment: usize,
    pub refcount: u32,
    pub status: ucs_status_t,
    pub prot: u8,
    pub flags: u8,
    pub lru_flags: u8,
    pub anon0: ucs_rcache_region_anon0,
}

/// Makes a cache of registrations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_rcache_create(
    params: *const ucs_rcache_params_t,
    name: *const c_char,
    stats_parent: *mut ucs_stats_node_t,
    rcache_p: *mut *mut ucs_rcache_t,
) -> ucs_status_t {
    let _ = (params, name, stats_parent, rcache_p);
    NOT_IMPLEMENTED
}

/// Frees a cache of registrations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_rcache_destroy(rcache: *mut ucs_rcache_t) {
    let _ = rcache;
}

/// A registration of memory, from the cache or new.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_rcache_get(
    rcache: *mut ucs_rcache_t,
    address: *mut c_void,
    length: usize,
    alignment: usize,
    prot: c_int,
    arg: *mut c_void,
    region_p: *mut *mut ucs_rcache_region_t,
) -> ucs_status_t {
    let _ = (rcache, address, length, alignment, prot, arg, region_p);
    NOT_IMPLEMENTED
}

/// Keeps a registration once more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_rcache_region_hold(
    rcache: *mut ucs_rcache_t,
    region: *mut ucs_rcache_region_t,
) {
    let _ = (rcache, region);
}

/// Lets a registration go.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_rcache_region_put(
    rcache: *mut ucs_rcache_t,
    region: *mut ucs_rcache_region_t,
) {
    let _ = (rcache, region);
}

/// Takes a registration out of the cache; a function is called when nobody holds it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_rcache_region_invalidate(
    rcache: *mut ucs_rcache_t,
    region: *mut ucs_rcache_region_t,
    cb: ucs_rcache_invalidate_comp_func_t,
    arg: *mut c_void,
) {
    let _ = (rcache, region, cb, arg);
}

/// Sets parameters of a cache to their defaults.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_rcache_set_default_params(rcache_params: *mut ucs_rcache_params_t) {
    let _ = rcache_params;
}

/// Sets parameters of a cache by its options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_rcache_set_params(
    rcache_params: *mut ucs_rcache_params_t,
    rcache_config: *const ucs_rcache_config_t,
) {
    let _ = (rcache_params, rcache_config);
}
