//! `ucs/debug/debug.h`.

use crate::abi::prelude::*;

/// Takes back the handler of a signal, if there is one of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_debug_disable_signal(signum: c_int) {
    let _ = signum;
}

/// Under the address sanitizer: stops the program if `size` bytes aren't accessible.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_debug_asan_validate_address(
    ptr_name: *const c_char,
    address: *mut c_void,
    size: usize,
) {
    let _ = (ptr_name, address, size);
}
