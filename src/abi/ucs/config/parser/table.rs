//! Entry points of `ucs/config/parser.h`: table.

use crate::abi::prelude::*;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parser_set_default_values(
    opts: *mut c_void,
    fields: *mut ucs_config_field_t,
) -> ucs_status_t {
    let _ = (opts, fields);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parse_config_file(
    dir_path: *const c_char,
    file_name: *const c_char,
    override_: c_int,
) {
    let _ = (dir_path, file_name, override_);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parse_config_files() {}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parser_fill_opts(
    opts: *mut c_void,
    entry: *mut ucs_config_global_list_entry_t,
    env_prefix: *const c_char,
    ignore_errors: c_int,
) -> ucs_status_t {
    let _ = (opts, entry, env_prefix, ignore_errors);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parser_print_opts(
    stream: *mut FILE,
    title: *const c_char,
    opts: *const c_void,
    fields: *mut ucs_config_field_t,
    table_prefix: *const c_char,
    prefix: *const c_char,
    flags: ucs_config_print_flags_t,
    filter: *const c_char,
) {
    let _ = (
        stream,
        title,
        opts,
        fields,
        table_prefix,
        prefix,
        flags,
        filter,
    );
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parser_print_all_opts(
    stream: *mut FILE,
    prefix: *const c_char,
    flags: ucs_config_print_flags_t,
    config_list: *mut ucs_list_link_t,
    filter: *const c_char,
) {
    let _ = (stream, prefix, flags, config_list, filter);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parser_get_value(
    opts: *mut c_void,
    fields: *mut ucs_config_field_t,
    name: *const c_char,
    value: *mut c_char,
    max: usize,
) -> ucs_status_t {
    let _ = (opts, fields, name, value, max);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parser_set_value(
    opts: *mut c_void,
    fields: *mut ucs_config_field_t,
    prefix: *const c_char,
    name: *const c_char,
    value: *const c_char,
) -> ucs_status_t {
    let _ = (opts, fields, prefix, name, value);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parser_print_env_vars_once(env_prefix: *const c_char) {
    let _ = env_prefix;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_memunits_get(
    config_size: usize,
    auto_size: usize,
    max_size: usize,
) -> usize {
    let _ = (config_size, auto_size, max_size);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_names_search(
    config_names: *const ucs_config_names_array_t,
    str: *const c_char,
) -> c_int {
    let _ = (config_names, str);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parser_get_env_vars(
    env_strb: *mut ucs_string_buffer_t,
    delimiter: *const c_char,
) {
    let _ = (env_strb, delimiter);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parser_cleanup() {}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parser_has_field(
    fields: *const ucs_config_field_t,
    prefix: *const c_char,
    name: *const c_char,
) -> c_int {
    let _ = (fields, prefix, name);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_global_list_has_field(name: *const c_char) -> c_int {
    let _ = name;
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_is_allow_list_empty(
    allow_list: *const ucs_config_allow_list_t,
) -> c_int {
    let _ = allow_list;
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_are_all_allow_lists_empty(
    allow_lists: *const ucs_config_allow_list_t,
    count: usize,
) -> c_int {
    let _ = (allow_lists, count);
    0
}
