//! `ucs/vfs/base/vfs_cb.h`.

use crate::abi::prelude::*;
use crate::abi::support::cstr;
use crate::abi::ucs::datastruct::string_buffer::ucs_string_buffer_push;
use crate::ucs::config::format_size;

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

/// Appends a line.
///
/// # Safety
/// `strb` is NULL or a string buffer.
unsafe fn line(strb: *mut ucs_string_buffer_t, text: &str) {
    // SAFETY: as the caller says.
    unsafe { ucs_string_buffer_push(strb, format!("{text}\n").as_bytes()) };
}

/// An address as `%p` prints it.
fn pointer(at: *const c_void) -> String {
    match at.is_null() {
        true => "(nil)".to_owned(),
        false => format!("{at:p}"),
    }
}

/// Writes an address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_show_memory_address(
    obj: *mut c_void,
    strb: *mut ucs_string_buffer_t,
    arg_ptr: *mut c_void,
    arg_u64: u64,
) {
    let _ = (arg_ptr, arg_u64);
    // SAFETY: the caller's buffer.
    unsafe { line(strb, &pointer(obj)) };
}

/// A number in memory, of the type without its flags: as signed and as unsigned.
///
/// # Safety
/// There is such a number.
unsafe fn number(kind: ucs_vfs_primitive_type_t, at: *const c_void) -> Option<(i64, u64)> {
    // SAFETY: as the caller says.
    unsafe {
        Some(match kind {
            UCS_VFS_TYPE_CHAR => (at.cast::<i8>().read().into(), at.cast::<u8>().read().into()),
            UCS_VFS_TYPE_SHORT => (
                at.cast::<i16>().read().into(),
                at.cast::<u16>().read().into(),
            ),
            UCS_VFS_TYPE_INT => (
                at.cast::<i32>().read().into(),
                at.cast::<u32>().read().into(),
            ),
            UCS_VFS_TYPE_LONG => (at.cast::<i64>().read(), at.cast::<u64>().read()),
            _ => return None,
        })
    }
}

/// Writes a plain value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_show_primitive(
    obj: *mut c_void,
    strb: *mut ucs_string_buffer_t,
    arg_ptr: *mut c_void,
    arg_u64: u64,
) {
    let kind = arg_u64 as ucs_vfs_primitive_type_t;
    let plain = kind & !(UCS_VFS_TYPE_FLAG_UNSIGNED | UCS_VFS_TYPE_FLAG_HEX);
    // SAFETY: the caller's buffer, and a value of the type that is said.
    unsafe {
        let text = match (kind, number(plain, arg_ptr)) {
            (UCS_VFS_TYPE_POINTER, _) => pointer(arg_ptr.cast::<*const c_void>().read()),
            (UCS_VFS_TYPE_STRING, _) => {
                let text = cstr::text(arg_ptr.cast()).unwrap_or("(null)".into());
                text.into_owned()
            }
            (_, Some((_, value))) if kind & UCS_VFS_TYPE_FLAG_HEX != 0 => format!("{value:#x}"),
            (_, Some((_, value))) if kind & UCS_VFS_TYPE_FLAG_UNSIGNED != 0 => value.to_string(),
            (_, Some((value, _))) => value.to_string(),
            (_, None) => {
                crate::ucs_warn!("vfs: attribute of object {obj:p} has no type {arg_u64:#x}");
                "<unable to get the value>".to_owned()
            }
        };
        line(strb, &text);
    }
}

/// Writes a number with a suffix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_show_ulunits(
    obj: *mut c_void,
    strb: *mut ucs_string_buffer_t,
    arg_ptr: *mut c_void,
    arg_u64: u64,
) {
    let _ = (obj, arg_u64);
    let mut text = [0 as c_char; 64];
    // SAFETY: a buffer of our own with its size, the caller's number and string buffer.
    unsafe {
        let at = text.as_mut_ptr();
        ucs_config_sprintf_ulunits(at, text.len(), arg_ptr, core::ptr::null());
        line(strb, &cstr::text(at).unwrap_or_default());
    }
}

/// Writes a size in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_show_memunits(
    obj: *mut c_void,
    strb: *mut ucs_string_buffer_t,
    arg_ptr: *mut c_void,
    arg_u64: u64,
) {
    let _ = (obj, arg_u64);
    // SAFETY: the caller's number and string buffer.
    unsafe { line(strb, &format_size(arg_ptr.cast::<usize>().read())) };
}
