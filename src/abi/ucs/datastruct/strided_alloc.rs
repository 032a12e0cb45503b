//! `ucs/datastruct/strided_alloc.h`.

use crate::abi::prelude::*;

pub const UCS_STRIDED_ALLOC_STRIDE: u64 = 1 << 17;

pub struct ucs_strided_alloc_elem {
    _opaque: [u8; 0],
}

pub type ucs_strided_alloc_elem_t = ucs_strided_alloc_elem;
pub type ucs_strided_alloc_t = ucs_strided_alloc;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_strided_alloc {
    pub freelist: *mut ucs_strided_alloc_elem_t,
    pub chunks: ucs_queue_head_t,
    pub elem_size: usize,
    pub stride_count: c_uint,
    pub inuse_count: c_uint,
}

/// Makes an allocator of objects whose parts lie far from each other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_strided_alloc_init(
    sa: *mut ucs_strided_alloc_t,
    elem_size: usize,
    stride_count: c_uint,
) {
    let _ = (sa, elem_size, stride_count);
}

/// Frees an allocator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_strided_alloc_cleanup(sa: *mut ucs_strided_alloc_t) {
    let _ = sa;
}

/// An object: a pointer to its first part.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_strided_alloc_get(
    sa: *mut ucs_strided_alloc_t,
    alloc_name: *const c_char,
) -> *mut c_void {
    let _ = (sa, alloc_name);
    core::ptr::null_mut()
}

/// Gives an object back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_strided_alloc_put(sa: *mut ucs_strided_alloc_t, base: *mut c_void) {
    let _ = (sa, base);
}

/// Number of objects in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_strided_alloc_inuse_count(sa: *mut ucs_strided_alloc_t) -> c_uint {
    let _ = sa;
    0
}
