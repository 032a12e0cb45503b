//! The library's log, where the user said that it goes.

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::mem::transmute;

use super::c_text;
use crate::tools::library::{self, Symbol};

/// Levels of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    Error = 1,
    Warn = 2,
}

type Dispatch = unsafe extern "C" fn(
    *const c_char,
    c_uint,
    *const c_char,
    c_int,
    *const c_void,
    *const c_char,
    ...
);

/// Writes a line.
pub fn write(level: Level, file: &str, line: u32, message: &str) {
    static DISPATCH: Symbol = Symbol::new(c"ucs_log_dispatch");
    let (file, message) = (c_text(file), c_text(message));
    // The component's configuration: its level and name, so that the level of the user counts.
    let Some(component) = library::find(c"ucs_global_opts") else {
        return;
    };
    // SAFETY: the object begins with the level that the user chose.
    let wanted = unsafe { component.cast::<c_int>().read() };
    if level as c_int > wanted {
        return;
    }
    // SAFETY: the function has this type by the C API; strings live for the call, and the format
    // takes one of them.
    unsafe {
        let dispatch = transmute::<*mut c_void, Dispatch>(DISPATCH.get());
        dispatch(
            file.as_ptr(),
            line,
            c"".as_ptr(),
            level as c_int,
            component,
            c"%s".as_ptr(),
            message.as_ptr(),
        );
    }
}

/// An error for the user, by the library's log.
macro_rules! error {
    ($($arg:tt)*) => { $crate::tools::client::log::write(
        $crate::tools::client::log::Level::Error, file!(), line!(), &format!($($arg)*)) };
}
/// A warning, likewise.
macro_rules! warning {
    ($($arg:tt)*) => { $crate::tools::client::log::write(
        $crate::tools::client::log::Level::Warn, file!(), line!(), &format!($($arg)*)) };
}
pub(crate) use error;
pub(crate) use warning;
