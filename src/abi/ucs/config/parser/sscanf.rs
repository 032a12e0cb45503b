//! Entry points of `ucs/config/parser.h`: sscanf.

use crate::abi::prelude::*;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_string(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_int(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_uint(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_ulong(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_pos_double(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_double(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_hex(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_bool(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_ternary(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_ternary_auto(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_on_off(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_on_off_auto(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_enum(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_uint_enum(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_bitmap(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_bitmask(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_time(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_time_units(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_bw(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_bw_spec(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_signo(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_memunits(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_ulunits(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_range_spec(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_array(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_path_array(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_allow_list(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_allow_list_with_ranges(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_table(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_key_value(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}
