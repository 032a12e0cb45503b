//! `ucs/sys/event_set.h`.

use crate::abi::prelude::*;

pub struct ucs_sys_event_set {
    _opaque: [u8; 0],
}

pub type ucs_event_set_type_t = u32;
pub const UCS_EVENT_SET_EVREAD: ucs_event_set_type_t = 1 << 0;
pub const UCS_EVENT_SET_EVWRITE: ucs_event_set_type_t = 1 << 1;
pub const UCS_EVENT_SET_EVERR: ucs_event_set_type_t = 1 << 2;
pub const UCS_EVENT_SET_EDGE_TRIGGERED: ucs_event_set_type_t = 1 << 3;

pub type ucs_sys_event_set_t = ucs_sys_event_set;
pub type ucs_event_set_types_t = u8;
pub type ucs_event_set_handler_t = Option<
    unsafe extern "C" fn(
        callback_data: *mut c_void,
        events: ucs_event_set_types_t,
        arg: *mut c_void,
    ),
>;

/// Makes a set out of an epoll descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_event_set_create_from_fd(
    event_set_p: *mut *mut ucs_sys_event_set_t,
    event_fd: c_int,
) -> ucs_status_t {
    let _ = (event_set_p, event_fd);
    NOT_IMPLEMENTED
}

/// Makes a set of file descriptors to wait for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_event_set_create(
    event_set_p: *mut *mut ucs_sys_event_set_t,
) -> ucs_status_t {
    let _ = event_set_p;
    NOT_IMPLEMENTED
}

/// Adds a descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_event_set_add(
    event_set: *mut ucs_sys_event_set_t,
    fd: c_int,
    events: ucs_event_set_types_t,
    callback_data: *mut c_void,
) -> ucs_status_t {
    let _ = (event_set, fd, events, callback_data);
    NOT_IMPLEMENTED
}

/// Changes the events of a descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_event_set_mod(
    event_set: *mut ucs_sys_event_set_t,
    fd: c_int,
    events: ucs_event_set_types_t,
    callback_data: *mut c_void,
) -> ucs_status_t {
    let _ = (event_set, fd, events, callback_data);
    NOT_IMPLEMENTED
}

/// Removes a descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_event_set_del(
    event_set: *mut ucs_sys_event_set_t,
    fd: c_int,
) -> ucs_status_t {
    let _ = (event_set, fd);
    NOT_IMPLEMENTED
}

/// Waits for events, and calls a function for each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_event_set_wait(
    event_set: *mut ucs_sys_event_set_t,
    num_events: *mut c_uint,
    timeout_ms: c_int,
    event_set_handler: ucs_event_set_handler_t,
    arg: *mut c_void,
) -> ucs_status_t {
    let _ = (event_set, num_events, timeout_ms, event_set_handler, arg);
    NOT_IMPLEMENTED
}

/// Frees a set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_event_set_cleanup(event_set: *mut ucs_sys_event_set_t) {
    let _ = event_set;
}

/// The epoll descriptor of a set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_event_set_fd_get(
    event_set: *mut ucs_sys_event_set_t,
    event_fd_p: *mut c_int,
) -> ucs_status_t {
    let _ = (event_set, event_fd_p);
    NOT_IMPLEMENTED
}
