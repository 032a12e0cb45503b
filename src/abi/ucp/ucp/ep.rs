//! Entry points of `ucp/api/ucp.h`: ep.

use crate::abi::prelude::*;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_create(
    worker: ucp_worker_h,
    params: *const ucp_ep_params_t,
    ep_p: *mut ucp_ep_h,
) -> ucs_status_t {
    let _ = (worker, params, ep_p);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_close_nbx(
    ep: ucp_ep_h,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    let _ = (ep, param);
    NOT_IMPLEMENTED_PTR
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_print_info(ep: ucp_ep_h, stream: *mut FILE) {
    let _ = (ep, stream);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_flush_nbx(
    ep: ucp_ep_h,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    let _ = (ep, param);
    NOT_IMPLEMENTED_PTR
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_evaluate_perf(
    ep: ucp_ep_h,
    param: *const ucp_ep_evaluate_perf_param_t,
    attr: *mut ucp_ep_evaluate_perf_attr_t,
) -> ucs_status_t {
    let _ = (ep, param, attr);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_rkey_unpack(
    ep: ucp_ep_h,
    rkey_buffer: *const c_void,
    rkey_p: *mut ucp_rkey_h,
) -> ucs_status_t {
    let _ = (ep, rkey_buffer, rkey_p);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_query(ep: ucp_ep_h, attr: *mut ucp_ep_attr_t) -> ucs_status_t {
    let _ = (ep, attr);
    NOT_IMPLEMENTED
}
