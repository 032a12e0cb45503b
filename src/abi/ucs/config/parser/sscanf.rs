//! Entry points of `ucs/config/parser.h`: sscanf.

use crate::abi::prelude::*;

/// Reads a string from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_string(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads an integer from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_int(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads an unsigned integer from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_uint(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads an unsigned long from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_ulong(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads a positive number or "auto" from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_pos_double(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads a number from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_double(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads a hexadecimal number or "auto" from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_hex(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads yes or no from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_bool(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads yes, no or try from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_ternary(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads yes, no, try or auto from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_ternary_auto(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads on or off from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_on_off(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads on, off or auto from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_on_off_auto(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads a name from a list from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_enum(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads a name from a list, or a number from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_uint_enum(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads a list of names as bits from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_bitmap(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads a number of bits from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_bitmask(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads a time in seconds from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_time(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads a time in nanoseconds from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_time_units(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads a bandwidth in bytes per second from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_bw(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads a bandwidth with a name from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_bw_spec(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads a signal from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_signo(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads a size in bytes from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_memunits(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads a number with a suffix from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_ulunits(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads a range from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_range_spec(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads a list from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_array(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads a list of paths from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_path_array(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads a list of what is allowed or forbidden from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_allow_list(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads such a list, with ranges from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_allow_list_with_ranges(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads a table from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_table(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}

/// Reads pairs of keys and values from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_key_value(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = (buf, dest, arg);
    0
}
