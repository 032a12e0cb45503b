//! `ucs/algorithm/crc.h`.

use crate::abi::prelude::*;
use crate::abi::ucs::text;
use crate::ucs::crc;

/// Checksum of 16 bits of `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_crc16(buffer: *const c_void, size: usize) -> u16 {
    // SAFETY: the caller passes this many bytes.
    crc::crc16(unsafe { bytes(buffer, size) })
}

/// Checksum of 16 bits of a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_crc16_string(s: *const c_char) -> u16 {
    // SAFETY: a C string or NULL.
    crc::crc16(unsafe { text::bytes(s) }.unwrap_or_default())
}

/// Continues a checksum of 32 bits, which begins with 0, over `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_crc32(prev_crc: u32, buffer: *const c_void, size: usize) -> u32 {
    // SAFETY: the caller passes this many bytes.
    crc::crc32(prev_crc, unsafe { bytes(buffer, size) })
}

/// The bytes at a pointer; none for NULL.
///
/// # Safety
/// `buffer` is NULL or holds `size` bytes that stay unchanged for `'a`.
unsafe fn bytes<'a>(buffer: *const c_void, size: usize) -> &'a [u8] {
    match buffer.is_null() {
        true => &[],
        // SAFETY: as the caller promises.
        false => unsafe { core::slice::from_raw_parts(buffer.cast(), size) },
    }
}
