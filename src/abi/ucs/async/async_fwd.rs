//! `ucs/async/async_fwd.h`.

use core::time::Duration;

use super::context::{self, Called};
use crate::abi::prelude::*;
use crate::ucs::arch;
use crate::ucs::async_handlers::{self, When};

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
    let when = When::Ready(event_fd, u32::from(events));
    // SAFETY: NULL or a live context, as the caller promises.
    match unsafe { add(when, mode, cb, arg, async_) } {
        Ok(_) => Status::OK,
        Err(error) => error.into(),
    }
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
    if timer_id_p.is_null() {
        return Error::InvalidParam.into();
    }
    let seconds = interval as f64 / arch::clock().per_second();
    let Ok(interval) = Duration::try_from_secs_f64(seconds) else {
        return Error::InvalidParam.into();
    };
    // SAFETY: NULL or a live context, as the caller promises; the result is writable.
    unsafe {
        match add(When::Every(interval), mode, cb, arg, async_) {
            Ok(id) => {
                timer_id_p.write(id);
                Status::OK
            }
            Err(error) => error.into(),
        }
    }
}

/// Takes back a handler of a descriptor or timer. With `sync`, it doesn't run any more when this
/// returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_async_remove_handler(id: c_int, sync: c_int) -> ucs_status_t {
    async_handlers::remove(id, sync != 0).into()
}

/// Changes the events that a handler is called for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_async_modify_handler(
    fd: c_int,
    events: ucs_event_set_types_t,
) -> ucs_status_t {
    async_handlers::modify(fd, u32::from(events)).into()
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

/// Calls all handlers of a context, or (NULL) of all, whether they have events or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_async_poll(async_: *mut ucs_async_context_t) {
    async_handlers::poll(async_ as usize);
}

/// Runs handlers that were missed while the context was blocked. There are none here: the thread
/// tries again until it can call them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __ucs_async_poll_missed(async_: *mut ucs_async_context_t) {
    let _ = async_;
}

/// # Safety
/// `async_` is NULL or live.
unsafe fn add(
    when: When,
    mode: ucs_async_mode_t,
    cb: ucs_async_event_cb_t,
    arg: *mut c_void,
    async_: *mut ucs_async_context_t,
) -> Result<c_int, Error> {
    let Some(function) = cb else {
        return Err(Error::InvalidParam);
    };
    let context = async_.cast::<ucs_async_context_storage>();
    // SAFETY: not NULL, so live.
    if !context.is_null() && unsafe { context::mode(context) } != mode {
        crate::ucs_error!("mode {mode} of a handler is not that of its asynchronous context");
        return Err(Error::InvalidParam);
    }
    match mode {
        UCS_ASYNC_MODE_THREAD_SPINLOCK | UCS_ASYNC_MODE_THREAD_MUTEX | UCS_ASYNC_MODE_POLL => {}
        UCS_ASYNC_MODE_SIGNAL => {
            crate::ucs_error!("asynchronous handlers are not called from signals here");
            return Err(Error::Unsupported);
        }
        _ => return Err(Error::InvalidParam),
    }
    let target = Box::new(Called {
        function,
        arg,
        context,
    });
    async_handlers::add(when, mode == UCS_ASYNC_MODE_POLL, async_ as usize, target)
}
