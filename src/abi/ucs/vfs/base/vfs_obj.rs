//! `ucs/vfs/base/vfs_obj.h`.

use crate::abi::prelude::*;

pub type ucs_vfs_file_read_cb_t = Option<
    unsafe extern "C" fn(
        obj: *mut c_void,
        strb: *mut ucs_string_buffer_t,
        arg_ptr: *mut c_void,
        arg_u64: u64,
    ),
>;
pub type ucs_vfs_file_write_cb_t = Option<
    unsafe extern "C" fn(
        obj: *mut c_void,
        buffer: *const c_char,
        size: usize,
        arg_ptr: *mut c_void,
        arg_u64: u64,
    ) -> ucs_status_t,
>;
pub type ucs_vfs_refresh_cb_t = Option<unsafe extern "C" fn(obj: *mut c_void)>;
pub type ucs_vfs_list_dir_cb_t =
    Option<unsafe extern "C" fn(name: *const c_char, arg: *mut c_void)>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_vfs_path_info_t {
    pub size: usize,
    pub mode: c_int,
}

/// Removes an object and what is under it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_obj_remove(obj: *mut c_void) {
    let _ = obj;
}

/// Lets a folder be filled again when it is read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_obj_set_dirty(obj: *mut c_void, refresh_cb: ucs_vfs_refresh_cb_t) {
    let _ = (obj, refresh_cb);
}

/// What is at a path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_path_get_info(
    path: *const c_char,
    info: *mut ucs_vfs_path_info_t,
) -> ucs_status_t {
    let _ = (path, info);
    NOT_IMPLEMENTED
}

/// Reads a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_path_read_file(
    path: *const c_char,
    strb: *mut ucs_string_buffer_t,
) -> ucs_status_t {
    let _ = (path, strb);
    NOT_IMPLEMENTED
}

/// Writes a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_path_write_file(
    path: *const c_char,
    buffer: *const c_char,
    size: usize,
) -> ucs_status_t {
    let _ = (path, buffer, size);
    NOT_IMPLEMENTED
}

/// Lists a folder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_path_list_dir(
    path: *const c_char,
    dir_cb: ucs_vfs_list_dir_cb_t,
    arg: *mut c_void,
) -> ucs_status_t {
    let _ = (path, dir_cb, arg);
    NOT_IMPLEMENTED
}

/// Where a link leads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_path_get_link(
    path: *const c_char,
    strb: *mut ucs_string_buffer_t,
) -> ucs_status_t {
    let _ = (path, strb);
    NOT_IMPLEMENTED
}

// Variadic: the bodies are in C (see `variadic.c`), only declared here.
unsafe extern "C" {
    /// Adds a folder for an object.
    pub fn ucs_vfs_obj_add_dir(
        parent_obj: *mut c_void,
        obj: *mut c_void,
        rel_path: *const c_char,
        ...
    ) -> ucs_status_t;
    /// Adds a file that can be read.
    pub fn ucs_vfs_obj_add_ro_file(
        obj: *mut c_void,
        read_cb: ucs_vfs_file_read_cb_t,
        arg_ptr: *mut c_void,
        arg_u64: u64,
        rel_path: *const c_char,
        ...
    ) -> ucs_status_t;
    /// Adds a file that can be read and written.
    pub fn ucs_vfs_obj_add_rw_file(
        obj: *mut c_void,
        read_cb: ucs_vfs_file_read_cb_t,
        write_cb: ucs_vfs_file_write_cb_t,
        arg_ptr: *mut c_void,
        arg_u64: u64,
        rel_path: *const c_char,
        ...
    ) -> ucs_status_t;
    /// Adds a link to another object.
    pub fn ucs_vfs_obj_add_sym_link(
        obj: *mut c_void,
        target_obj: *mut c_void,
        rel_path: *const c_char,
        ...
    ) -> ucs_status_t;
}
