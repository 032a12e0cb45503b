//! Entry points of `ucp/api/ucp.h`: am.

use crate::abi::prelude::*;
use crate::abi::ucp::convert::{self, Kind};
use crate::ucp::am::{recv, send};
use crate::ucp::context::Features;
use crate::ucp::ep::Endpoint;
use crate::ucp::proto::am::try_now;
use crate::ucp::worker::{Posted, Worker};

/// Whether a handler with these flags may be set.
pub(in crate::abi::ucp) fn check_handler(worker: &Worker, flags: u32) -> Result<(), Error> {
    if !worker.context().has_feature(Features::AM) {
        crate::ucs_error!("active messages need UCP_FEATURE_AM");
        return Err(Error::InvalidParam);
    }
    let known = UCP_AM_FLAG_WHOLE_MSG | UCP_AM_FLAG_PERSISTENT_DATA;
    if u64::from(flags) & !known != 0 {
        crate::ucs_error!("unknown flags for an active message handler: {flags:#x}");
        return Err(Error::InvalidParam);
    }
    Ok(())
}

/// The caller's header.
///
/// # Safety
/// `header` holds `len` bytes for the call.
unsafe fn header_slice<'a>(header: *const c_void, len: usize) -> Result<&'a [u8], Error> {
    if len == 0 {
        return Ok(&[]);
    }
    if header.is_null() || len > isize::MAX as usize {
        return Err(Error::InvalidParam);
    }
    // SAFETY: forwarded to the caller.
    Ok(unsafe { core::slice::from_raw_parts(header.cast(), len) })
}

/// Sends an active message: a header of `header_length` bytes, at most what the worker says, and
/// `count` elements at `buffer`. The function that the peer set for `id` is called there. The
/// header must stay until completion, unless `UCP_AM_SEND_FLAG_COPY_HEADER` is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_am_send_nbx(
    ep: ucp_ep_h,
    id: c_uint,
    header: *const c_void,
    header_length: usize,
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
        if try_send(endpoint, id, (header, header_length), buffer, count, param) {
            return core::ptr::null_mut();
        }
        post_send(ep, id, (header, header_length), buffer, count, param)
    }
}

/// The fast path of a send; false: take the long way.
///
/// # Safety
/// As `ucp_am_send_nbx`; the worker's lock is held.
#[inline(always)]
unsafe fn try_send(
    ep: &Endpoint,
    id: c_uint,
    (header, header_length): (*const c_void, usize),
    buffer: *const c_void,
    count: usize,
    param: *const ucp_request_param_t,
) -> bool {
    // SAFETY: forwarded to the caller.
    unsafe {
        let Ok(p) = Params::new(param) else {
            return false;
        };
        let flags = p.get_or(UCP_OP_ATTR_FIELD_FLAGS.into(), 0, |p| &raw const (*p).flags);
        if u64::from(flags) & (UCP_AM_SEND_FLAG_REPLY | UCP_AM_SEND_FLAG_RNDV) != 0 {
            return false;
        }
        let (Ok(id), Ok(header), Some(mem)) = (
            u16::try_from(id),
            header_slice(header, header_length),
            convert::fast_buffer(buffer, count, &p, UCP_OP_ATTR_FLAG_NO_IMM_CMPL),
        ) else {
            return false;
        };
        try_now(ep, id, header, mem)
    }
}

/// The long way of a send.
///
/// # Safety
/// As `ucp_am_send_nbx`; the worker's lock is held.
#[inline(never)]
unsafe fn post_send(
    ep: ucp_ep_h,
    id: c_uint,
    (header, header_length): (*const c_void, usize),
    buffer: *const c_void,
    count: usize,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    // SAFETY: forwarded to the caller.
    unsafe {
        convert::status_ptr_of(convert::with_ep(ep, |ep| {
            let (options, datatype) = convert::options(param, Kind::Send)?;
            let p = Params::new(param)?;
            let flags = crate::field!(p, UCP_OP_ATTR_FIELD_FLAGS.into(), flags).unwrap_or(0);
            let flags = u64::from(flags);
            let flags = send::Flags {
                reply: flags & UCP_AM_SEND_FLAG_REPLY != 0,
                force_eager: flags & UCP_AM_SEND_FLAG_EAGER != 0,
                force_rndv: flags & UCP_AM_SEND_FLAG_RNDV != 0,
            };
            let id = u16::try_from(id).map_err(|_| Error::InvalidParam)?;
            let header = header_slice(header, header_length)?;
            let buf = convert::send_buf(buffer, count, datatype, options.memory)?;
            send::post(ep, id, header, buf, flags, &options)
        }))
    }
}

/// Receives the data of an active message that its handler got as a descriptor, and kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_am_recv_data_nbx(
    worker: ucp_worker_h,
    data_desc: *mut c_void,
    buffer: *mut c_void,
    count: usize,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    // SAFETY: handle, memory and parameters are the caller's, as the API describes them.
    unsafe {
        let posted = (|| {
            let worker = convert::worker(worker)?;
            let _guard = worker.enter();
            let (options, datatype) = convert::options(param, Kind::AmRecv)?;
            let buf = convert::recv_buf(buffer, count, datatype, options.memory)?;
            recv::receive(worker, data_desc, buf, &options)
        })();
        if let Ok(Posted::Now(_, got)) = posted
            && let Ok(p) = Params::new(param)
            && let Some(info) = crate::field!(p, UCP_OP_ATTR_FIELD_RECV_INFO.into(), recv_info)
            && let Some(length) = info.length.as_mut()
        {
            *length = got.length;
        }
        convert::status_ptr_of(posted)
    }
}

/// Releases data of an active message that its handler kept by returning `UCS_INPROGRESS`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_am_data_release(worker: ucp_worker_h, data: *mut c_void) {
    // SAFETY: a live worker, and data that a handler has kept.
    unsafe {
        if let Ok(worker) = convert::worker(worker) {
            let _guard = worker.enter();
            recv::release(worker, data);
        }
    }
}
