//! Entry points of `ucp/api/ucp.h`: request.

use crate::abi::prelude::*;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_request_query(
    request: *mut c_void,
    attr: *mut ucp_request_attr_t,
) -> ucs_status_t {
    let _ = (request, attr);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_request_check_status(request: *mut c_void) -> ucs_status_t {
    let _ = request;
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_tag_recv_request_test(
    request: *mut c_void,
    info: *mut ucp_tag_recv_info_t,
) -> ucs_status_t {
    let _ = (request, info);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_stream_recv_request_test(
    request: *mut c_void,
    length_p: *mut usize,
) -> ucs_status_t {
    let _ = (request, length_p);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_request_cancel(worker: ucp_worker_h, request: *mut c_void) {
    let _ = (worker, request);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_request_free(request: *mut c_void) {
    let _ = request;
}
