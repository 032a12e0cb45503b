//! `ucs/config/types.h`.

use crate::abi::prelude::*;

/// Levels of messages.
pub type ucs_log_level_t = u32;
pub const UCS_LOG_LEVEL_FATAL: ucs_log_level_t = 0;
pub const UCS_LOG_LEVEL_ERROR: ucs_log_level_t = 1;
pub const UCS_LOG_LEVEL_WARN: ucs_log_level_t = 2;
pub const UCS_LOG_LEVEL_DIAG: ucs_log_level_t = 3;
pub const UCS_LOG_LEVEL_INFO: ucs_log_level_t = 4;
pub const UCS_LOG_LEVEL_DEBUG: ucs_log_level_t = 5;
pub const UCS_LOG_LEVEL_TRACE: ucs_log_level_t = 6;
pub const UCS_LOG_LEVEL_TRACE_REQ: ucs_log_level_t = 7;
pub const UCS_LOG_LEVEL_TRACE_DATA: ucs_log_level_t = 8;
pub const UCS_LOG_LEVEL_TRACE_ASYNC: ucs_log_level_t = 9;
pub const UCS_LOG_LEVEL_TRACE_FUNC: ucs_log_level_t = 10;
pub const UCS_LOG_LEVEL_TRACE_POLL: ucs_log_level_t = 11;
pub const UCS_LOG_LEVEL_LAST: ucs_log_level_t = 12;
pub const UCS_LOG_LEVEL_PRINT: ucs_log_level_t = 13;

pub type ucs_async_mode_t = u32;
pub const UCS_ASYNC_MODE_SIGNAL: ucs_async_mode_t = 0;
pub const UCS_ASYNC_MODE_THREAD: ucs_async_mode_t = 1;
pub const UCS_ASYNC_MODE_THREAD_SPINLOCK: ucs_async_mode_t = 1;
pub const UCS_ASYNC_MODE_THREAD_MUTEX: ucs_async_mode_t = 2;
pub const UCS_ASYNC_MODE_POLL: ucs_async_mode_t = 3;
pub const UCS_ASYNC_MODE_LAST: ucs_async_mode_t = 4;

pub type ucs_ternary_auto_value = u32;
pub const UCS_NO: ucs_ternary_auto_value = 0;
pub const UCS_YES: ucs_ternary_auto_value = 1;
pub const UCS_TRY: ucs_ternary_auto_value = 2;
pub const UCS_AUTO: ucs_ternary_auto_value = 3;
pub const UCS_TERNARY_LAST: ucs_ternary_auto_value = 4;

pub type ucs_on_off_auto_value = u32;
pub const UCS_CONFIG_OFF: ucs_on_off_auto_value = 0;
pub const UCS_CONFIG_ON: ucs_on_off_auto_value = 1;
pub const UCS_CONFIG_AUTO: ucs_on_off_auto_value = 2;
pub const UCS_CONFIG_ON_OFF_LAST: ucs_on_off_auto_value = 3;

pub type ucs_handle_error_t = u32;
pub const UCS_HANDLE_ERROR_BACKTRACE: ucs_handle_error_t = 0;
pub const UCS_HANDLE_ERROR_FREEZE: ucs_handle_error_t = 1;
pub const UCS_HANDLE_ERROR_DEBUG: ucs_handle_error_t = 2;
pub const UCS_HANDLE_ERROR_NONE: ucs_handle_error_t = 3;
pub const UCS_HANDLE_ERROR_LAST: ucs_handle_error_t = 4;

pub type ucs_config_print_flags_t = u32;
pub const UCS_CONFIG_PRINT_CONFIG: ucs_config_print_flags_t = 1 << 0;
pub const UCS_CONFIG_PRINT_HEADER: ucs_config_print_flags_t = 1 << 1;
pub const UCS_CONFIG_PRINT_DOC: ucs_config_print_flags_t = 1 << 2;
pub const UCS_CONFIG_PRINT_HIDDEN: ucs_config_print_flags_t = 1 << 3;
pub const UCS_CONFIG_PRINT_COMMENT_DEFAULT: ucs_config_print_flags_t = 1 << 4;

pub type ucs_config_allow_list_mode_t = u32;
pub const UCS_CONFIG_ALLOW_LIST_ALLOW_ALL: ucs_config_allow_list_mode_t = 0;
pub const UCS_CONFIG_ALLOW_LIST_ALLOW: ucs_config_allow_list_mode_t = 1;
pub const UCS_CONFIG_ALLOW_LIST_NEGATE: ucs_config_allow_list_mode_t = 2;

pub type ucs_ternary_auto_value_t = ucs_ternary_auto_value;
pub type ucs_on_off_auto_value_t = ucs_on_off_auto_value;
pub type ucs_sock_addr_t = ucs_sock_addr;
pub type ucs_log_component_config_t = ucs_log_component_config;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_config_names_array_t {
    pub names: *mut *mut c_char,
    pub count: c_uint,
    pub truncated: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_config_allow_list_t {
    pub array: ucs_config_names_array_t,
    pub mode: ucs_config_allow_list_mode_t,
}

/// A socket address.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_sock_addr {
    /// The address.
    pub addr: *const sockaddr,
    /// Its bytes.
    pub addrlen: socklen_t,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_log_component_config {
    pub log_level: ucs_log_level_t,
    pub name: [c_char; 16],
    pub file_filter: *const c_char,
}
