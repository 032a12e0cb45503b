//! Entry points of `ucp/api/ucp.h`: stream.

use crate::abi::prelude::*;
use crate::abi::ucp::convert::{self, Kind};
use crate::ucp::dt::DtClass;
use crate::ucp::stream::{recv, send};
use crate::ucp::worker::{Posted, ReqOptions};

/// Sends `count` elements at `buffer` as part of the endpoint's stream of bytes.
///
/// Returns NULL if the buffer may be used again, a request, or an error as a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_stream_send_nbx(
    ep: ucp_ep_h,
    buffer: *const c_void,
    count: usize,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    // SAFETY: handle, memory and parameters are the caller's, as the API describes them.
    unsafe {
        let Ok(endpoint) = convert::ep(ep) else {
            return status_ptr(Error::InvalidParam.into());
        };
        let _guard = endpoint.worker().enter();
        let special = UCP_OP_ATTR_FLAG_NO_IMM_CMPL | UCP_OP_ATTR_FIELD_REQUEST;
        if let Ok(p) = Params::new(param)
            && let Some(mem) = convert::fast_buffer(buffer, count, &p, special)
            && send::try_now(endpoint, mem)
        {
            return core::ptr::null_mut();
        }
        post_send(ep, buffer, count, param)
    }
}

/// The long way of a send.
///
/// # Safety
/// As `ucp_stream_send_nbx`; the worker's lock is held.
#[inline(never)]
unsafe fn post_send(
    ep: ucp_ep_h,
    buffer: *const c_void,
    count: usize,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    // SAFETY: forwarded to the caller.
    let posted = (|| unsafe {
        let (options, datatype) = convert::options(param, Kind::Send)?;
        let buf = convert::send_buf(buffer, count, datatype, options.memory)?;
        send::post(&convert::ep_rc(ep)?, buf, &options)
    })();
    convert::status_ptr_of(posted)
}

/// A receive, with the flags of `ucp_stream_recv_nbx`.
///
/// # Safety
/// As `ucp_stream_recv_nbx`.
pub(in crate::abi::ucp) unsafe fn receive(
    ep: ucp_ep_h,
    buffer: *mut c_void,
    count: usize,
    datatype: ucp_datatype_t,
    length: *mut usize,
    flags: ucp_stream_recv_flags_t,
    options: &ReqOptions,
) -> ucs_status_ptr_t {
    // SAFETY: forwarded to the caller.
    unsafe {
        let posted = convert::with_ep(ep, |ep| {
            let element = match DtClass::decode(datatype)? {
                DtClass::Contig(size) => size,
                DtClass::Iov | DtClass::Generic(_) => 1,
            };
            let buf = convert::recv_buf(buffer, count, datatype, options.memory)?;
            let wait_all = flags & UCP_STREAM_RECV_FLAG_WAITALL != 0;
            recv::post(ep, buf, element, wait_all, options)
        });
        if let (Ok(Posted::Now(_, got)), Some(length)) = (&posted, length.as_mut()) {
            *length = got.length;
        }
        convert::status_ptr_of(posted)
    }
}

/// Receives stream data into `count` elements at `buffer`; `*length` becomes the number of bytes if
/// it completes at once.
///
/// Returns NULL if it did, a request, or an error as a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_stream_recv_nbx(
    ep: ucp_ep_h,
    buffer: *mut c_void,
    count: usize,
    length: *mut usize,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    // SAFETY: handle, memory and parameters are the caller's, as the API describes them.
    unsafe {
        let (options, datatype) = match convert::options(param, Kind::StreamRecv) {
            Ok(both) => both,
            Err(error) => return status_ptr(error.into()),
        };
        let flags = Params::new(param)
            .ok()
            .and_then(|p| crate::field!(p, UCP_OP_ATTR_FIELD_FLAGS.into(), flags));
        let flags = flags.unwrap_or(0);
        receive(ep, buffer, count, datatype, length, flags, &options)
    }
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
    // SAFETY: a live endpoint, and a place for the length.
    unsafe {
        let Some(length) = length.as_mut() else {
            return status_ptr(Error::InvalidParam.into());
        };
        match convert::with_ep(ep, recv::take_data) {
            Ok(Some((data, len))) => {
                *length = len;
                data
            }
            Ok(None) => core::ptr::null_mut(),
            Err(error) => status_ptr(error.into()),
        }
    }
}

/// Releases what `ucp_stream_recv_data_nb` gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_stream_data_release(ep: ucp_ep_h, data: *mut c_void) {
    let _ = ep;
    // SAFETY: by the API, data from `ucp_stream_recv_data_nb` that is released once.
    unsafe { recv::release(data) };
}
