//! `ucs/datastruct/piecewise_func.h`.

use crate::abi::prelude::*;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_piecewise_segment_t {
    pub func: ucs_linear_func_t,
    pub end: usize,
    pub list: ucs_list_link_t,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_piecewise_func_t {
    pub head: ucs_list_link_t,
}

/// Makes the function that is 0 everywhere.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_piecewise_func_init(
    pw_func: *mut ucs_piecewise_func_t,
) -> ucs_status_t {
    let _ = pw_func;
    NOT_IMPLEMENTED
}

/// Frees a function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_piecewise_func_cleanup(pw_func: *mut ucs_piecewise_func_t) {
    let _ = pw_func;
}

/// Value of a function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_piecewise_func_apply(
    pw_func: *const ucs_piecewise_func_t,
    x: usize,
) -> f64 {
    let _ = (pw_func, x);
    0.0
}

/// Adds a linear function within a range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_piecewise_func_add_range(
    pw_func: *mut ucs_piecewise_func_t,
    start: usize,
    end: usize,
    range_func: ucs_linear_func_t,
) -> ucs_status_t {
    let _ = (pw_func, start, end, range_func);
    NOT_IMPLEMENTED
}

/// Adds another function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_piecewise_func_add_inplace(
    dst_pw_func: *mut ucs_piecewise_func_t,
    src_pw_func: *mut ucs_piecewise_func_t,
) -> ucs_status_t {
    let _ = (dst_pw_func, src_pw_func);
    NOT_IMPLEMENTED
}
