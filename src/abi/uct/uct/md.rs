//! Entry points of `uct/api/uct.h`: md.

use crate::abi::prelude::*;

/// Writes what a memory domain knows about the memory at an address into `mem_attr`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_mem_query(
    md: uct_md_h,
    address: *const c_void,
    length: usize,
    mem_attr: *mut uct_md_mem_attr_t,
) -> ucs_status_t {
    let _ = (md, address, length, mem_attr);
    NOT_IMPLEMENTED
}

/// Opens a memory domain. To be closed by `uct_md_close`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_open(
    component: uct_component_h,
    md_name: *const c_char,
    config: *const uct_md_config_t,
    md_p: *mut uct_md_h,
) -> ucs_status_t {
    let _ = (component, md_name, config, md_p);
    NOT_IMPLEMENTED
}

/// Closes a memory domain. Its interfaces must have been closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_close(md: uct_md_h) {
    let _ = md;
}

/// Lists transports and devices of a memory domain; to be released by
/// `uct_release_tl_resource_list`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_query_tl_resources(
    md: uct_md_h,
    resources_p: *mut *mut uct_tl_resource_desc_t,
    num_resources_p: *mut c_uint,
) -> ucs_status_t {
    let _ = (md, resources_p, num_resources_p);
    NOT_IMPLEMENTED
}

/// Writes what a memory domain can do into `md_attr`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_query(md: uct_md_h, md_attr: *mut uct_md_attr_t) -> ucs_status_t {
    let _ = (md, md_attr);
    NOT_IMPLEMENTED
}

/// Tells what a range of registered memory will be used for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_mem_advise(
    md: uct_md_h,
    memh: uct_mem_h,
    addr: *mut c_void,
    length: usize,
    advice: uct_mem_advice_t,
) -> ucs_status_t {
    let _ = (md, memh, addr, length, advice);
    NOT_IMPLEMENTED
}

/// Registers `length` bytes of memory; `flags` are of `uct_md_mem_flags`. To be undone by
/// `uct_md_mem_dereg`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_mem_reg(
    md: uct_md_h,
    address: *mut c_void,
    length: usize,
    flags: c_uint,
    memh_p: *mut uct_mem_h,
) -> ucs_status_t {
    let _ = (md, address, length, flags, memh_p);
    NOT_IMPLEMENTED
}

/// Undoes a registration.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_mem_dereg(md: uct_md_h, memh: uct_mem_h) -> ucs_status_t {
    let _ = (md, memh);
    NOT_IMPLEMENTED
}

/// Finds out of which type the memory at an address is.
///
/// Returns `UCS_OK`, or `UCS_ERR_INVALID_ADDR` if the domain doesn't know it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_detect_memory_type(
    md: uct_md_h,
    addr: *const c_void,
    length: usize,
    mem_type_p: *mut ucs_memory_type_t,
) -> ucs_status_t {
    let _ = (md, addr, length, mem_type_p);
    NOT_IMPLEMENTED
}

/// Allocates memory by the first of the given methods that works. To be freed by `uct_mem_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_mem_alloc(
    length: usize,
    methods: *const uct_alloc_method_t,
    num_methods: c_uint,
    params: *const uct_mem_alloc_params_t,
    mem: *mut uct_allocated_memory_t,
) -> ucs_status_t {
    let _ = (length, methods, num_methods, params, mem);
    NOT_IMPLEMENTED
}

/// Frees what `uct_mem_alloc` gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_mem_free(mem: *const uct_allocated_memory_t) -> ucs_status_t {
    let _ = mem;
    NOT_IMPLEMENTED
}

/// Reads the configuration of a component's memory domains. To be released by `uct_config_release`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_config_read(
    component: uct_component_h,
    env_prefix: *const c_char,
    filename: *const c_char,
    config_p: *mut *mut uct_md_config_t,
) -> ucs_status_t {
    let _ = (component, env_prefix, filename, config_p);
    NOT_IMPLEMENTED
}

/// Packs the key of registered memory, of as many bytes as the domain's attributes say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_mkey_pack(
    md: uct_md_h,
    memh: uct_mem_h,
    rkey_buffer: *mut c_void,
) -> ucs_status_t {
    let _ = (md, memh, rkey_buffer);
    NOT_IMPLEMENTED
}

/// Makes a key out of its packed form. To be released by `uct_rkey_release`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_rkey_unpack(
    component: uct_component_h,
    rkey_buffer: *const c_void,
    rkey_ob: *mut uct_rkey_bundle_t,
) -> ucs_status_t {
    let _ = (component, rkey_buffer, rkey_ob);
    NOT_IMPLEMENTED
}

/// Address in this process of remote memory that a key is for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_rkey_ptr(
    component: uct_component_h,
    rkey_ob: *mut uct_rkey_bundle_t,
    remote_addr: u64,
    addr_p: *mut *mut c_void,
) -> ucs_status_t {
    let _ = (component, rkey_ob, remote_addr, addr_p);
    NOT_IMPLEMENTED
}

/// Releases a key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_rkey_release(
    component: uct_component_h,
    rkey_ob: *const uct_rkey_bundle_t,
) -> ucs_status_t {
    let _ = (component, rkey_ob);
    NOT_IMPLEMENTED
}
