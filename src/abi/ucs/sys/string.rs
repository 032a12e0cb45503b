//! `ucs/sys/string.h`.

use crate::abi::prelude::*;

pub const UCS_NUMERIC_INF_STR: &str = "inf";
pub const UCS_VALUE_AUTO_STR: &str = "auto";
pub const UCS_MEMUNITS_INF: u64 = 0xffffffffffffffff;
pub const UCS_ULUNITS_INF: u64 = 0xffffffffffffffff;
pub const UCS_MEMUNITS_AUTO: u64 = 0xfffffffffffffffe;
pub const UCS_ULUNITS_AUTO: u64 = 0xfffffffffffffffe;
pub const UCS_HEXUNITS_AUTO: u16 = 65534;
pub const UCS_VALUE_UNKNOWN_STR: &str = "unknown";

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_expand_path(path: *const c_char, fullpath: *mut c_char, max: usize) {
    let _ = (path, fullpath, max);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_fill_filename_template(
    tmpl: *const c_char,
    buf: *mut c_char,
    max: usize,
) {
    let _ = (tmpl, buf, max);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_dirname(path: *mut c_char, num_layers: c_int) -> *mut c_char {
    let _ = (path, num_layers);
    core::ptr::null_mut()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_strncpy_zero(dest: *mut c_char, src: *const c_char, max: usize) {
    let _ = (dest, src, max);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_to_id(str: *const c_char) -> u64 {
    let _ = str;
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_memunits_to_str(
    value: usize,
    buf: *mut c_char,
    max: usize,
) -> *mut c_char {
    let _ = (value, buf, max);
    core::ptr::null_mut()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_memunits_range_str(
    range_start: usize,
    range_end: usize,
    buf: *mut c_char,
    max: usize,
) -> *const c_char {
    let _ = (range_start, range_end, buf, max);
    core::ptr::null()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_str_to_memunits(
    buf: *const c_char,
    dest: *mut c_void,
) -> ucs_status_t {
    let _ = (buf, dest);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_quantity_prefix_value(prefix: c_char) -> usize {
    let _ = prefix;
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vsnprintf_safe(
    buf: *mut c_char,
    size: usize,
    fmt: *const c_char,
    ap: va_list,
) {
    let _ = (buf, size, fmt, ap);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_strncpy_safe(
    dst: *mut c_char,
    src: *const c_char,
    len: usize,
) -> *mut c_char {
    let _ = (dst, src, len);
    core::ptr::null_mut()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_strtrim(str: *mut c_char) -> *mut c_char {
    let _ = str;
    core::ptr::null_mut()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_str_dump_hex(
    data: *const c_void,
    length: usize,
    buf: *mut c_char,
    max: usize,
    per_line: usize,
) -> *const c_char {
    let _ = (data, length, buf, max, per_line);
    core::ptr::null()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_flags_str(
    str: *mut c_char,
    max: usize,
    flags: u64,
    str_table: *mut *const c_char,
) -> *const c_char {
    let _ = (str, max, flags, str_table);
    core::ptr::null()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_count_char(str: *const c_char, c: c_char) -> usize {
    let _ = (str, c);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_common_prefix_len(
    str1: *const c_char,
    str2: *const c_char,
) -> usize {
    let _ = (str1, str2);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_path_common_parent_length(
    path1: *const c_char,
    path2: *const c_char,
) -> usize {
    let _ = (path1, path2);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_path_get_common_parent(
    path1: *const c_char,
    path2: *const c_char,
    common_path: *mut c_char,
) {
    let _ = (path1, path2, common_path);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_path_calc_distance(
    path1: *const c_char,
    path2: *const c_char,
) -> usize {
    let _ = (path1, path2);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mask_str(mask: u64, strb: *mut ucs_string_buffer_t) -> *const c_char {
    let _ = (mask, strb);
    core::ptr::null()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_find_in_list(
    str: *const c_char,
    string_list: *mut *const c_char,
    case_sensitive: c_int,
) -> ssize_t {
    let _ = (str, string_list, case_sensitive);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_alloc_path_buffer(
    buffer_p: *mut *mut c_char,
    name: *const c_char,
) -> ucs_status_t {
    let _ = (buffer_p, name);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_alloc_path_buffer_and_get_dirname(
    buffer_p: *mut *mut c_char,
    name: *const c_char,
    path: *const c_char,
    dir_p: *mut *const c_char,
) -> ucs_status_t {
    let _ = (buffer_p, name, path, dir_p);
    NOT_IMPLEMENTED
}

// Variadic: the bodies are in C (see `variadic.c`), only declared here.
unsafe extern "C" {
    pub fn ucs_snprintf_zero(buf: *mut c_char, size: usize, fmt: *const c_char, ...);
    pub fn ucs_snprintf_safe(buf: *mut c_char, size: usize, fmt: *const c_char, ...);
    pub fn ucs_string_split(
        str: *mut c_char,
        delim: *const c_char,
        count: c_int,
        ...
    ) -> *mut c_char;
    pub fn ucs_string_alloc_formatted_path(
        buffer_p: *mut *mut c_char,
        name: *const c_char,
        fmt: *const c_char,
        ...
    ) -> ucs_status_t;
}
