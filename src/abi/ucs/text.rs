//! Strings across the boundary.

use core::ffi::{CStr, c_char, c_int};
use std::borrow::Cow;

use crate::abi::prelude::va_list;

unsafe extern "C" {
    /// As in the C library. The types fit: on this ABI a `va_list` argument is a pointer.
    pub(crate) fn vsnprintf(
        to: *mut c_char,
        size: usize,
        format: *const c_char,
        ap: va_list,
    ) -> c_int;
    fn vasprintf(to: *mut *mut c_char, format: *const c_char, ap: va_list) -> c_int;
}

/// Formats as printf does; `None` when there is no memory or the format can't be served.
///
/// # Safety
/// As for `vprintf`; the arguments are used up.
pub(crate) unsafe fn vformat(format: *const c_char, ap: va_list) -> Option<Vec<u8>> {
    if format.is_null() {
        return None;
    }
    let mut text = core::ptr::null_mut();
    // SAFETY: as the caller promises.
    if unsafe { vasprintf(&mut text, format, ap) } < 0 {
        return None;
    }
    // SAFETY: vasprintf has succeeded, so the text is a C string from malloc.
    let copy = unsafe { bytes(text) }.map(<[u8]>::to_vec);
    // SAFETY: from malloc, and not used any more.
    unsafe { libc::free(text.cast()) };
    copy
}

/// The text of a C string; empty for NULL. What isn't UTF-8 is replaced.
///
/// # Safety
/// `text` is NULL or a C string that stays unchanged for `'a`.
pub(crate) unsafe fn read<'a>(text: *const c_char) -> Cow<'a, str> {
    // SAFETY: as the caller promises.
    unsafe { bytes(text) }.map_or(Cow::Borrowed(""), String::from_utf8_lossy)
}

/// The bytes of a C string without its end; `None` for NULL.
///
/// # Safety
/// As [`read`].
pub(crate) unsafe fn bytes<'a>(text: *const c_char) -> Option<&'a [u8]> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not NULL, so a C string.
    Some(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// Writes as much of `text` as fits, and a NUL, into `max` bytes at `to`. Nothing for NULL or 0.
///
/// # Safety
/// `to` is NULL or has room for `max` bytes.
pub(crate) unsafe fn write(to: *mut c_char, max: usize, text: &[u8]) {
    if to.is_null() || max == 0 {
        return;
    }
    let length = text.len().min(max - 1);
    // SAFETY: `length` bytes and the NUL fit into `max`; the source is another live slice, which
    // may overlap a destination that the caller also passed as source.
    unsafe {
        core::ptr::copy(text.as_ptr().cast(), to, length);
        to.add(length).write(0);
    }
}

/// A C string in memory from `malloc`, for the caller to free; NULL without memory.
pub(crate) fn malloc_copy(text: &[u8]) -> *mut c_char {
    // SAFETY: malloc accepts any size.
    let to: *mut c_char = unsafe { libc::malloc(text.len() + 1) }.cast();
    // SAFETY: NULL or of that size.
    unsafe { write(to, text.len() + 1, text) };
    to
}
