//! Entry points of `ucp/api/ucp.h`: rma.

use crate::abi::prelude::*;

/// Writes `count` elements at `buffer` to the peer's memory at `remote_addr`.
///
/// Returns NULL if the buffer may be used again, a request, or an error as a pointer. A flush makes
/// sure that it is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_put_nbx(
    ep: ucp_ep_h,
    buffer: *const c_void,
    count: usize,
    remote_addr: u64,
    rkey: ucp_rkey_h,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    let _ = (ep, buffer, count, remote_addr, rkey, param);
    NOT_IMPLEMENTED_PTR
}

/// Reads `count` elements from the peer's memory at `remote_addr` to `buffer`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_get_nbx(
    ep: ucp_ep_h,
    buffer: *mut c_void,
    count: usize,
    remote_addr: u64,
    rkey: ucp_rkey_h,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    let _ = (ep, buffer, count, remote_addr, rkey, param);
    NOT_IMPLEMENTED_PTR
}
