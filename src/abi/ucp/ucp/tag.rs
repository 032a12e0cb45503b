//! Entry points of `ucp/api/ucp.h`: tag.

use crate::abi::prelude::*;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_tag_send_nbx(
    ep: ucp_ep_h,
    buffer: *const c_void,
    count: usize,
    tag: ucp_tag_t,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    let _ = (ep, buffer, count, tag, param);
    NOT_IMPLEMENTED_PTR
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_tag_send_sync_nbx(
    ep: ucp_ep_h,
    buffer: *const c_void,
    count: usize,
    tag: ucp_tag_t,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    let _ = (ep, buffer, count, tag, param);
    NOT_IMPLEMENTED_PTR
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_tag_recv_nbx(
    worker: ucp_worker_h,
    buffer: *mut c_void,
    count: usize,
    tag: ucp_tag_t,
    tag_mask: ucp_tag_t,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    let _ = (worker, buffer, count, tag, tag_mask, param);
    NOT_IMPLEMENTED_PTR
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_tag_probe_nb(
    worker: ucp_worker_h,
    tag: ucp_tag_t,
    tag_mask: ucp_tag_t,
    remove: c_int,
    info: *mut ucp_tag_recv_info_t,
) -> ucp_tag_message_h {
    let _ = (worker, tag, tag_mask, remove, info);
    core::ptr::null_mut()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_tag_msg_recv_nbx(
    worker: ucp_worker_h,
    buffer: *mut c_void,
    count: usize,
    message: ucp_tag_message_h,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    let _ = (worker, buffer, count, message, param);
    NOT_IMPLEMENTED_PTR
}
