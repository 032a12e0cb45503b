//! `ucs/debug/debug.h`.

use crate::abi::prelude::*;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_debug_disable_signal(signum: c_int) {
    let _ = signum;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_debug_asan_validate_address(
    ptr_name: *const c_char,
    address: *mut c_void,
    size: usize,
) {
    let _ = (ptr_name, address, size);
}
