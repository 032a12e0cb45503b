//! `ucs/sys/stubs.h`.

use crate::abi::prelude::*;
use crate::ucs::log;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_empty_function() {}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_empty_function_return_zero() -> c_uint {
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_empty_function_return_one() -> c_uint {
    1
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_empty_function_return_one_int() -> c_int {
    1
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_empty_function_return_zero_int64() -> i64 {
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_empty_function_return_zero_int() -> c_int {
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_empty_function_return_zero_size_t() -> usize {
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_empty_function_return_success() -> ucs_status_t {
    Status::OK
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_empty_function_return_unsupported() -> ucs_status_t {
    Error::Unsupported.into()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_empty_function_return_ptr_unsupported() -> ucs_status_ptr_t {
    status_ptr(Status(Error::Unsupported as i8))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_empty_function_return_inprogress() -> ucs_status_t {
    Status::INPROGRESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_empty_function_return_no_resource() -> ucs_status_t {
    Error::NoResource.into()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_empty_function_return_invalid_param() -> ucs_status_t {
    Error::InvalidParam.into()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_empty_function_return_ptr_no_resource() -> ucs_status_ptr_t {
    status_ptr(Status(Error::NoResource as i8))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_empty_function_return_ep_timeout() -> ucs_status_t {
    Error::EndpointTimeout.into()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_empty_function_return_bc_ep_timeout() -> ssize_t {
    Error::EndpointTimeout as ssize_t
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_empty_function_return_busy() -> ucs_status_t {
    Error::Busy.into()
}

/// Ends the process: for what must never be called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_empty_function_do_assert() -> c_int {
    must_not_be_called()
}

/// Ends the process: for what must never be called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_empty_function_do_assert_void() {
    must_not_be_called()
}

fn must_not_be_called() -> ! {
    log::print_compact("Assertion failed: a function was called that must not be called");
    log::flush();
    std::process::abort()
}
