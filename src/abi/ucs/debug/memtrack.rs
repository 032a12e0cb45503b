//! `ucs/debug/memtrack.h`.

use crate::abi::prelude::*;

/// Notes memory that was allocated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_memtrack_allocated(
    ptr: *mut c_void,
    size: usize,
    name: *const c_char,
) {
    let _ = (ptr, size, name);
}

/// Notes memory that is about to be freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_memtrack_releasing(ptr: *mut c_void) {
    let _ = ptr;
}
