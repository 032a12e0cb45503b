//! Values of the kinds of `ucs/config/parser.h`, behind pointers from C.
//!
//! All functions here take pointers that a program's table of variables describes: what they
//! point to has the type that the kind says, and room for it.

use std::borrow::Cow;

use crate::abi::prelude::*;
use crate::abi::ucs::text;
use crate::ucs::arch;
use crate::ucs::config;

/// Reads a trimmed text into a value; 1 if it is one.
///
/// # Safety
/// `buf` is a C string or NULL, `dest` has room for a `T` or is NULL.
pub(super) unsafe fn read_into<T>(
    buf: *const c_char,
    dest: *mut c_void,
    parse: impl FnOnce(&str) -> Option<T>,
) -> c_int {
    if buf.is_null() || dest.is_null() {
        return 0;
    }
    // SAFETY: as the caller promises.
    unsafe {
        match parse(text::read(buf).trim()) {
            Some(value) => {
                dest.cast::<T>().write_unaligned(value);
                1
            }
            None => 0,
        }
    }
}

/// Writes a value as text; 1 if it has one.
///
/// # Safety
/// `src` holds a `T` or is NULL, `buf` has room for `max` bytes.
pub(super) unsafe fn write_from<T: Copy>(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    print: impl FnOnce(T) -> Option<String>,
) -> c_int {
    if src.is_null() {
        return 0;
    }
    // SAFETY: as the caller promises.
    unsafe {
        match print(src.cast::<T>().read_unaligned()) {
            Some(printed) => {
                text::write(buf, max, printed.as_bytes());
                1
            }
            None => 0,
        }
    }
}

/// Copies a value that owns nothing.
///
/// # Safety
/// Both pointers are NULL or fit a `T`.
pub(super) unsafe fn copy_value<T>(src: *const c_void, dest: *mut c_void) -> ucs_status_t {
    if src.is_null() || dest.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: as the caller promises.
    unsafe {
        dest.cast::<T>()
            .write_unaligned(src.cast::<T>().read_unaligned())
    };
    Status::OK
}

/// A number, or `inf` for the largest.
pub(super) fn uint(text: &str) -> Option<c_uint> {
    match text.eq_ignore_ascii_case("inf") {
        true => Some(c_uint::MAX),
        false => config::parse_ulong(text).and_then(|value| value.try_into().ok()),
    }
}

/// `y`, `n` or `try`.
pub(super) fn ternary(text: &str) -> Option<c_int> {
    match text.to_ascii_lowercase().as_str() {
        "try" | "maybe" => Some(UCS_TRY as c_int),
        other => config::parse_bool(other).map(c_int::from),
    }
}

/// Seconds as ticks of the clock, at most one below the two special values.
pub(super) fn ticks(seconds: f64) -> u64 {
    // A cast of what is too large gives the largest.
    ((seconds * arch::clock().per_second() + 0.5) as u64).min(u64::MAX - 2)
}

/// Ticks of the clock as seconds.
pub(super) fn seconds(ticks: u64) -> f64 {
    ticks as f64 / arch::clock().per_second()
}

/// A bandwidth, or `auto`.
pub(super) fn bandwidth(text: &str) -> Option<f64> {
    match text.trim().eq_ignore_ascii_case("auto") {
        true => Some(UCS_CONFIG_DBL_AUTO),
        false => config::parse_bandwidth(text),
    }
}

/// The text of a bandwidth.
pub(super) fn bandwidth_text(value: f64) -> String {
    match value == UCS_CONFIG_DBL_AUTO {
        true => "auto".to_owned(),
        false => config::format_bandwidth(value),
    }
}

/// The strings of a list that ends with NULL.
///
/// # Safety
/// `list` is NULL or such a list, of strings that stay for `'a`.
pub(super) unsafe fn names<'a>(list: *const c_void) -> Vec<Cow<'a, str>> {
    let list: *const *const c_char = list.cast();
    let mut found = Vec::new();
    if list.is_null() {
        return found;
    }
    loop {
        // SAFETY: nothing is read beyond the NULL.
        unsafe {
            let entry = list.add(found.len()).read_unaligned();
            if entry.is_null() {
                return found;
            }
            found.push(text::read(entry));
        }
    }
}

/// Where a name stands in a list, in any case.
///
/// # Safety
/// As [`names`].
pub(super) unsafe fn find(list: *const c_void, name: &str) -> Option<c_uint> {
    // SAFETY: as the caller promises.
    let names = unsafe { names(list) };
    let at = names
        .iter()
        .position(|known| known.eq_ignore_ascii_case(name.trim()))?;
    c_uint::try_from(at).ok()
}

/// The name at a place in a list.
///
/// # Safety
/// As [`names`].
pub(super) unsafe fn name_at(list: *const c_void, at: c_uint) -> Option<String> {
    // SAFETY: as the caller promises.
    unsafe { names(list) }
        .get(at as usize)
        .map(|name| name.clone().into_owned())
}

/// What a parser accepts, for people.
///
/// # Safety
/// The parser is what a program's table holds.
pub(super) unsafe fn help(parser: &ucs_config_parser_t) -> String {
    let mut buffer = [0; 256];
    let Some(help) = parser.help else {
        return String::new();
    };
    // SAFETY: the parser's own argument; the buffer has the length said.
    unsafe {
        help(buffer.as_mut_ptr(), buffer.len() - 1, parser.arg);
        text::read(buffer.as_ptr()).into_owned()
    }
}

/// What a parser adds to the documentation of its variable.
///
/// # Safety
/// The parser is what a program's table holds.
pub(super) unsafe fn doc(parser: &ucs_config_parser_t) -> String {
    let Some(doc) = parser.doc else {
        return String::new();
    };
    let mut buffer = ucs_string_buffer_t {
        buffer: core::ptr::null_mut(),
        length: 0,
        capacity: 0,
    };
    // SAFETY: the parser's own argument; an empty string buffer, which is freed after its use.
    unsafe {
        doc(&mut buffer, parser.arg);
        let more = text::read(ucs_string_buffer_cstr(&buffer)).into_owned();
        ucs_string_buffer_cleanup(&mut buffer);
        more
    }
}

/// A value as its parser prints it.
///
/// # Safety
/// The parser is what a program's table holds for the value behind `src`.
pub(super) unsafe fn print(parser: &ucs_config_parser_t, src: *const c_void) -> Option<String> {
    let mut buffer = [0; 1024];
    // SAFETY: the parser's own argument; the buffer has the length said.
    unsafe {
        let done = (parser.write?)(buffer.as_mut_ptr(), buffer.len() - 1, src, parser.arg);
        (done != 0).then(|| text::read(buffer.as_ptr()).into_owned())
    }
}

/// Reads a value by its parser.
///
/// # Safety
/// The parser is what a program's table holds for the value behind `dest`.
pub(super) unsafe fn parse(parser: &ucs_config_parser_t, value: &str, dest: *mut c_void) -> bool {
    let (Some(read), Ok(value)) = (parser.read, std::ffi::CString::new(value)) else {
        return false;
    };
    // SAFETY: the parser's own argument; a C string.
    unsafe { read(value.as_ptr(), dest, parser.arg) == 1 }
}
