//! Entry points of `ucp/api/ucp_compat.h`: endpoints and addresses.

use crate::abi::prelude::*;
use crate::abi::ucp::convert;
use crate::ucp::request::Callback;
use crate::ucp::worker::ReqOptions;

/// Changes the error handler and the user data of an endpoint.
///
/// Returns NULL, or `UCS_ERR_INVALID_PARAM` as a pointer for anything else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_modify_nb(
    ep: ucp_ep_h,
    params: *const ucp_ep_params_t,
) -> ucs_status_ptr_t {
    // SAFETY: a live endpoint, and parameters as their mask describes them.
    match unsafe { crate::abi::ucp::ucp::ep::modify(ep, params) } {
        Ok(()) => core::ptr::null_mut(),
        Err(error) => status_ptr(error.into()),
    }
}

/// The address of a worker, which another process passes to `ucp_ep_create`, and its length in
/// bytes. To be released by `ucp_worker_release_address`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_get_address(
    worker: ucp_worker_h,
    address_p: *mut *mut ucp_address_t,
    address_length_p: *mut usize,
) -> ucs_status_t {
    // SAFETY: a live worker, and places for the results.
    unsafe {
        let (Ok(worker), Some(to), Some(len)) = (
            convert::worker(worker),
            address_p.as_mut(),
            address_length_p.as_mut(),
        ) else {
            return Error::InvalidParam.into();
        };
        let _guard = worker.enter();
        (*to, *len) = crate::abi::ucp::ucp::worker::give_address(worker, false);
        if to.is_null() {
            Error::NoMemory.into()
        } else {
            Status::OK
        }
    }
}

/// Older form of `ucp_ep_close_nbx`; `mode` is one of `ucp_ep_close_mode`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_close_nb(ep: ucp_ep_h, mode: c_uint) -> ucs_status_ptr_t {
    // SAFETY: a live endpoint.
    unsafe {
        convert::status_ptr_of(convert::with_ep(ep, |ep| {
            let force = mode == UCP_EP_CLOSE_MODE_FORCE as c_uint;
            crate::abi::ucp::ucp::ep::close(ep, &ReqOptions::default(), force)
        }))
    }
}

/// Older form of `ucp_ep_flush_nbx`. `flags` must be 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_flush_nb(
    ep: ucp_ep_h,
    flags: c_uint,
    cb: ucp_send_callback_t,
) -> ucs_status_ptr_t {
    let _ = flags;
    let callback = cb.map_or(Callback::None, Callback::Send);
    // SAFETY: a live endpoint.
    unsafe {
        convert::status_ptr_of(convert::with_ep(ep, |ep| {
            ep.flush(&convert::old_options(callback))
        }))
    }
}
