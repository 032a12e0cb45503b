//! Entry points of `ucp/api/ucp.h`: listener.

use crate::abi::prelude::*;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_listener_create(
    worker: ucp_worker_h,
    params: *const ucp_listener_params_t,
    listener_p: *mut ucp_listener_h,
) -> ucs_status_t {
    let _ = (worker, params, listener_p);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_listener_destroy(listener: ucp_listener_h) {
    let _ = listener;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_listener_query(
    listener: ucp_listener_h,
    attr: *mut ucp_listener_attr_t,
) -> ucs_status_t {
    let _ = (listener, attr);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_conn_request_query(
    conn_request: ucp_conn_request_h,
    attr: *mut ucp_conn_request_attr_t,
) -> ucs_status_t {
    let _ = (conn_request, attr);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_listener_reject(
    listener: ucp_listener_h,
    conn_request: ucp_conn_request_h,
) -> ucs_status_t {
    let _ = (listener, conn_request);
    NOT_IMPLEMENTED
}
