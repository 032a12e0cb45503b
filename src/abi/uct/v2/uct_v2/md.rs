//! Entry points of `uct/api/v2/uct_v2.h`: md.

use crate::abi::prelude::*;

/// Like `uct_md_mem_reg`, with parameters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_mem_reg_v2(
    md: uct_md_h,
    address: *mut c_void,
    length: usize,
    params: *const uct_md_mem_reg_params_t,
    memh_p: *mut uct_mem_h,
) -> ucs_status_t {
    let _ = (md, address, length, params, memh_p);
    NOT_IMPLEMENTED
}

/// Like `uct_md_mem_dereg`, with parameters: it can invalidate the keys of the memory first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_mem_dereg_v2(
    md: uct_md_h,
    params: *const uct_md_mem_dereg_params_t,
) -> ucs_status_t {
    let _ = (md, params);
    NOT_IMPLEMENTED
}

/// Like `uct_md_mem_query`, with more attributes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_mem_query_v2(
    md: uct_md_h,
    address: *const c_void,
    length: usize,
    mem_attr: *mut uct_md_mem_attr_v2_t,
) -> ucs_status_t {
    let _ = (md, address, length, mem_attr);
    NOT_IMPLEMENTED
}

/// Like `uct_md_query`, but writes only what the mask of `md_attr` asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_query_v2(
    md: uct_md_h,
    md_attr: *mut uct_md_attr_v2_t,
) -> ucs_status_t {
    let _ = (md, md_attr);
    NOT_IMPLEMENTED
}

/// Packs a key for a range of registered memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_mkey_pack_v2(
    md: uct_md_h,
    memh: uct_mem_h,
    address: *mut c_void,
    length: usize,
    params: *const uct_md_mkey_pack_params_t,
    mkey_buffer: *mut c_void,
) -> ucs_status_t {
    let _ = (md, memh, address, length, params, mkey_buffer);
    NOT_IMPLEMENTED
}

/// Makes a memory handle out of one that another process of this host exported.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_mem_attach(
    md: uct_md_h,
    mkey_buffer: *const c_void,
    params: *mut uct_md_mem_attach_params_t,
    memh_p: *mut uct_mem_h,
) -> ucs_status_t {
    let _ = (md, mkey_buffer, params, memh_p);
    NOT_IMPLEMENTED
}

/// Compares two keys; `*result` is 0 if they are equal, else negative or positive: an order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_rkey_compare(
    component: uct_component_h,
    rkey1: uct_rkey_t,
    rkey2: uct_rkey_t,
    params: *const uct_rkey_compare_params_t,
    result: *mut c_int,
) -> ucs_status_t {
    let _ = (component, rkey1, rkey2, params, result);
    NOT_IMPLEMENTED
}

/// Like `uct_rkey_unpack`, with parameters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_rkey_unpack_v2(
    component: uct_component_h,
    rkey_buffer: *const c_void,
    params: *const uct_rkey_unpack_params_t,
    rkey_ob: *mut uct_rkey_bundle_t,
) -> ucs_status_t {
    let _ = (component, rkey_buffer, params, rkey_ob);
    NOT_IMPLEMENTED
}

/// Describes registered or remote memory for device code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_mem_elem_pack(
    md: uct_md_h,
    memh: uct_mem_h,
    rkey: uct_rkey_t,
    mem_elem: *mut uct_device_mem_elem_t,
) -> ucs_status_t {
    let _ = (md, memh, rkey, mem_elem);
    NOT_IMPLEMENTED
}
