//! `ucs/datastruct/array.h`.

use crate::abi::prelude::*;

/// Moves an array to larger storage; what the macros of `array.h` call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_array_grow(
    buffer_p: *mut *mut c_void,
    capacity_p: *mut usize,
    min_capacity: usize,
    max_capacity: usize,
    value_size: usize,
    old_buffer_p: *mut *mut c_void,
    array_name: *const c_char,
) -> ucs_status_t {
    let _ = (
        buffer_p,
        capacity_p,
        min_capacity,
        max_capacity,
        value_size,
        old_buffer_p,
        array_name,
    );
    NOT_IMPLEMENTED
}

/// Frees the storage of an array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_array_buffer_free(buffer: *mut c_void) {
    // SAFETY: NULL or from the C heap, by the API.
    unsafe { libc::free(buffer) };
}
