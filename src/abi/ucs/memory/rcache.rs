//! `ucs/memory/rcache.h`.

use crate::abi::prelude::*;
use crate::abi::support::rcache::Registrations;

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
    let _ = (name, stats_parent);
    if params.is_null() || rcache_p.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: the caller's struct and place.
    unsafe {
        match Registrations::create(&*params) {
            Ok(rcache) => rcache_p.write(rcache),
            Err(error) => return error.into(),
        }
    }
    Status::OK
}

/// Frees a cache of registrations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_rcache_destroy(rcache: *mut ucs_rcache_t) {
    if !rcache.is_null() {
        // SAFETY: a cache that was made, which is not used again.
        unsafe { Registrations::destroy(rcache) };
    }
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
    if rcache.is_null() || region_p.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: a cache that was made; a writable place.
    unsafe {
        let memory = (address.addr(), length);
        match Registrations::get(rcache, memory, alignment, prot, arg) {
            Ok(region) => region_p.write(region),
            Err(error) => return error.into(),
        }
    }
    Status::OK
}

/// Keeps a registration once more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_rcache_region_hold(
    rcache: *mut ucs_rcache_t,
    region: *mut ucs_rcache_region_t,
) {
    // SAFETY: a registration that the caller holds.
    unsafe { Registrations::hold(rcache, region) };
}

/// Lets a registration go.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_rcache_region_put(
    rcache: *mut ucs_rcache_t,
    region: *mut ucs_rcache_region_t,
) {
    // SAFETY: a registration that the caller holds.
    unsafe { Registrations::put(rcache, region) };
}

/// Takes a registration out of the cache; a function is called when nobody holds it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_rcache_region_invalidate(
    rcache: *mut ucs_rcache_t,
    region: *mut ucs_rcache_region_t,
    cb: ucs_rcache_invalidate_comp_func_t,
    arg: *mut c_void,
) {
    // SAFETY: a registration that the caller holds; a function of his.
    unsafe { Registrations::invalidate(rcache, region, (cb, arg)) };
}

/// Sets parameters of a cache to their defaults.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_rcache_set_default_params(rcache_params: *mut ucs_rcache_params_t) {
    if rcache_params.is_null() {
        return;
    }
    // SAFETY: the caller's struct.
    unsafe {
        rcache_params.write(ucs_rcache_params {
            region_struct_size: size_of::<ucs_rcache_region_t>(),
            ucm_events: 0,
            ucm_event_priority: 1000,
            ops: core::ptr::null(),
            context: core::ptr::null_mut(),
            flags: 0,
            max_regions: c_ulong::MAX,
            max_size: usize::MAX,
            max_unreleased: usize::MAX,
        });
    }
}

/// Sets parameters of a cache by its options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_rcache_set_params(
    rcache_params: *mut ucs_rcache_params_t,
    rcache_config: *const ucs_rcache_config_t,
) {
    if rcache_params.is_null() || rcache_config.is_null() {
        return;
    }
    // SAFETY: the caller's structs.
    unsafe {
        ucs_rcache_set_default_params(rcache_params);
        let (params, config) = (&mut *rcache_params, &*rcache_config);
        params.ucm_event_priority = config.event_prio as c_int;
        params.max_regions = config.max_regions;
        params.max_size = config.max_size;
        params.max_unreleased = config.max_unreleased;
        if config.purge_on_fork != 0 {
            params.flags = UCS_RCACHE_FLAG_PURGE_ON_FORK as c_int;
        }
    }
}
