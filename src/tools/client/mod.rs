//! What the programs call of the libraries: each object of the C API as a value that is released
//! when it goes.

pub mod log;
pub mod ucp;
pub mod ucs;
pub mod uct;
pub mod why;

use core::ffi::{CStr, c_char};
use std::ffi::CString;

use crate::ucs::status::{Error, Status};

/// What a C function returned, as a result.
pub fn check(status: Status) -> Result<(), Error> {
    match status.is_err() {
        // A code that isn't known here comes from a later version.
        true => Err(Error::from_code(status.0).unwrap_or(Error::IoError)),
        false => Ok(()),
    }
}

/// Text for a C function. Nothing of a command line holds a zero.
fn c_text(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

/// Text that a C function gave.
///
/// # Safety
/// NULL or a terminated string.
unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller's.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

/// Text in an array of a structure, up to its first zero.
fn array_text(array: &[c_char]) -> String {
    let bytes: Vec<u8> = array
        .iter()
        .map(|byte| *byte as u8)
        .take_while(|byte| *byte != 0)
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
