//! The C functions that these tests call.

use core::ffi::{c_int, c_uint, c_void};

use crate::abi::prelude::*;
use crate::tools::library::functions;

functions! {
    fn ucp_mem_map(
        context: ucp_context_h,
        params: *const ucp_mem_map_params_t,
        memh: *mut ucp_mem_h,
    ) -> ucs_status_t;
    fn ucp_mem_query(memh: ucp_mem_h, attr: *mut ucp_mem_attr_t) -> ucs_status_t;
    fn ucp_mem_unmap(context: ucp_context_h, memh: ucp_mem_h) -> ucs_status_t;
    fn ucp_rkey_pack(
        context: ucp_context_h,
        memh: ucp_mem_h,
        buffer: *mut *mut c_void,
        size: *mut usize,
    ) -> ucs_status_t;
    fn ucp_rkey_buffer_release(buffer: *mut c_void);
    fn ucp_ep_rkey_unpack(ep: ucp_ep_h, buffer: *const c_void, rkey: *mut ucp_rkey_h) -> ucs_status_t;
    fn ucp_rkey_destroy(rkey: ucp_rkey_h);
    fn ucp_worker_progress(worker: ucp_worker_h) -> c_uint;
    fn ucp_worker_wait(worker: ucp_worker_h) -> ucs_status_t;
    fn ucp_worker_fence(worker: ucp_worker_h) -> ucs_status_t;
    fn ucp_worker_flush_nbx(worker: ucp_worker_h, param: *const ucp_request_param_t) -> ucs_status_ptr_t;
    fn ucp_worker_query(worker: ucp_worker_h, attr: *mut ucp_worker_attr_t) -> ucs_status_t;
    fn ucp_worker_set_am_recv_handler(
        worker: ucp_worker_h,
        param: *const ucp_am_handler_param_t,
    ) -> ucs_status_t;
    fn ucp_request_free(request: *mut c_void);
    fn ucp_request_release(request: *mut c_void);
    fn ucp_request_query(request: *mut c_void, attr: *mut ucp_request_attr_t) -> ucs_status_t;
    fn ucp_tag_send_nbx(
        ep: ucp_ep_h,
        buffer: *const c_void,
        count: usize,
        tag: ucp_tag_t,
        param: *const ucp_request_param_t,
    ) -> ucs_status_ptr_t;
    fn ucp_tag_send_sync_nbx(
        ep: ucp_ep_h,
        buffer: *const c_void,
        count: usize,
        tag: ucp_tag_t,
        param: *const ucp_request_param_t,
    ) -> ucs_status_ptr_t;
    fn ucp_tag_recv_nbx(
        worker: ucp_worker_h,
        buffer: *mut c_void,
        count: usize,
        tag: ucp_tag_t,
        mask: ucp_tag_t,
        param: *const ucp_request_param_t,
    ) -> ucs_status_ptr_t;
    fn ucp_tag_probe_nb(
        worker: ucp_worker_h,
        tag: ucp_tag_t,
        mask: ucp_tag_t,
        remove: c_int,
        info: *mut ucp_tag_recv_info_t,
    ) -> ucp_tag_message_h;
    fn ucp_stream_send_nbx(
        ep: ucp_ep_h,
        buffer: *const c_void,
        count: usize,
        param: *const ucp_request_param_t,
    ) -> ucs_status_ptr_t;
    fn ucp_stream_recv_nbx(
        ep: ucp_ep_h,
        buffer: *mut c_void,
        count: usize,
        length: *mut usize,
        param: *const ucp_request_param_t,
    ) -> ucs_status_ptr_t;
    fn ucp_stream_recv_request_test(request: *mut c_void, length: *mut usize) -> ucs_status_t;
    fn ucp_stream_recv_data_nb(ep: ucp_ep_h, length: *mut usize) -> ucs_status_ptr_t;
    fn ucp_stream_data_release(ep: ucp_ep_h, data: *mut c_void);
    fn ucp_am_send_nbx(
        ep: ucp_ep_h,
        id: c_uint,
        header: *const c_void,
        header_length: usize,
        buffer: *const c_void,
        count: usize,
        param: *const ucp_request_param_t,
    ) -> ucs_status_ptr_t;
    fn ucp_am_recv_data_nbx(
        worker: ucp_worker_h,
        desc: *mut c_void,
        buffer: *mut c_void,
        count: usize,
        param: *const ucp_request_param_t,
    ) -> ucs_status_ptr_t;
    fn ucp_put_nbx(
        ep: ucp_ep_h,
        buffer: *const c_void,
        count: usize,
        remote: u64,
        rkey: ucp_rkey_h,
        param: *const ucp_request_param_t,
    ) -> ucs_status_ptr_t;
    fn ucp_get_nbx(
        ep: ucp_ep_h,
        buffer: *mut c_void,
        count: usize,
        remote: u64,
        rkey: ucp_rkey_h,
        param: *const ucp_request_param_t,
    ) -> ucs_status_ptr_t;
    fn ucp_atomic_op_nbx(
        ep: ucp_ep_h,
        op: ucp_atomic_op_t,
        buffer: *const c_void,
        count: usize,
        remote: u64,
        rkey: ucp_rkey_h,
        param: *const ucp_request_param_t,
    ) -> ucs_status_ptr_t;
}
