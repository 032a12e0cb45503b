//! `ucs/datastruct/string_buffer.h`.

use crate::abi::prelude::*;

pub type ucs_string_buffer_translate_cb_t = Option<unsafe extern "C" fn(ch: c_char) -> c_char>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_string_buffer_t {
    pub buffer: *mut c_char,
    pub length: usize,
    // bit-field capacity:63
    pub capacity: usize,
    // bit-field is_fixed:1
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_init(strb: *mut ucs_string_buffer_t) {
    let _ = strb;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_init_fixed(
    strb: *mut ucs_string_buffer_t,
    buffer: *mut c_char,
    capacity: usize,
) {
    let _ = (strb, buffer, capacity);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_cleanup(strb: *mut ucs_string_buffer_t) {
    let _ = strb;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_reset(strb: *mut ucs_string_buffer_t) {
    let _ = strb;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_length(strb: *mut ucs_string_buffer_t) -> usize {
    let _ = strb;
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_vappendf(
    strb: *mut ucs_string_buffer_t,
    fmt: *const c_char,
    ap: va_list,
) {
    let _ = (strb, fmt, ap);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_append_hex(
    strb: *mut ucs_string_buffer_t,
    data: *const c_void,
    size: usize,
    per_line: usize,
) {
    let _ = (strb, data, size, per_line);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_append_flags(
    strb: *mut ucs_string_buffer_t,
    mask: u64,
    flag_names: *mut *const c_char,
) {
    let _ = (strb, mask, flag_names);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_append_iovec(
    strb: *mut ucs_string_buffer_t,
    iov: *const iovec,
    iovcnt: usize,
) {
    let _ = (strb, iov, iovcnt);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_append_saddr(
    strb: *mut ucs_string_buffer_t,
    sa: *const sockaddr,
) {
    let _ = (strb, sa);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_rtrim(
    strb: *mut ucs_string_buffer_t,
    charset: *const c_char,
) {
    let _ = (strb, charset);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_rbrk(
    strb: *mut ucs_string_buffer_t,
    delim: *const c_char,
) {
    let _ = (strb, delim);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_cstr(strb: *const ucs_string_buffer_t) -> *const c_char {
    let _ = strb;
    core::ptr::null()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_dump(
    strb: *const ucs_string_buffer_t,
    line_prefix: *const c_char,
    stream: *mut FILE,
) {
    let _ = (strb, line_prefix, stream);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_extract_mem(
    strb: *mut ucs_string_buffer_t,
) -> *mut c_char {
    let _ = strb;
    core::ptr::null_mut()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_next_token(
    strb: *mut ucs_string_buffer_t,
    token: *mut c_char,
    delimiters: *const c_char,
) -> *mut c_char {
    let _ = (strb, token, delimiters);
    core::ptr::null_mut()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_appendc(
    strb: *mut ucs_string_buffer_t,
    c: c_int,
    count: usize,
) {
    let _ = (strb, c, count);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_translate(
    strb: *mut ucs_string_buffer_t,
    cb: ucs_string_buffer_translate_cb_t,
) {
    let _ = (strb, cb);
}

// Variadic: the bodies are in C (see `variadic.c`), only declared here.
unsafe extern "C" {
    pub fn ucs_string_buffer_appendf(strb: *mut ucs_string_buffer_t, fmt: *const c_char, ...);
}
