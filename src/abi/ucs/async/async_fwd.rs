//! `ucs/async/async_fwd.h`.

use crate::abi::prelude::*;

pub const UCS_ASYNC_PTHREAD_ID_NULL: u64 = 0xffffffffffffffff;

pub struct ucs_async_context {
    _opaque: [u8; 0],
}

pub type ucs_async_context_t = ucs_async_context;
pub type ucs_async_event_cb_t =
    Option<unsafe extern "C" fn(id: c_int, events: ucs_event_set_types_t, arg: *mut c_void)>;

/// Calls a function when a file descriptor has events, from the asynchronous context or from a
/// thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_async_set_event_handler(
    mode: ucs_async_mode_t,
    event_fd: c_int,
    events: ucs_event_set_types_t,
    cb: ucs_async_event_cb_t,
    arg: *mut c_void,
    async_: *mut ucs_async_context_t,
) -> ucs_status_t {
    let _ = (mode, event_fd, events, cb, arg, async_);
    NOT_IMPLEMENTED
}

/// Calls a function at intervals; `*timer_id_p` is for `ucs_async_remove_handler`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_async_add_timer(
    mode: ucs_async_mode_t,
    interval: ucs_time_t,
    cb: ucs_async_event_cb_t,
    arg: *mut c_void,
    async_: *mut ucs_async_context_t,
    timer_id_p: *mut c_int,
) -> ucs_status_t {
    let _ = (mode, interval, cb, arg, async_, timer_id_p);
    NOT_IMPLEMENTED
}

/// Takes back a handler of a descriptor or timer. With `sync`, it doesn't run any more when this
/// returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_async_remove_handler(id: c_int, sync: c_int) -> ucs_status_t {
    let _ = (id, sync);
    NOT_IMPLEMENTED
}

/// Changes the events that a handler is called for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_async_modify_handler(
    fd: c_int,
    events: ucs_event_set_types_t,
) -> ucs_status_t {
    let _ = (fd, events);
    NOT_IMPLEMENTED
}

/// Creates an asynchronous context, to be destroyed by `ucs_async_context_destroy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_async_context_create(
    mode: ucs_async_mode_t,
    async_p: *mut *mut ucs_async_context_t,
) -> ucs_status_t {
    if async_p.is_null() {
        return Error::InvalidParam.into();
    }
    let storage = Box::into_raw(Box::new(ucs_async_context_storage { opaque: [0; 10] }));
    // SAFETY: the storage was just made; `async_p` is writable.
    unsafe {
        let status = ucs_async_context_init(storage, mode);
        match status {
            Status::OK => async_p.write(storage.cast()),
            _ => drop(Box::from_raw(storage)),
        }
        status
    }
}

/// Destroys an asynchronous context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_async_context_destroy(async_: *mut ucs_async_context_t) {
    if !async_.is_null() {
        let storage = async_.cast::<ucs_async_context_storage>();
        // SAFETY: from `ucs_async_context_create`, and not used any more.
        unsafe {
            ucs_async_context_cleanup(storage);
            drop(Box::from_raw(storage));
        }
    }
}

/// Runs handlers whose time has come, in polling mode.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_async_poll(async_: *mut ucs_async_context_t) {
    let _ = async_;
}

/// Runs handlers that were missed while the context was blocked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __ucs_async_poll_missed(async_: *mut ucs_async_context_t) {
    let _ = async_;
}
