//! Entry points of `ucp/api/ucp.h`: worker.

use crate::abi::prelude::*;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_create(
    context: ucp_context_h,
    params: *const ucp_worker_params_t,
    worker_p: *mut ucp_worker_h,
) -> ucs_status_t {
    let _ = (context, params, worker_p);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_destroy(worker: ucp_worker_h) {
    let _ = worker;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_query(
    worker: ucp_worker_h,
    attr: *mut ucp_worker_attr_t,
) -> ucs_status_t {
    let _ = (worker, attr);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_print_info(worker: ucp_worker_h, stream: *mut FILE) {
    let _ = (worker, stream);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_release_address(
    worker: ucp_worker_h,
    address: *mut ucp_address_t,
) {
    let _ = (worker, address);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_address_query(
    address: *mut ucp_address_t,
    attr: *mut ucp_worker_address_attr_t,
) -> ucs_status_t {
    let _ = (address, attr);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_progress(worker: ucp_worker_h) -> c_uint {
    let _ = worker;
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_stream_worker_poll(
    worker: ucp_worker_h,
    poll_eps: *mut ucp_stream_poll_ep_t,
    max_eps: usize,
    flags: c_uint,
) -> ssize_t {
    let _ = (worker, poll_eps, max_eps, flags);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_get_efd(worker: ucp_worker_h, fd: *mut c_int) -> ucs_status_t {
    let _ = (worker, fd);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_wait(worker: ucp_worker_h) -> ucs_status_t {
    let _ = worker;
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_wait_mem(worker: ucp_worker_h, address: *mut c_void) {
    let _ = (worker, address);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_arm(worker: ucp_worker_h) -> ucs_status_t {
    let _ = worker;
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_signal(worker: ucp_worker_h) -> ucs_status_t {
    let _ = worker;
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_set_am_recv_handler(
    worker: ucp_worker_h,
    param: *const ucp_am_handler_param_t,
) -> ucs_status_t {
    let _ = (worker, param);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_fence(worker: ucp_worker_h) -> ucs_status_t {
    let _ = worker;
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_flush_nbx(
    worker: ucp_worker_h,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    let _ = (worker, param);
    NOT_IMPLEMENTED_PTR
}
