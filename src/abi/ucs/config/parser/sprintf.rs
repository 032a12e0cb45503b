//! Entry points of `ucs/config/parser.h`: sprintf.

use crate::abi::prelude::*;

/// Writes a string at `src` as text of at most `max` bytes; 1 if it could.
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

/// Writes an integer at `src` as text of at most `max` bytes; 1 if it could.
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

/// Writes an unsigned integer at `src` as text of at most `max` bytes; 1 if it could.
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

/// Writes an unsigned long at `src` as text of at most `max` bytes; 1 if it could.
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

/// Writes a positive number or "auto" at `src` as text of at most `max` bytes; 1 if it could.
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

/// Writes a number at `src` as text of at most `max` bytes; 1 if it could.
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

/// Writes a hexadecimal number or "auto" at `src` as text of at most `max` bytes; 1 if it could.
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

/// Writes yes or no at `src` as text of at most `max` bytes; 1 if it could.
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

/// Writes yes, no, try or auto at `src` as text of at most `max` bytes; 1 if it could.
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

/// Writes on, off or auto at `src` as text of at most `max` bytes; 1 if it could.
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

/// Writes a name from a list at `src` as text of at most `max` bytes; 1 if it could.
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

/// Writes a name from a list, or a number at `src` as text of at most `max` bytes; 1 if it could.
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

/// Writes a list of names as bits at `src` as text of at most `max` bytes; 1 if it could.
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

/// Writes a number of bits at `src` as text of at most `max` bytes; 1 if it could.
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

/// Writes a time in seconds at `src` as text of at most `max` bytes; 1 if it could.
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

/// Writes a time in nanoseconds at `src` as text of at most `max` bytes; 1 if it could.
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

/// Writes a bandwidth in bytes per second at `src` as text of at most `max` bytes; 1 if it could.
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

/// Writes a bandwidth with a name at `src` as text of at most `max` bytes; 1 if it could.
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

/// Writes a signal at `src` as text of at most `max` bytes; 1 if it could.
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

/// Writes a size in bytes at `src` as text of at most `max` bytes; 1 if it could.
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

/// Writes a number with a suffix at `src` as text of at most `max` bytes; 1 if it could.
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

/// Writes a range at `src` as text of at most `max` bytes; 1 if it could.
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

/// Writes a list at `src` as text of at most `max` bytes; 1 if it could.
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

/// Writes a list of paths at `src` as text of at most `max` bytes; 1 if it could.
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

/// Writes a list of what is allowed or forbidden at `src` as text of at most `max` bytes; 1 if it
/// could.
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

/// Writes pairs of keys and values at `src` as text of at most `max` bytes; 1 if it could.
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
