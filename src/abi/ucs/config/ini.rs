//! `ucs/config/ini.h`.

use std::ffi::CString;

use crate::abi::prelude::*;
use crate::ucs::ini::{Ini, MAX_LINE};

pub const INI_HANDLER_LINENO: i32 = 0;
pub const INI_ALLOW_MULTILINE: i32 = 1;
pub const INI_ALLOW_BOM: i32 = 1;
pub const INI_START_COMMENT_PREFIXES: &str = ";#";
pub const INI_ALLOW_INLINE_COMMENTS: i32 = 1;
pub const INI_INLINE_COMMENT_PREFIXES: &str = ";";
pub const INI_USE_STACK: i32 = 1;
pub const INI_MAX_LINE: i32 = 200;
pub const INI_ALLOW_REALLOC: i32 = 0;
pub const INI_INITIAL_ALLOC: i32 = 200;
pub const INI_STOP_ON_FIRST_ERROR: i32 = 0;
pub const INI_CALL_HANDLER_ON_NEW_SECTION: i32 = 0;
pub const INI_ALLOW_NO_VALUE: i32 = 0;
pub const INI_CUSTOM_ALLOCATOR: i32 = 0;

pub type ini_handler = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        section: *const c_char,
        name: *const c_char,
        value: *const c_char,
    ) -> c_int,
>;
pub type ini_reader =
    Option<unsafe extern "C" fn(str: *mut c_char, num: c_int, stream: *mut c_void) -> *mut c_char>;

/// Reads a file of sections with names and values; the handler gets each. 0, or the first bad line,
/// or -1 for a file that can't be opened.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ini_parse(
    filename: *const c_char,
    handler: ini_handler,
    user: *mut c_void,
) -> c_int {
    if filename.is_null() {
        return -1;
    }
    // SAFETY: a C string; the file is closed again.
    unsafe {
        let file = libc::fopen(filename, c"re".as_ptr());
        if file.is_null() {
            return -1;
        }
        let result = ini_parse_file(file.cast(), handler, user);
        libc::fclose(file);
        result
    }
}

/// Like `ini_parse`, for an open file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ini_parse_file(
    file: *mut FILE,
    handler: ini_handler,
    user: *mut c_void,
) -> c_int {
    unsafe extern "C" fn read(str: *mut c_char, num: c_int, stream: *mut c_void) -> *mut c_char {
        // SAFETY: the room that the parser says, and an open file.
        unsafe { libc::fgets(str, num, stream.cast()) }
    }
    if file.is_null() {
        return -1;
    }
    // SAFETY: a reader of open files, with one.
    unsafe { ini_parse_stream(Some(read), file.cast(), handler, user) }
}

/// Like `ini_parse`, with a function that reads lines.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ini_parse_stream(
    reader: ini_reader,
    stream: *mut c_void,
    handler: ini_handler,
    user: *mut c_void,
) -> c_int {
    let (Some(reader), Some(handler)) = (reader, handler) else {
        return -1;
    };
    let mut ini = Ini::default();
    let mut line = [0u8; MAX_LINE + 1];
    // SAFETY: the caller's own functions, called with what they are for.
    unsafe {
        while !reader(line.as_mut_ptr().cast(), INI_MAX_LINE, stream).is_null() {
            let length = line.iter().position(|byte| *byte == 0);
            ini.line(
                &line[..length.unwrap_or(MAX_LINE)],
                |section, name, value| {
                    // Parts of a C string, so there is no zero in them.
                    let [section, name, value] =
                        [section, name, value].map(|part| CString::new(part).unwrap_or_default());
                    handler(user, section.as_ptr(), name.as_ptr(), value.as_ptr()) != 0
                },
            );
        }
    }
    ini.error()
}

/// Like `ini_parse`, for text in memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ini_parse_string(
    string: *const c_char,
    handler: ini_handler,
    user: *mut c_void,
) -> c_int {
    unsafe extern "C" fn read(str: *mut c_char, num: c_int, stream: *mut c_void) -> *mut c_char {
        // SAFETY: the room that the parser says, and the place in its text.
        unsafe {
            let text = &mut *stream.cast::<&[u8]>();
            let room = usize::try_from(num).unwrap_or(0).saturating_sub(1);
            let line = text.iter().position(|byte| *byte == b'\n');
            let length = line.map_or(text.len(), |at| at + 1).min(room);
            if length == 0 {
                return core::ptr::null_mut();
            }
            let (line, rest) = text.split_at(length);
            core::ptr::copy_nonoverlapping(line.as_ptr(), str.cast(), length);
            str.add(length).write(0);
            *text = rest;
        }
        str
    }
    if string.is_null() {
        return -1;
    }
    // SAFETY: a C string; a reader of text, with it.
    unsafe {
        let mut text = core::ffi::CStr::from_ptr(string).to_bytes();
        ini_parse_stream(Some(read), (&raw mut text).cast(), handler, user)
    }
}
