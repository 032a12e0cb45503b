//! Entry points of `ucp/api/ucp.h`: stream.

use crate::abi::prelude::*;

/// Sends `count` elements at `buffer` as part of the endpoint's stream of bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_stream_send_nbx(
    ep: ucp_ep_h,
    buffer: *const c_void,
    count: usize,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    let _ = (ep, buffer, count, param);
    NOT_IMPLEMENTED_PTR
}

/// Receives stream data into `count` elements at `buffer`; `*length` becomes the number of bytes if
/// it completes at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_stream_recv_nbx(
    ep: ucp_ep_h,
    buffer: *mut c_void,
    count: usize,
    length: *mut usize,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    let _ = (ep, buffer, count, length, param);
    NOT_IMPLEMENTED_PTR
}

/// Stream data that has arrived, where it lies; `*length` becomes its size in bytes. To be released
/// by `ucp_stream_data_release`.
///
/// Returns NULL if there is none, or an error as a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_stream_recv_data_nb(
    ep: ucp_ep_h,
    length: *mut usize,
) -> ucs_status_ptr_t {
    let _ = (ep, length);
    NOT_IMPLEMENTED_PTR
}

/// Releases what `ucp_stream_recv_data_nb` gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_stream_data_release(ep: ucp_ep_h, data: *mut c_void) {
    let _ = (ep, data);
}
