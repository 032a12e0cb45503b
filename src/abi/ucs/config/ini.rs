//! `ucs/config/ini.h`.

use crate::abi::prelude::*;

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

/// Reads a file of sections with names and values; the handler gets each. 0, or the first bad line.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ini_parse(
    filename: *const c_char,
    handler: ini_handler,
    user: *mut c_void,
) -> c_int {
    let _ = (filename, handler, user);
    0
}

/// Like `ini_parse`, for an open file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ini_parse_file(
    file: *mut FILE,
    handler: ini_handler,
    user: *mut c_void,
) -> c_int {
    let _ = (file, handler, user);
    0
}

/// Like `ini_parse`, with a function that reads lines.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ini_parse_stream(
    reader: ini_reader,
    stream: *mut c_void,
    handler: ini_handler,
    user: *mut c_void,
) -> c_int {
    let _ = (reader, stream, handler, user);
    0
}

/// Like `ini_parse`, for text in memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ini_parse_string(
    string: *const c_char,
    handler: ini_handler,
    user: *mut c_void,
) -> c_int {
    let _ = (string, handler, user);
    0
}
