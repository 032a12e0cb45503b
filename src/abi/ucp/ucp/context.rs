//! Entry points of `ucp/api/ucp.h`: context.

use crate::abi::prelude::*;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_lib_query(attr: *mut ucp_lib_attr_t) -> ucs_status_t {
    let _ = attr;
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_config_read(
    env_prefix: *const c_char,
    filename: *const c_char,
    config_p: *mut *mut ucp_config_t,
) -> ucs_status_t {
    let _ = (env_prefix, filename, config_p);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_config_release(config: *mut ucp_config_t) {
    let _ = config;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_config_modify(
    config: *mut ucp_config_t,
    name: *const c_char,
    value: *const c_char,
) -> ucs_status_t {
    let _ = (config, name, value);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_config_print(
    config: *const ucp_config_t,
    stream: *mut FILE,
    title: *const c_char,
    print_flags: ucs_config_print_flags_t,
) {
    let _ = (config, stream, title, print_flags);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_get_version(
    major_version: *mut c_uint,
    minor_version: *mut c_uint,
    release_number: *mut c_uint,
) {
    let _ = (major_version, minor_version, release_number);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_get_version_string() -> *const c_char {
    core::ptr::null()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_init_version(
    api_major_version: c_uint,
    api_minor_version: c_uint,
    params: *const ucp_params_t,
    config: *const ucp_config_t,
    context_p: *mut ucp_context_h,
) -> ucs_status_t {
    let _ = (
        api_major_version,
        api_minor_version,
        params,
        config,
        context_p,
    );
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_cleanup(context_p: ucp_context_h) {
    let _ = context_p;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_context_query(
    context_p: ucp_context_h,
    attr: *mut ucp_context_attr_t,
) -> ucs_status_t {
    let _ = (context_p, attr);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_context_print_info(context: ucp_context_h, stream: *mut FILE) {
    let _ = (context, stream);
}
