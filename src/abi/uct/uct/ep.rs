//! Entry points of `uct/api/uct.h`: ep.

use crate::abi::prelude::*;

/// Checks whether the peer is alive; if not, the interface's error handler is called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_check(
    ep: uct_ep_h,
    flags: c_uint,
    comp: *mut uct_completion_t,
) -> ucs_status_t {
    let _ = (ep, flags, comp);
    NOT_IMPLEMENTED
}

/// Creates an endpoint. What `params` holds says whether it connects to an interface, to another
/// endpoint (later, by `uct_ep_connect_to_ep`), or by a socket address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_create(
    params: *const uct_ep_params_t,
    ep_p: *mut uct_ep_h,
) -> ucs_status_t {
    let _ = (params, ep_p);
    NOT_IMPLEMENTED
}

/// Destroys an endpoint.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_destroy(ep: uct_ep_h) {
    let _ = ep;
}

/// Writes the address of an endpoint, of as many bytes as the interface's attributes say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_get_address(
    ep: uct_ep_h,
    addr: *mut uct_ep_addr_t,
) -> ucs_status_t {
    let _ = (ep, addr);
    NOT_IMPLEMENTED
}
