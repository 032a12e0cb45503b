//! Entry points of `ucp/api/ucp_compat.h`: streams.

use crate::abi::prelude::*;
use crate::abi::ucp::convert;
use crate::abi::ucp::ucp::stream;
use crate::ucp::request::Callback;
use crate::ucs::memory::MemoryType;

/// Older form of `ucp_stream_send_nbx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_stream_send_nb(
    ep: ucp_ep_h,
    buffer: *const c_void,
    count: usize,
    datatype: ucp_datatype_t,
    cb: ucp_send_callback_t,
    flags: c_uint,
) -> ucs_status_ptr_t {
    let _ = flags;
    let options = convert::old_options(cb.map_or(Callback::None, Callback::Send));
    // SAFETY: handle and memory are the caller's, as the API describes them.
    unsafe {
        convert::status_ptr_of(convert::with_ep(ep, |ep| {
            let buf = convert::send_buf(buffer, count, datatype, MemoryType::UNKNOWN)?;
            crate::ucp::stream::send::post(ep, buf, &options)
        }))
    }
}

/// Older form of `ucp_stream_recv_nbx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_stream_recv_nb(
    ep: ucp_ep_h,
    buffer: *mut c_void,
    count: usize,
    datatype: ucp_datatype_t,
    cb: ucp_stream_recv_callback_t,
    length: *mut usize,
    flags: c_uint,
) -> ucs_status_ptr_t {
    let options = convert::old_options(cb.map_or(Callback::None, Callback::StreamRecv));
    // SAFETY: handle and memory are the caller's, as the API describes them.
    unsafe { stream::receive(ep, buffer, count, datatype, length, flags, &options) }
}
