//! `ucs/memory/memtype_cache.h`.

use crate::abi::prelude::*;

pub struct ucs_memtype_cache_region {
    _opaque: [u8; 0],
}

pub type ucs_memtype_cache_t = ucs_memtype_cache;
pub type ucs_memtype_cache_region_t = ucs_memtype_cache_region;
pub type ucs_memory_info_t = ucs_memory_info;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_memory_info {
    pub type_: ucs_memory_type_t,
    pub sys_dev: ucs_sys_device_t,
    pub base_address: *mut c_void,
    pub alloc_length: usize,
    pub mem_flags: u8,
}

#[repr(C)]
pub struct ucs_memtype_cache {
    pub lock: ucs_spinlock_t,
    pub pgtable: ucs_pgtable_t,
}

/// Makes the cache of memory types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_memtype_cache_global_init() {}

/// Frees the cache of memory types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_memtype_cache_cleanup() {}

/// Type of the memory at an address; `UCS_ERR_NO_ELEM` if it is not in the cache.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_memtype_cache_lookup(
    address: *const c_void,
    size: usize,
    mem_info: *mut ucs_memory_info_t,
) -> ucs_status_t {
    let _ = (address, size, mem_info);
    NOT_IMPLEMENTED
}

/// Notes the type of memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_memtype_cache_update(
    address: *const c_void,
    size: usize,
    mem_type: ucs_memory_type_t,
    sys_dev: ucs_sys_device_t,
    mem_flags: u8,
) {
    let _ = (address, size, mem_type, sys_dev, mem_flags);
}

/// Forgets the type of memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_memtype_cache_remove(address: *const c_void, size: usize) {
    let _ = (address, size);
}
