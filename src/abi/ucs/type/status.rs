//! `ucs/type/status.h`.

use crate::abi::prelude::*;

/// Status of an operation: 0 and more are no failures.
pub type ucs_status_t = Status;
/// Done.
pub const UCS_OK: ucs_status_t = Status(0);
/// Begun, and not done yet.
pub const UCS_INPROGRESS: ucs_status_t = Status(1);
pub const UCS_ERR_NO_MESSAGE: ucs_status_t = Status(-1);
pub const UCS_ERR_NO_RESOURCE: ucs_status_t = Status(-2);
pub const UCS_ERR_IO_ERROR: ucs_status_t = Status(-3);
pub const UCS_ERR_NO_MEMORY: ucs_status_t = Status(-4);
pub const UCS_ERR_INVALID_PARAM: ucs_status_t = Status(-5);
pub const UCS_ERR_UNREACHABLE: ucs_status_t = Status(-6);
pub const UCS_ERR_INVALID_ADDR: ucs_status_t = Status(-7);
pub const UCS_ERR_NOT_IMPLEMENTED: ucs_status_t = Status(-8);
pub const UCS_ERR_MESSAGE_TRUNCATED: ucs_status_t = Status(-9);
pub const UCS_ERR_NO_PROGRESS: ucs_status_t = Status(-10);
pub const UCS_ERR_BUFFER_TOO_SMALL: ucs_status_t = Status(-11);
pub const UCS_ERR_NO_ELEM: ucs_status_t = Status(-12);
pub const UCS_ERR_SOME_CONNECTS_FAILED: ucs_status_t = Status(-13);
pub const UCS_ERR_NO_DEVICE: ucs_status_t = Status(-14);
pub const UCS_ERR_BUSY: ucs_status_t = Status(-15);
pub const UCS_ERR_CANCELED: ucs_status_t = Status(-16);
pub const UCS_ERR_SHMEM_SEGMENT: ucs_status_t = Status(-17);
pub const UCS_ERR_ALREADY_EXISTS: ucs_status_t = Status(-18);
pub const UCS_ERR_OUT_OF_RANGE: ucs_status_t = Status(-19);
pub const UCS_ERR_TIMED_OUT: ucs_status_t = Status(-20);
pub const UCS_ERR_EXCEEDS_LIMIT: ucs_status_t = Status(-21);
pub const UCS_ERR_UNSUPPORTED: ucs_status_t = Status(-22);
pub const UCS_ERR_REJECTED: ucs_status_t = Status(-23);
pub const UCS_ERR_NOT_CONNECTED: ucs_status_t = Status(-24);
pub const UCS_ERR_CONNECTION_RESET: ucs_status_t = Status(-25);
pub const UCS_ERR_FIRST_LINK_FAILURE: ucs_status_t = Status(-40);
pub const UCS_ERR_LAST_LINK_FAILURE: ucs_status_t = Status(-59);
pub const UCS_ERR_FIRST_ENDPOINT_FAILURE: ucs_status_t = Status(-60);
pub const UCS_ERR_ENDPOINT_TIMEOUT: ucs_status_t = Status(-80);
pub const UCS_ERR_LAST_ENDPOINT_FAILURE: ucs_status_t = Status(-89);
pub const UCS_ERR_LAST: ucs_status_t = Status(-100);

/// A request, or a status as a pointer.
pub type ucs_status_ptr_t = *mut c_void;

/// What a status code means, as text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_status_string(status: ucs_status_t) -> *const c_char {
    crate::ucs::status::status_text(status).as_ptr()
}
