//! `ucs/datastruct/callbackq.h`.

use crate::abi::prelude::*;

pub const UCS_CALLBACKQ_FAST_COUNT: i32 = 7;
pub const UCS_CALLBACKQ_ID_NULL: i32 = -1;

pub struct ucs_callbackq_priv {
    _opaque: [u8; 0],
}

pub type ucs_callbackq_t = ucs_callbackq;
pub type ucs_callbackq_elem_t = ucs_callbackq_elem;
pub type ucs_callbackq_priv_t = ucs_callbackq_priv;
pub type ucs_callbackq_key_t = *mut c_void;
pub type ucs_callback_t = Option<unsafe extern "C" fn(arg: *mut c_void) -> c_uint>;
pub type ucs_callbackq_predicate_t =
    Option<unsafe extern "C" fn(elem: *const ucs_callbackq_elem_t, arg: *mut c_void) -> c_int>;

/// One callback.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_callbackq_elem {
    pub cb: ucs_callback_t,
    pub arg: *mut c_void,
}

/// A queue of callbacks.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_callbackq {
    pub fast_elems: [ucs_callbackq_elem_t; 8],
    pub priv_: *mut ucs_callbackq_priv_t,
}

/// Makes a queue of callbacks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_callbackq_init(cbq: *mut ucs_callbackq_t) -> ucs_status_t {
    let _ = cbq;
    NOT_IMPLEMENTED
}

/// Frees what a queue holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_callbackq_cleanup(cbq: *mut ucs_callbackq_t) {
    let _ = cbq;
}

/// Adds a callback that is called at each dispatch; returns its id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_callbackq_add(
    cbq: *mut ucs_callbackq_t,
    cb: ucs_callback_t,
    arg: *mut c_void,
) -> c_int {
    let _ = (cbq, cb, arg);
    0
}

/// Takes a callback out; returns its argument.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_callbackq_remove(cbq: *mut ucs_callbackq_t, id: c_int) -> *mut c_void {
    let _ = (cbq, id);
    core::ptr::null_mut()
}

/// Like `ucs_callbackq_add`, from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_callbackq_add_safe(
    cbq: *mut ucs_callbackq_t,
    cb: ucs_callback_t,
    arg: *mut c_void,
) -> c_int {
    let _ = (cbq, cb, arg);
    0
}

/// Like `ucs_callbackq_remove`, from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_callbackq_remove_safe(
    cbq: *mut ucs_callbackq_t,
    id: c_int,
) -> *mut c_void {
    let _ = (cbq, id);
    core::ptr::null_mut()
}

/// Adds a callback that is called once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_callbackq_add_oneshot(
    cbq: *mut ucs_callbackq_t,
    key: ucs_callbackq_key_t,
    cb: ucs_callback_t,
    arg: *mut c_void,
) {
    let _ = (cbq, key, cb, arg);
}

/// Takes out the callbacks of a key for which the predicate holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_callbackq_remove_oneshot(
    cbq: *mut ucs_callbackq_t,
    key: ucs_callbackq_key_t,
    pred: ucs_callbackq_predicate_t,
    arg: *mut c_void,
) {
    let _ = (cbq, key, pred, arg);
}
