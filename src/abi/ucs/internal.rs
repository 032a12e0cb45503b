//! Entry points and types of headers that UCX does not install, and that its own tools
//! (`ucx_info`, `ucx_perftest`) import all the same. No header is generated from this module.

use crate::abi::prelude::*;

/// A text table under construction: 48 bytes, owned by the caller.
#[repr(C)]
pub struct ucs_table_t {
    pub config: ucs_table_config_t,
    /// Pointer to the entries; length and capacity (its top bit set: fixed storage) follow.
    pub entries_buffer: *mut c_void,
    pub entries_length: c_uint,
    pub entries_capacity: c_uint,
    pub status: ucs_status_t,
}

/// How a table looks.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_table_config_t {
    pub n_cols: c_uint,
    pub row_prefix: *const c_char,
    pub equal_widths: c_int,
}

/// A row of a table, as returned by `ucs_table_add_row`.
pub type ucs_table_row_h = *mut c_void;

/// Storage of an asynchronous context: 80 bytes, owned by the caller, private to this library.
#[repr(C)]
pub struct ucs_async_context_storage {
    pub opaque: [u64; 10],
}

/// Vendor of the processor, as UCX 1.13 numbers them.
#[unsafe(no_mangle)]
pub extern "C" fn ucs_arch_get_cpu_vendor() -> c_int {
    0
}

/// Model of the processor, as UCX 1.13 numbers them.
#[unsafe(no_mangle)]
pub extern "C" fn ucs_arch_get_cpu_model() -> c_int {
    0
}

/// Name of the processor's vendor.
#[unsafe(no_mangle)]
pub extern "C" fn ucs_cpu_vendor_name() -> *const c_char {
    c"unknown".as_ptr()
}

/// Name of the processor's model.
#[unsafe(no_mangle)]
pub extern "C" fn ucs_cpu_model_name() -> *const c_char {
    c"unknown".as_ptr()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_async_context_init(
    async_: *mut ucs_async_context_storage,
    mode: ucs_async_mode_t,
) -> ucs_status_t {
    let _ = (async_, mode);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_async_context_cleanup(async_: *mut ucs_async_context_storage) {
    let _ = async_;
}

/// Bytes from the C heap; `name` is for memory tracking, which isn't done here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_malloc(size: usize, name: *const c_char) -> *mut c_void {
    let _ = name;
    // SAFETY: malloc accepts any size.
    unsafe { libc::malloc(size) }
}

/// Frees what [`ucs_malloc`] gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_free(ptr: *mut c_void) {
    // SAFETY: the caller passes NULL or a pointer from `ucs_malloc`.
    unsafe { libc::free(ptr) }
}

#[unsafe(no_mangle)]
pub extern "C" fn ucs_generate_uuid(seed: u64) -> u64 {
    let _ = seed;
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn ucs_get_cpu_clocks_per_sec() -> f64 {
    0.0
}

/// Prepares the conversion of the time stamp counter to seconds.
#[unsafe(no_mangle)]
pub extern "C" fn ucs_x86_init_tsc_freq() {}

#[unsafe(no_mangle)]
pub extern "C" fn ucs_get_page_size() -> usize {
    4096
}

#[unsafe(no_mangle)]
pub extern "C" fn ucs_sys_get_num_cpus() -> c_long {
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sys_getaffinity(cpuset: *mut cpu_set_t) -> c_int {
    let _ = cpuset;
    -1
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sys_setaffinity(cpuset: *mut cpu_set_t) -> c_int {
    let _ = cpuset;
    -1
}

#[unsafe(no_mangle)]
pub extern "C" fn ucs_sys_dmi_product_name() -> *const c_char {
    c"unknown".as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn ucs_sys_get_lib_path() -> *const c_char {
    c"<failed to resolve libucs path>".as_ptr()
}

/// Loads plug-in transports of a framework. There are none: all transports are built in.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_load_modules(
    framework: *const c_char,
    modules: *const c_char,
    init_once: *mut ucs_init_once_t,
    flags: c_uint,
) {
    let _ = (framework, modules, init_once, flags);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_table_init(
    table: *mut ucs_table_t,
    config: *const ucs_table_config_t,
) {
    let _ = (table, config);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_table_cleanup(table: *mut ucs_table_t) {
    let _ = table;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_table_add_separator(table: *mut ucs_table_t) {
    let _ = table;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_table_add_row(table: *mut ucs_table_t, row: *mut ucs_table_row_h) {
    let _ = (table, row);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_table_row_add_cell_empty(
    table: *mut ucs_table_t,
    row: ucs_table_row_h,
    col_span: c_uint,
) {
    let _ = (table, row, col_span);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_table_print(table: *mut ucs_table_t) {
    let _ = table;
}
