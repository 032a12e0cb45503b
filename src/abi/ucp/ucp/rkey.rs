//! Entry points of `ucp/api/ucp.h`: rkey.

use crate::abi::prelude::*;

/// Compares two keys; `*result` is 0 if they are for the same memory and can be used alike, else
/// negative or positive: an order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_rkey_compare(
    worker: ucp_worker_h,
    rkey1: ucp_rkey_h,
    rkey2: ucp_rkey_h,
    params: *const ucp_rkey_compare_params_t,
    result: *mut c_int,
) -> ucs_status_t {
    let _ = (worker, rkey1, rkey2, params, result);
    NOT_IMPLEMENTED
}

/// Address in this process of remote memory that both processes can access, for loads and stores.
///
/// Returns `UCS_OK`, or `UCS_ERR_UNREACHABLE` if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_rkey_ptr(
    rkey: ucp_rkey_h,
    raddr: u64,
    addr_p: *mut *mut c_void,
) -> ucs_status_t {
    let _ = (rkey, raddr, addr_p);
    NOT_IMPLEMENTED
}

/// Destroys a key. No operation may use it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_rkey_destroy(rkey: ucp_rkey_h) {
    let _ = rkey;
}
