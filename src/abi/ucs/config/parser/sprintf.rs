//! Entry points of `ucs/config/parser.h`: sprintf.

use crate::abi::prelude::*;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_string(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_int(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_uint(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_ulong(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_pos_double(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_double(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_hex(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_bool(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_ternary_auto(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_on_off_auto(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_enum(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_uint_enum(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_bitmap(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_bitmask(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_time(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_time_units(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_bw(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_bw_spec(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_signo(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_memunits(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_ulunits(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_range_spec(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_array(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_path_array(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_allow_list(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_key_value(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, max, src, arg);
    0
}
