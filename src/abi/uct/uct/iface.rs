//! Entry points of `uct/api/uct.h`: iface.

use crate::abi::prelude::*;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_worker_progress_register_safe(
    worker: uct_worker_h,
    func: ucs_callback_t,
    arg: *mut c_void,
    flags: c_uint,
    id_p: *mut uct_worker_cb_id_t,
) {
    let _ = (worker, func, arg, flags, id_p);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_worker_progress_unregister_safe(
    worker: uct_worker_h,
    id_p: *mut uct_worker_cb_id_t,
) {
    let _ = (worker, id_p);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_iface_config_read(
    md: uct_md_h,
    tl_name: *const c_char,
    env_prefix: *const c_char,
    filename: *const c_char,
    config_p: *mut *mut uct_iface_config_t,
) -> ucs_status_t {
    let _ = (md, tl_name, env_prefix, filename, config_p);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_open(
    md: uct_md_h,
    worker: uct_worker_h,
    params: *const uct_iface_params_t,
    config: *const uct_iface_config_t,
    iface_p: *mut uct_iface_h,
) -> ucs_status_t {
    let _ = (md, worker, params, config, iface_p);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_close(iface: uct_iface_h) {
    let _ = iface;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_query(
    iface: uct_iface_h,
    iface_attr: *mut uct_iface_attr_t,
) -> ucs_status_t {
    let _ = (iface, iface_attr);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_get_device_address(
    iface: uct_iface_h,
    addr: *mut uct_device_addr_t,
) -> ucs_status_t {
    let _ = (iface, addr);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_get_address(
    iface: uct_iface_h,
    addr: *mut uct_iface_addr_t,
) -> ucs_status_t {
    let _ = (iface, addr);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_is_reachable(
    iface: uct_iface_h,
    dev_addr: *const uct_device_addr_t,
    iface_addr: *const uct_iface_addr_t,
) -> c_int {
    let _ = (iface, dev_addr, iface_addr);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_event_fd_get(
    iface: uct_iface_h,
    fd_p: *mut c_int,
) -> ucs_status_t {
    let _ = (iface, fd_p);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_event_arm(iface: uct_iface_h, events: c_uint) -> ucs_status_t {
    let _ = (iface, events);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_mem_alloc(
    iface: uct_iface_h,
    length: usize,
    flags: c_uint,
    name: *const c_char,
    mem: *mut uct_allocated_memory_t,
) -> ucs_status_t {
    let _ = (iface, length, flags, name, mem);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_mem_free(mem: *const uct_allocated_memory_t) {
    let _ = mem;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_set_am_handler(
    iface: uct_iface_h,
    id: u8,
    cb: uct_am_callback_t,
    arg: *mut c_void,
    flags: u32,
) -> ucs_status_t {
    let _ = (iface, id, cb, arg, flags);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_set_am_tracer(
    iface: uct_iface_h,
    tracer: uct_am_tracer_t,
    arg: *mut c_void,
) -> ucs_status_t {
    let _ = (iface, tracer, arg);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_accept(
    iface: uct_iface_h,
    conn_request: uct_conn_request_h,
) -> ucs_status_t {
    let _ = (iface, conn_request);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_reject(
    iface: uct_iface_h,
    conn_request: uct_conn_request_h,
) -> ucs_status_t {
    let _ = (iface, conn_request);
    NOT_IMPLEMENTED
}
