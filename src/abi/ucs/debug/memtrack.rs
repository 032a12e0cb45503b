//! `ucs/debug/memtrack.h`.

use crate::abi::prelude::*;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_memtrack_allocated(
    ptr: *mut c_void,
    size: usize,
    name: *const c_char,
) {
    let _ = (ptr, size, name);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_memtrack_releasing(ptr: *mut c_void) {
    let _ = ptr;
}
