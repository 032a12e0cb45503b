//! Entry points of `ucp/api/ucp.h`: am.

use crate::abi::prelude::*;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_am_send_nbx(
    ep: ucp_ep_h,
    id: c_uint,
    header: *const c_void,
    header_length: usize,
    buffer: *const c_void,
    count: usize,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    let _ = (ep, id, header, header_length, buffer, count, param);
    NOT_IMPLEMENTED_PTR
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_am_recv_data_nbx(
    worker: ucp_worker_h,
    data_desc: *mut c_void,
    buffer: *mut c_void,
    count: usize,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    let _ = (worker, data_desc, buffer, count, param);
    NOT_IMPLEMENTED_PTR
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_am_data_release(worker: ucp_worker_h, data: *mut c_void) {
    let _ = (worker, data);
}
