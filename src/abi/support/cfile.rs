//! Text to a C stream.

use crate::abi::prelude::FILE;

/// Writes all of `text`; does nothing for a NULL stream. Errors stay in the stream, as with
/// `fprintf`.
///
/// # Safety
/// `stream` is NULL or an open stream.
pub unsafe fn print(stream: *mut FILE, text: &str) {
    if !stream.is_null() {
        // SAFETY: an open stream, and a live slice that is only read.
        unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), stream) };
    }
}
