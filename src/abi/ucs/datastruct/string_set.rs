//! `ucs/datastruct/string_set.h`.

use crate::abi::prelude::*;

pub type kh_ucs_string_set_t = kh_ucs_string_set_s;
pub type ucs_string_set_t = kh_ucs_string_set_t;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct kh_ucs_string_set_s {
    pub n_buckets: khint_t,
    pub size: khint_t,
    pub n_occupied: khint_t,
    pub upper_bound: khint_t,
    pub flags: *mut khint32_t,
    pub keys: *mut *mut c_char,
    pub vals: *mut c_char,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_set_init(sset: *mut ucs_string_set_t) {
    let _ = sset;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_set_cleanup(sset: *mut ucs_string_set_t) {
    let _ = sset;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_set_add(
    sset: *mut ucs_string_set_t,
    str: *const c_char,
) -> ucs_status_t {
    let _ = (sset, str);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_set_contains(
    sset: *const ucs_string_set_t,
    str: *const c_char,
) -> c_int {
    let _ = (sset, str);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_set_print_sorted(
    sset: *const ucs_string_set_t,
    strb: *mut ucs_string_buffer_t,
    sep: *const c_char,
) -> ucs_status_t {
    let _ = (sset, strb, sep);
    NOT_IMPLEMENTED
}

// Variadic: the bodies are in C (see `variadic.c`), only declared here.
unsafe extern "C" {
    pub fn ucs_string_set_addf(
        sset: *mut ucs_string_set_t,
        fmt: *const c_char,
        ...
    ) -> ucs_status_t;
}
