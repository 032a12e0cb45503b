//! `ucs/algorithm/crc.h`.

use crate::abi::prelude::*;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_crc16(buffer: *const c_void, size: usize) -> u16 {
    let _ = (buffer, size);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_crc16_string(s: *const c_char) -> u16 {
    let _ = s;
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_crc32(prev_crc: u32, buffer: *const c_void, size: usize) -> u32 {
    let _ = (prev_crc, buffer, size);
    0
}
