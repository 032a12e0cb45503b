//! `ucs/type/class.h`.

use crate::abi::prelude::*;

pub type ucs_class_t = ucs_class;
pub type ucs_class_init_func_t =
    Option<unsafe extern "C" fn(self_: *mut c_void, ...) -> ucs_status_t>;
pub type ucs_class_cleanup_func_t = Option<unsafe extern "C" fn(self_: *mut c_void)>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_class {
    pub name: *const c_char,
    pub size: usize,
    pub superclass: *mut ucs_class_t,
    pub init: ucs_class_init_func_t,
    pub cleanup: ucs_class_cleanup_func_t,
}

/// Destructs an object, from its class up; at most `limit` classes, if not negative.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_class_call_cleanup_chain(
    cls: *mut ucs_class_t,
    obj: *mut c_void,
    limit: c_int,
) {
    let _ = (cls, obj, limit);
}

/// Memory for an object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_class_malloc(cls: *mut ucs_class_t) -> *mut c_void {
    let _ = cls;
    core::ptr::null_mut()
}

/// Frees what `ucs_class_malloc` gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_class_free(obj: *mut c_void) {
    let _ = obj;
}

/// Checks what a constructor returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_class_check_new_func_result(status: ucs_status_t, obj: *mut c_void) {
    let _ = (status, obj);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn void_init(
    self_: *mut c_void,
    _myclass: *mut ucs_class_t,
    _init_count: *mut c_int,
) -> ucs_status_t {
    let _ = (self_, _myclass, _init_count);
    NOT_IMPLEMENTED
}
