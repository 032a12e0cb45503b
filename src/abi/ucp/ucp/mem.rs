//! Entry points of `ucp/api/ucp.h`: mem.

use crate::abi::prelude::*;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_mem_map(
    context: ucp_context_h,
    params: *const ucp_mem_map_params_t,
    memh_p: *mut ucp_mem_h,
) -> ucs_status_t {
    let _ = (context, params, memh_p);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_mem_unmap(context: ucp_context_h, memh: ucp_mem_h) -> ucs_status_t {
    let _ = (context, memh);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_mem_query(memh: ucp_mem_h, attr: *mut ucp_mem_attr_t) -> ucs_status_t {
    let _ = (memh, attr);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_mem_print_info(
    mem_spec: *const c_char,
    context: ucp_context_h,
    stream: *mut FILE,
) {
    let _ = (mem_spec, context, stream);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_mem_advise(
    context: ucp_context_h,
    memh: ucp_mem_h,
    params: *mut ucp_mem_advise_params_t,
) -> ucs_status_t {
    let _ = (context, memh, params);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_memh_pack(
    memh: ucp_mem_h,
    params: *const ucp_memh_pack_params_t,
    buffer_p: *mut *mut c_void,
    buffer_size_p: *mut usize,
) -> ucs_status_t {
    let _ = (memh, params, buffer_p, buffer_size_p);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_memh_buffer_release(
    buffer: *mut c_void,
    params: *const ucp_memh_buffer_release_params_t,
) {
    let _ = (buffer, params);
}
