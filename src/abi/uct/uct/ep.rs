//! Entry points of `uct/api/uct.h`: ep.

use crate::abi::prelude::*;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_check(
    ep: uct_ep_h,
    flags: c_uint,
    comp: *mut uct_completion_t,
) -> ucs_status_t {
    let _ = (ep, flags, comp);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_create(
    params: *const uct_ep_params_t,
    ep_p: *mut uct_ep_h,
) -> ucs_status_t {
    let _ = (params, ep_p);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_destroy(ep: uct_ep_h) {
    let _ = ep;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_get_address(
    ep: uct_ep_h,
    addr: *mut uct_ep_addr_t,
) -> ucs_status_t {
    let _ = (ep, addr);
    NOT_IMPLEMENTED
}
