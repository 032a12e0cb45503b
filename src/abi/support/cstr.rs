//! C strings of callers.

use core::ffi::{CStr, c_char};
use std::borrow::Cow;

/// The text, or `None` for NULL. Bytes that are no UTF-8 are replaced.
///
/// # Safety
/// `text` is NULL or a terminated string that stays as it is for `'a`.
pub unsafe fn text<'a>(text: *const c_char) -> Option<Cow<'a, str>> {
    if text.is_null() {
        return None;
    }
    // SAFETY: a terminated string, as the caller says.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy())
}

/// `text` as a C array of `N` bytes, cut at a character so that it ends with a zero.
pub fn array<const N: usize>(text: &str) -> [c_char; N] {
    let mut out = [0; N];
    let mut end = text.len().min(N.saturating_sub(1));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    for (to, from) in out.iter_mut().zip(&text.as_bytes()[..end]) {
        *to = *from as c_char;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_end_with_a_zero() {
        assert_eq!(array::<4>("ab"), [b'a' as c_char, b'b' as c_char, 0, 0]);
        assert_eq!(
            array::<4>("abcdef"),
            [b'a' as c_char, b'b' as c_char, b'c' as c_char, 0]
        );
        assert_eq!(array::<4>("abé"), [b'a' as c_char, b'b' as c_char, 0, 0]);
        assert_eq!(array::<0>("ab"), [] as [c_char; 0]);
    }

    #[test]
    fn text_of_callers() {
        // SAFETY: NULL or literals.
        unsafe {
            assert_eq!(text(core::ptr::null()), None);
            assert_eq!(text(c"tcp".as_ptr()).as_deref(), Some("tcp"));
            assert_eq!(text(c"\xff".as_ptr()).as_deref(), Some("\u{fffd}"));
        }
    }
}
