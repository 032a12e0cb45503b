//! `ucs/algorithm/string_distance.h`.

use crate::abi::prelude::*;
use crate::abi::ucs::text;

/// Number of characters to insert, remove or replace to make one string of the other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_distance(str1: *const c_char, str2: *const c_char) -> usize {
    // SAFETY: C strings or NULL.
    let (a, b) = unsafe { (text::read(str1), text::read(str2)) };
    crate::ucs::config::distance(&a, &b)
}
