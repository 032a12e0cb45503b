//! Entry points of `ucs/config/parser.h`: kinds.

use crate::abi::prelude::*;

/// Copies a string from `src` to `dest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_clone_string(
    src: *const c_void,
    dest: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    let _ = (src, dest, arg);
    NOT_IMPLEMENTED
}

/// Frees what a string holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_release_string(ptr: *mut c_void, arg: *const c_void) {
    let _ = (ptr, arg);
}

/// Copies an integer from `src` to `dest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_clone_int(
    src: *const c_void,
    dest: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    let _ = (src, dest, arg);
    NOT_IMPLEMENTED
}

/// Copies an unsigned integer from `src` to `dest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_clone_uint(
    src: *const c_void,
    dest: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    let _ = (src, dest, arg);
    NOT_IMPLEMENTED
}

/// Copies an unsigned long from `src` to `dest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_clone_ulong(
    src: *const c_void,
    dest: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    let _ = (src, dest, arg);
    NOT_IMPLEMENTED
}

/// Copies a number from `src` to `dest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_clone_double(
    src: *const c_void,
    dest: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    let _ = (src, dest, arg);
    NOT_IMPLEMENTED
}

/// Describes for people what is accepted as a name from a list, in at most `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_help_enum(buf: *mut c_char, max: usize, arg: *const c_void) {
    let _ = (buf, max, arg);
}

/// Describes for people what is accepted as a name from a list, or a number, in at most `max`
/// bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_help_uint_enum(
    buf: *mut c_char,
    max: usize,
    arg: *const c_void,
) {
    let _ = (buf, max, arg);
}

/// Describes for people what is accepted as a list of names as bits, in at most `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_help_bitmap(buf: *mut c_char, max: usize, arg: *const c_void) {
    let _ = (buf, max, arg);
}

/// Copies a bandwidth with a name from `src` to `dest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_clone_bw_spec(
    src: *const c_void,
    dest: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    let _ = (src, dest, arg);
    NOT_IMPLEMENTED
}

/// Frees what a bandwidth with a name holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_release_bw_spec(ptr: *mut c_void, arg: *const c_void) {
    let _ = (ptr, arg);
}

/// Copies a range from `src` to `dest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_clone_range_spec(
    src: *const c_void,
    dest: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    let _ = (src, dest, arg);
    NOT_IMPLEMENTED
}

/// Copies a list from `src` to `dest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_clone_array(
    src: *const c_void,
    dest: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    let _ = (src, dest, arg);
    NOT_IMPLEMENTED
}

/// Frees what a list holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_release_array(ptr: *mut c_void, arg: *const c_void) {
    let _ = (ptr, arg);
}

/// Describes for people what is accepted as a list, in at most `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_help_array(buf: *mut c_char, max: usize, arg: *const c_void) {
    let _ = (buf, max, arg);
}

/// Describes for people what is accepted as a list of paths, in at most `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_help_path_array(
    buf: *mut c_char,
    max: usize,
    arg: *const c_void,
) {
    let _ = (buf, max, arg);
}

/// Copies a list of what is allowed or forbidden from `src` to `dest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_clone_allow_list(
    src: *const c_void,
    dest: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    let _ = (src, dest, arg);
    NOT_IMPLEMENTED
}

/// Frees what a list of what is allowed or forbidden holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_release_allow_list(ptr: *mut c_void, arg: *const c_void) {
    let _ = (ptr, arg);
}

/// Describes for people what is accepted as a list of what is allowed or forbidden, in at most
/// `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_help_allow_list(
    buf: *mut c_char,
    max: usize,
    arg: *const c_void,
) {
    let _ = (buf, max, arg);
}

/// Describes for people what is accepted as such a list, with ranges, in at most `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_help_allow_list_with_ranges(
    buf: *mut c_char,
    max: usize,
    arg: *const c_void,
) {
    let _ = (buf, max, arg);
}

/// Copies a table from `src` to `dest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_clone_table(
    src: *const c_void,
    dest: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    let _ = (src, dest, arg);
    NOT_IMPLEMENTED
}

/// Frees what a table holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_release_table(ptr: *mut c_void, arg: *const c_void) {
    let _ = (ptr, arg);
}

/// Describes for people what is accepted as a table, in at most `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_help_table(buf: *mut c_char, max: usize, arg: *const c_void) {
    let _ = (buf, max, arg);
}

/// Copies pairs of keys and values from `src` to `dest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_clone_key_value(
    src: *const c_void,
    dest: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    let _ = (src, dest, arg);
    NOT_IMPLEMENTED
}

/// Frees what pairs of keys and values holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_release_key_value(ptr: *mut c_void, arg: *const c_void) {
    let _ = (ptr, arg);
}

/// Describes for people what is accepted as pairs of keys and values, in at most `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_help_key_value(
    buf: *mut c_char,
    max: usize,
    arg: *const c_void,
) {
    let _ = (buf, max, arg);
}

/// Describes the parts of pairs of keys and values for people.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_doc_key_value(
    strb: *mut ucs_string_buffer_t,
    arg: *const c_void,
) {
    let _ = (strb, arg);
}

/// Copies a log level of a component from `src` to `dest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_clone_log_comp(
    src: *const c_void,
    dst: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    let _ = (src, dst, arg);
    NOT_IMPLEMENTED
}

/// Frees what nothing holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_release_nop(ptr: *mut c_void, arg: *const c_void) {
    let _ = (ptr, arg);
}

/// Describes the parts of nothing for people.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_doc_nop(strb: *mut ucs_string_buffer_t, arg: *const c_void) {
    let _ = (strb, arg);
}

/// Describes for people what is accepted as a plain value, in at most `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_help_generic(buf: *mut c_char, max: usize, arg: *const c_void) {
    let _ = (buf, max, arg);
}

/// Copies all fields of a table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parser_clone_opts(
    src: *const c_void,
    dst: *mut c_void,
    fields: *mut ucs_config_field_t,
) -> ucs_status_t {
    let _ = (src, dst, fields);
    NOT_IMPLEMENTED
}

/// Frees all fields of a table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parser_release_opts(
    opts: *mut c_void,
    fields: *mut ucs_config_field_t,
) {
    let _ = (opts, fields);
}
