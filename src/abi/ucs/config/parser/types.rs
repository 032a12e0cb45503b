//! Types and constants of `ucs/config/parser.h`.

use crate::abi::prelude::*;

pub const UCS_DEFAULT_ENV_PREFIX: &str = "UCX_";
pub const UCS_CONFIG_ARRAY_MAX: i32 = 128;
pub const UCX_CONFIG_FILE_NAME: &str = "ucx.conf";
pub const UCS_CONFIG_PARSER_ALL: &str = "all";
pub const UCS_CONFIG_DEPRECATED_FIELD_OFFSET: u64 = 0xffffffffffffffff;
pub const UCS_CONFIG_DBL_AUTO: f64 = -2.0;

pub type ucs_config_table_flags_t = u32;
pub const UCS_CONFIG_TABLE_FLAG_LOADED: ucs_config_table_flags_t = 1 << 0;

pub type ucs_config_parser_t = ucs_config_parser;
pub type ucs_config_array_t = ucs_config_array;
pub type ucs_config_field_t = ucs_config_field;
pub type ucs_config_cached_key_t = ucs_config_cached_key;
pub type ucs_ib_port_spec_t = ucs_ib_port_spec;
pub type ucs_range_spec_t = ucs_range_spec;
pub type ucs_config_global_list_entry_t = ucs_config_global_list_entry;
pub type ucs_config_bw_spec_t = ucs_config_bw_spec;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_config_parser {
    pub read: Option<unsafe extern "C" fn(*const c_char, *mut c_void, *const c_void) -> c_int>,
    pub write:
        Option<unsafe extern "C" fn(*mut c_char, usize, *const c_void, *const c_void) -> c_int>,
    pub clone:
        Option<unsafe extern "C" fn(*const c_void, *mut c_void, *const c_void) -> ucs_status_t>,
    pub release: Option<unsafe extern "C" fn(*mut c_void, *const c_void)>,
    pub help: Option<unsafe extern "C" fn(*mut c_char, usize, *const c_void)>,
    pub doc: Option<unsafe extern "C" fn(*mut ucs_string_buffer_t, *const c_void)>,
    pub arg: *const c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_config_array {
    pub elem_size: usize,
    pub parser: ucs_config_parser_t,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_config_field {
    pub name: *const c_char,
    pub dfl_value: *const c_char,
    pub doc: *const c_char,
    pub offset: usize,
    pub parser: ucs_config_parser_t,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_config_key_field_t {
    pub name: *const c_char,
    pub doc: *const c_char,
    pub offset: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_config_key_value_param_t {
    pub parser: ucs_config_parser_t,
    pub keys: *const ucs_config_key_field_t,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_config_cached_key {
    pub key: *mut c_char,
    pub value: *mut c_char,
    pub used: c_int,
    pub list: ucs_list_link_t,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_ib_port_spec {
    pub device_name: *mut c_char,
    pub port_num: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_range_spec {
    pub first: c_uint,
    pub last: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_config_global_list_entry {
    pub name: *const c_char,
    pub prefix: *const c_char,
    pub table: *mut ucs_config_field_t,
    pub size: usize,
    pub list: ucs_list_link_t,
    pub flags: u8,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_config_bw_spec {
    pub name: *mut c_char,
    pub bw: f64,
}
