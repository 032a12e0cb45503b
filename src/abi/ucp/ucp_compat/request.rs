//! Entry points of `ucp/api/ucp_compat.h`: requests, and the first ways to close an endpoint.

use super::wait;
use crate::abi::prelude::*;
use crate::abi::ucp::convert;
use crate::ucp::request::flag;
use crate::ucp::worker::ReqOptions;

/// 1 if the operation has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_request_is_completed(request: *mut c_void) -> c_int {
    // SAFETY: a live request.
    let status = unsafe { convert::request(request) }.map(|req| req.status());
    c_int::from(status.is_some_and(|status| status != Status::INPROGRESS))
}

/// Frees a request; of one that is in progress, when it ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_request_release(request: *mut c_void) {
    // SAFETY: a live request; its worker lives as long as its requests.
    unsafe {
        if let Some(req) = convert::request(request)
            && let Some(worker) = req.worker_ptr().as_ref()
        {
            let _guard = worker.enter();
            req.release(&worker.requests);
        }
    }
}

/// Blocking form of `ucp_ep_close_nbx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_destroy(ep: ucp_ep_h) {
    // SAFETY: a live endpoint.
    let closed = unsafe {
        convert::with_ep(ep, |ep| {
            let worker = ep.worker().clone();
            let posted = crate::abi::ucp::ucp::ep::close(ep, &ReqOptions::default(), false)?;
            Ok(wait(&worker, Ok(posted)))
        })
    };
    if let Err(error) = closed {
        crate::ucs_warn!("disconnect failed: {error}");
    }
}

/// Oldest form of `ucp_ep_close_nbx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_disconnect_nb(ep: ucp_ep_h) -> ucs_status_ptr_t {
    // SAFETY: forwarded to the caller.
    unsafe { ucp_ep_close_nb(ep, UCP_EP_CLOSE_MODE_FLUSH as c_uint) }
}

/// A request for the calls whose name ends in nbr. To be freed by `ucp_request_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_request_alloc(worker: ucp_worker_h) -> *mut c_void {
    // SAFETY: a live worker.
    unsafe {
        let Ok(worker) = convert::worker(worker) else {
            return core::ptr::null_mut();
        };
        let _guard = worker.enter();
        worker
            .new_request(&ReqOptions::default())
            .map_or(core::ptr::null_mut(), |req| req.area())
    }
}

/// Like `ucp_tag_recv_request_test`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_request_test(
    request: *mut c_void,
    info: *mut ucp_tag_recv_info_t,
) -> ucs_status_t {
    // SAFETY: forwarded to the caller.
    unsafe {
        match convert::request(request) {
            Some(req) if req.has_flags(flag::RECV) => ucp_tag_recv_request_test(request, info),
            _ => ucp_request_check_status(request),
        }
    }
}
