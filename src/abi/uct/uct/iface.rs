//! Entry points of `uct/api/uct.h`: iface.

use crate::abi::prelude::*;

/// Adds a function to what a worker progresses; may be called from any thread. `*id_p` must be
/// `UCS_CALLBACKQ_ID_NULL` before, or nothing is done.
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

/// Takes a function out of what a worker progresses; `*id_p` becomes `UCS_CALLBACKQ_ID_NULL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_worker_progress_unregister_safe(
    worker: uct_worker_h,
    id_p: *mut uct_worker_cb_id_t,
) {
    let _ = (worker, id_p);
}

/// Reads the configuration of a transport's interfaces. To be released by `uct_config_release`.
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

/// Opens an interface of a transport and device, as `params` says. To be closed by
/// `uct_iface_close`.
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

/// Closes an interface. Its endpoints must have been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_close(iface: uct_iface_h) {
    let _ = iface;
}

/// Writes what an interface can do, and how fast it is, into `iface_attr`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_query(
    iface: uct_iface_h,
    iface_attr: *mut uct_iface_attr_t,
) -> ucs_status_t {
    let _ = (iface, iface_attr);
    NOT_IMPLEMENTED
}

/// Writes the address of the interface's device, of as many bytes as its attributes say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_get_device_address(
    iface: uct_iface_h,
    addr: *mut uct_device_addr_t,
) -> ucs_status_t {
    let _ = (iface, addr);
    NOT_IMPLEMENTED
}

/// Writes the address of the interface, of as many bytes as its attributes say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_get_address(
    iface: uct_iface_h,
    addr: *mut uct_iface_addr_t,
) -> ucs_status_t {
    let _ = (iface, addr);
    NOT_IMPLEMENTED
}

/// 1 if an interface can reach another one of these addresses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_is_reachable(
    iface: uct_iface_h,
    dev_addr: *const uct_device_addr_t,
    iface_addr: *const uct_iface_addr_t,
) -> c_int {
    let _ = (iface, dev_addr, iface_addr);
    0
}

/// File descriptor that becomes readable when the interface has something to do.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_event_fd_get(
    iface: uct_iface_h,
    fd_p: *mut c_int,
) -> ucs_status_t {
    let _ = (iface, fd_p);
    NOT_IMPLEMENTED
}

/// Prepares that descriptor for a wait.
///
/// Returns `UCS_OK`, or `UCS_ERR_BUSY` if there are events: progress first, then arm again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_event_arm(iface: uct_iface_h, events: c_uint) -> ucs_status_t {
    let _ = (iface, events);
    NOT_IMPLEMENTED
}

/// Allocates memory that the interface can send from, at least `length` bytes. To be freed by
/// `uct_iface_mem_free`.
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

/// Frees what `uct_iface_mem_alloc` gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_mem_free(mem: *const uct_allocated_memory_t) {
    let _ = mem;
}

/// Sets the function that receives active messages of one id, below `UCT_AM_ID_MAX`. NULL drops
/// them.
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

/// Sets a function that describes active messages for the log.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_set_am_tracer(
    iface: uct_iface_h,
    tracer: uct_am_tracer_t,
    arg: *mut c_void,
) -> ucs_status_t {
    let _ = (iface, tracer, arg);
    NOT_IMPLEMENTED
}

/// Accepts a connection request of an interface that listens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_accept(
    iface: uct_iface_h,
    conn_request: uct_conn_request_h,
) -> ucs_status_t {
    let _ = (iface, conn_request);
    NOT_IMPLEMENTED
}

/// Refuses a connection request of an interface that listens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_reject(
    iface: uct_iface_h,
    conn_request: uct_conn_request_h,
) -> ucs_status_t {
    let _ = (iface, conn_request);
    NOT_IMPLEMENTED
}
