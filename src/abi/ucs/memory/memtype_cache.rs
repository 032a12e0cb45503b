//! `ucs/memory/memtype_cache.h`.

use crate::abi::prelude::*;
use crate::ucs::memory::{MemoryType, cache};

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

/// Type of the memory at an address.
///
/// Returns `UCS_OK`, `UCS_ERR_NO_ELEM` for host memory, `UCS_ERR_UNSUPPORTED` if there is no cache.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_memtype_cache_lookup(
    address: *const c_void,
    size: usize,
    mem_info: *mut ucs_memory_info_t,
) -> ucs_status_t {
    let _ = size;
    if mem_info.is_null() {
        return Error::InvalidParam.into();
    }
    if !cache::is_enabled() {
        return Error::Unsupported.into();
    }
    let Some(region) = cache::region(address.addr()) else {
        return Error::NoElem.into();
    };
    // SAFETY: room for the answer.
    unsafe {
        mem_info.write(ucs_memory_info {
            type_: region.info.kind.0.into(),
            sys_dev: UCS_SYS_DEVICE_ID_UNKNOWN as ucs_sys_device_t,
            base_address: core::ptr::with_exposed_provenance_mut(region.base),
            alloc_length: region.len,
            mem_flags: 0,
        });
    }
    Status::OK
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
    let _ = (sys_dev, mem_flags);
    if cache::is_enabled() {
        let kind = MemoryType::of(mem_type);
        cache::note(address.addr(), size, cache::Info::of(kind));
    }
}

/// Forgets the type of memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_memtype_cache_remove(address: *const c_void, size: usize) {
    cache::forget(address.addr(), size);
}
