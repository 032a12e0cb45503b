//! Entry points of `ucp/api/ucp_compat.h`: packed keys.

use crate::abi::prelude::*;

/// Packs the key of registered memory to be sent to peers: `*size_p` bytes. To be released by
/// `ucp_rkey_buffer_release`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_rkey_pack(
    context: ucp_context_h,
    memh: ucp_mem_h,
    rkey_buffer_p: *mut *mut c_void,
    size_p: *mut usize,
) -> ucs_status_t {
    let _ = context;
    // SAFETY: a live handle, and places for the results.
    unsafe { crate::abi::ucp::ucp::rkey::pack(memh, false, rkey_buffer_p, size_p) }.into()
}

/// Releases what `ucp_rkey_pack` gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_rkey_buffer_release(rkey_buffer: *mut c_void) {
    // SAFETY: from `ucp_rkey_pack`, or NULL, and not used again.
    unsafe { crate::abi::ucp::ucp::rkey::release(rkey_buffer) };
}
