//! Entry points of `uct/api/uct.h`: ep.

use crate::abi::prelude::*;
use crate::abi::support::transport::create;
use crate::field;

/// Checks whether the peer is alive; if not, the interface's error handler is called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_check(
    ep: uct_ep_h,
    flags: c_uint,
    comp: *mut uct_completion_t,
) -> ucs_status_t {
    // SAFETY: NULL, or an endpoint, whose interface begins with its operations.
    unsafe {
        match operations(ep).and_then(|ops| ops.ep_check) {
            Some(op) => op(ep, flags, comp),
            None => Error::InvalidParam.into(),
        }
    }
}

/// Creates an endpoint. What `params` holds says whether it connects to an interface, to another
/// endpoint (later, by `uct_ep_connect_to_ep`), or by a socket address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_create(
    params: *const uct_ep_params_t,
    ep_p: *mut uct_ep_h,
) -> ucs_status_t {
    // SAFETY: the caller's struct, as its mask describes it; a writable place; an interface begins
    // with its operations, which a program may have replaced.
    unsafe {
        let iface = Params::new(params).ok();
        let iface = iface.and_then(|params| field!(params, UCT_EP_PARAM_FIELD_IFACE, iface));
        match iface.and_then(|iface| iface.as_ref()?.ops.ep_create) {
            Some(op) => op(params, ep_p),
            None => create::ep(params, ep_p),
        }
    }
}

/// Destroys an endpoint.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_destroy(ep: uct_ep_h) {
    // SAFETY: NULL, or an endpoint that is not used again.
    unsafe {
        if let Some(destroy) = operations(ep).and_then(|ops| ops.ep_destroy) {
            destroy(ep);
        }
    }
}

/// Writes the address of an endpoint, of as many bytes as the interface's attributes say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_get_address(
    ep: uct_ep_h,
    addr: *mut uct_ep_addr_t,
) -> ucs_status_t {
    // SAFETY: NULL, or an endpoint, whose interface begins with its operations.
    unsafe {
        match operations(ep).and_then(|ops| ops.ep_get_address) {
            Some(op) => op(ep, addr),
            None => Error::InvalidParam.into(),
        }
    }
}

/// The operations of an endpoint's interface.
///
/// # Safety
/// `ep` is NULL or live.
pub(crate) unsafe fn operations<'a>(ep: uct_ep_h) -> Option<&'a uct_iface_ops_t> {
    // SAFETY: as the caller says.
    unsafe { Some(&ep.as_ref()?.iface.as_ref()?.ops) }
}
