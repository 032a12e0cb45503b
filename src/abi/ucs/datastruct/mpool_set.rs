//! `ucs/datastruct/mpool_set.h`.

use crate::abi::prelude::*;

pub const UCS_MPOOL_SET_SIZE: i32 = 32;
pub const UCS_MPOOL_SET_MAX_SIZE: u64 = 1 << 30;

pub type ucs_mpool_set_t = ucs_mpool_set;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_mpool_set {
    pub bitmap: u32,
    pub map: [*mut ucs_mpool_t; 32],
    pub data: *mut c_void,
}

/// Makes a set of pools of increasing object sizes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_set_init(
    mp_set: *mut ucs_mpool_set_t,
    sizes: *mut usize,
    sizes_count: c_uint,
    max_mp_entry_size: usize,
    priv_size: usize,
    priv_elem_size: usize,
    align_offset: usize,
    alignment: usize,
    elems_per_chunk: c_uint,
    max_elems: c_uint,
    ops: *mut ucs_mpool_ops_t,
    name: *const c_char,
) -> ucs_status_t {
    let _ = (
        mp_set,
        sizes,
        sizes_count,
        max_mp_entry_size,
        priv_size,
        priv_elem_size,
        align_offset,
        alignment,
        elems_per_chunk,
        max_elems,
        ops,
        name,
    );
    NOT_IMPLEMENTED
}

/// Frees a set of pools.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_set_cleanup(mp_set: *mut ucs_mpool_set_t, leak_check: c_int) {
    let _ = (mp_set, leak_check);
}

/// The user's part of a set of pools.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_set_priv(mp_set: *mut ucs_mpool_set_t) -> *mut c_void {
    let _ = mp_set;
    core::ptr::null_mut()
}

/// Name of a set of pools.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mpool_set_name(mp_set: *mut ucs_mpool_set_t) -> *const c_char {
    let _ = mp_set;
    core::ptr::null()
}
