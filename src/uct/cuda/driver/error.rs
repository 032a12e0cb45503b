//! Errors of the driver as statuses.

use super::table::Table;
use crate::ucs::status::Error;

pub(super) const INVALID_VALUE: i32 = 1;
const OUT_OF_MEMORY: i32 = 2;
const NOT_INITIALIZED: i32 = 3;
const DEINITIALIZED: i32 = 4;
const NO_DEVICE: i32 = 100;
const INVALID_DEVICE: i32 = 101;
pub(super) const INVALID_CONTEXT: i32 = 201;
const ALREADY_MAPPED: i32 = 208;
const PEER_ACCESS_UNSUPPORTED: i32 = 217;
pub(super) const NOT_READY: i32 = 600;
pub(super) const CONTEXT_IS_DESTROYED: i32 = 709;
const NOT_PERMITTED: i32 = 800;
const NOT_SUPPORTED: i32 = 801;

/// `Err` with the driver's own code.
pub(super) fn raw(code: i32) -> Result<(), i32> {
    if code == 0 { Ok(()) } else { Err(code) }
}

/// The status for a failure.
pub(super) fn status(code: i32) -> Error {
    match code {
        INVALID_VALUE => Error::InvalidParam,
        OUT_OF_MEMORY => Error::NoMemory,
        NOT_INITIALIZED | DEINITIALIZED | NO_DEVICE | INVALID_DEVICE | INVALID_CONTEXT
        | CONTEXT_IS_DESTROYED => Error::NoDevice,
        ALREADY_MAPPED => Error::AlreadyExists,
        PEER_ACCESS_UNSUPPORTED => Error::Unreachable,
        NOT_PERMITTED | NOT_SUPPORTED => Error::Unsupported,
        _ => Error::IoError,
    }
}

/// An answer; a failure goes into the log with the driver's words.
pub(super) fn check(table: &Table, what: &str, code: i32) -> Result<(), Error> {
    if code == 0 {
        return Ok(());
    }
    let text = table.error_text(code);
    crate::ucs_debug!("{what} failed: {text} ({code})");
    Err(status(code))
}
