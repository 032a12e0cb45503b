//! Entry points of `ucp/api/ucp_compat.h`: put and get.

use std::rc::Rc;

use crate::abi::prelude::*;
use crate::abi::ucp::convert;
use crate::abi::ucp::ucp::rma;
use crate::ucp::request::Callback;
use crate::ucp::worker::{Posted, Worker};

/// What the calls return whose name ends in nbi: nobody holds the request.
fn forget(worker: &Rc<Worker>, posted: Result<Posted, Error>) -> ucs_status_t {
    match posted {
        Ok(Posted::Now(result, _)) => result.into(),
        Err(error) => error.into(),
        Ok(Posted::Later(req)) => {
            req.free(&worker.requests);
            Status::INPROGRESS
        }
    }
}

/// Older form of `ucp_put_nbx`: without a request, completed by a flush.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_put_nbi(
    ep: ucp_ep_h,
    buffer: *const c_void,
    length: usize,
    remote_addr: u64,
    rkey: ucp_rkey_h,
) -> ucs_status_t {
    let options = convert::old_options(Callback::None);
    // SAFETY: the caller's, as the API describes them.
    let posted = unsafe {
        convert::with_ep(ep, |ep| {
            let posted = rma::post_put(
                ep,
                buffer,
                length,
                convert::DT_BYTE,
                remote_addr,
                rkey,
                &options,
            );
            Ok(forget(ep.worker(), posted))
        })
    };
    posted.unwrap_or_else(Status::from)
}

/// Older form of `ucp_put_nbx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_put_nb(
    ep: ucp_ep_h,
    buffer: *const c_void,
    length: usize,
    remote_addr: u64,
    rkey: ucp_rkey_h,
    cb: ucp_send_callback_t,
) -> ucs_status_ptr_t {
    let options = convert::old_options(cb.map_or(Callback::None, Callback::Send));
    // SAFETY: the caller's, as the API describes them.
    unsafe {
        convert::status_ptr_of(convert::with_ep(ep, |ep| {
            rma::post_put(
                ep,
                buffer,
                length,
                convert::DT_BYTE,
                remote_addr,
                rkey,
                &options,
            )
        }))
    }
}

/// Older form of `ucp_get_nbx`: without a request, completed by a flush.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_get_nbi(
    ep: ucp_ep_h,
    buffer: *mut c_void,
    length: usize,
    remote_addr: u64,
    rkey: ucp_rkey_h,
) -> ucs_status_t {
    let options = convert::old_options(Callback::None);
    // SAFETY: the caller's, as the API describes them.
    let posted = unsafe {
        convert::with_ep(ep, |ep| {
            let posted = rma::post_get(
                ep,
                buffer,
                length,
                convert::DT_BYTE,
                remote_addr,
                rkey,
                &options,
            );
            Ok(forget(ep.worker(), posted))
        })
    };
    posted.unwrap_or_else(Status::from)
}

/// Older form of `ucp_get_nbx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_get_nb(
    ep: ucp_ep_h,
    buffer: *mut c_void,
    length: usize,
    remote_addr: u64,
    rkey: ucp_rkey_h,
    cb: ucp_send_callback_t,
) -> ucs_status_ptr_t {
    let options = convert::old_options(cb.map_or(Callback::None, Callback::Send));
    // SAFETY: the caller's, as the API describes them.
    unsafe {
        convert::status_ptr_of(convert::with_ep(ep, |ep| {
            rma::post_get(
                ep,
                buffer,
                length,
                convert::DT_BYTE,
                remote_addr,
                rkey,
                &options,
            )
        }))
    }
}
