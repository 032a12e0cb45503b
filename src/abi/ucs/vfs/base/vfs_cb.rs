//! `ucs/vfs/base/vfs_cb.h`.

use crate::abi::prelude::*;

pub type ucs_vfs_primitive_type_t = u32;
pub const UCS_VFS_TYPE_POINTER: ucs_vfs_primitive_type_t = 0;
pub const UCS_VFS_TYPE_STRING: ucs_vfs_primitive_type_t = 1;
pub const UCS_VFS_TYPE_CHAR: ucs_vfs_primitive_type_t = 2;
pub const UCS_VFS_TYPE_SHORT: ucs_vfs_primitive_type_t = 3;
pub const UCS_VFS_TYPE_INT: ucs_vfs_primitive_type_t = 4;
pub const UCS_VFS_TYPE_LONG: ucs_vfs_primitive_type_t = 5;
pub const UCS_VFS_TYPE_LAST: ucs_vfs_primitive_type_t = 6;
pub const UCS_VFS_TYPE_FLAG_UNSIGNED: ucs_vfs_primitive_type_t = 1 << 14;
pub const UCS_VFS_TYPE_FLAG_HEX: ucs_vfs_primitive_type_t = 1 << 15;
pub const UCS_VFS_TYPE_I8: ucs_vfs_primitive_type_t = 2;
pub const UCS_VFS_TYPE_U8: ucs_vfs_primitive_type_t = 16386;
pub const UCS_VFS_TYPE_I16: ucs_vfs_primitive_type_t = 3;
pub const UCS_VFS_TYPE_U16: ucs_vfs_primitive_type_t = 16387;
pub const UCS_VFS_TYPE_I32: ucs_vfs_primitive_type_t = 4;
pub const UCS_VFS_TYPE_U32: ucs_vfs_primitive_type_t = 16388;
pub const UCS_VFS_TYPE_U32_HEX: ucs_vfs_primitive_type_t = 49156;
pub const UCS_VFS_TYPE_ULONG: ucs_vfs_primitive_type_t = 16389;
pub const UCS_VFS_TYPE_SSIZET: ucs_vfs_primitive_type_t = 5;
pub const UCS_VFS_TYPE_SIZET: ucs_vfs_primitive_type_t = 16389;

/// Writes an address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_show_memory_address(
    obj: *mut c_void,
    strb: *mut ucs_string_buffer_t,
    arg_ptr: *mut c_void,
    arg_u64: u64,
) {
    let _ = (obj, strb, arg_ptr, arg_u64);
}

/// Writes a plain value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_show_primitive(
    obj: *mut c_void,
    strb: *mut ucs_string_buffer_t,
    arg_ptr: *mut c_void,
    arg_u64: u64,
) {
    let _ = (obj, strb, arg_ptr, arg_u64);
}

/// Writes a number with a suffix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_show_ulunits(
    obj: *mut c_void,
    strb: *mut ucs_string_buffer_t,
    arg_ptr: *mut c_void,
    arg_u64: u64,
) {
    let _ = (obj, strb, arg_ptr, arg_u64);
}

/// Writes a size in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_show_memunits(
    obj: *mut c_void,
    strb: *mut ucs_string_buffer_t,
    arg_ptr: *mut c_void,
    arg_u64: u64,
) {
    let _ = (obj, strb, arg_ptr, arg_u64);
}
