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

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_callbackq_elem {
    pub cb: ucs_callback_t,
    pub arg: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_callbackq {
    pub fast_elems: [ucs_callbackq_elem_t; 8],
    pub priv_: *mut ucs_callbackq_priv_t,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_callbackq_init(cbq: *mut ucs_callbackq_t) -> ucs_status_t {
    let _ = cbq;
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_callbackq_cleanup(cbq: *mut ucs_callbackq_t) {
    let _ = cbq;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_callbackq_add(
    cbq: *mut ucs_callbackq_t,
    cb: ucs_callback_t,
    arg: *mut c_void,
) -> c_int {
    let _ = (cbq, cb, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_callbackq_remove(cbq: *mut ucs_callbackq_t, id: c_int) -> *mut c_void {
    let _ = (cbq, id);
    core::ptr::null_mut()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_callbackq_add_safe(
    cbq: *mut ucs_callbackq_t,
    cb: ucs_callback_t,
    arg: *mut c_void,
) -> c_int {
    let _ = (cbq, cb, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_callbackq_remove_safe(
    cbq: *mut ucs_callbackq_t,
    id: c_int,
) -> *mut c_void {
    let _ = (cbq, id);
    core::ptr::null_mut()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_callbackq_add_oneshot(
    cbq: *mut ucs_callbackq_t,
    key: ucs_callbackq_key_t,
    cb: ucs_callback_t,
    arg: *mut c_void,
) {
    let _ = (cbq, key, cb, arg);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_callbackq_remove_oneshot(
    cbq: *mut ucs_callbackq_t,
    key: ucs_callbackq_key_t,
    pred: ucs_callbackq_predicate_t,
    arg: *mut c_void,
) {
    let _ = (cbq, key, pred, arg);
}
