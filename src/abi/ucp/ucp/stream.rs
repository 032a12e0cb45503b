//! Entry points of `ucp/api/ucp.h`: stream.

use crate::abi::prelude::*;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_stream_send_nbx(
    ep: ucp_ep_h,
    buffer: *const c_void,
    count: usize,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    let _ = (ep, buffer, count, param);
    NOT_IMPLEMENTED_PTR
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_stream_recv_nbx(
    ep: ucp_ep_h,
    buffer: *mut c_void,
    count: usize,
    length: *mut usize,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    let _ = (ep, buffer, count, length, param);
    NOT_IMPLEMENTED_PTR
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_stream_recv_data_nb(
    ep: ucp_ep_h,
    length: *mut usize,
) -> ucs_status_ptr_t {
    let _ = (ep, length);
    NOT_IMPLEMENTED_PTR
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_stream_data_release(ep: ucp_ep_h, data: *mut c_void) {
    let _ = (ep, data);
}
