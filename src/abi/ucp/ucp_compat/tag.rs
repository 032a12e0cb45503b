//! Entry points of `ucp/api/ucp_compat.h`: tagged messages.

use crate::abi::prelude::*;
use crate::abi::ucp::convert;
use crate::ucp::request::Callback;
use crate::ucp::tag::{recv, send};
use crate::ucp::worker::{Posted, ReqOptions};
use crate::ucs::memory::MemoryType;

/// A tagged send of the calls before nbx.
///
/// # Safety
/// As `ucp_tag_send_nb`.
unsafe fn tag_send(
    ep: ucp_ep_h,
    buffer: *const c_void,
    count: usize,
    datatype: ucp_datatype_t,
    tag: ucp_tag_t,
    sync: bool,
    options: &ReqOptions,
) -> Result<Posted, Error> {
    // SAFETY: forwarded to the caller.
    unsafe {
        convert::with_ep(ep, |ep| {
            let buf = convert::send_buf(buffer, count, datatype, MemoryType::UNKNOWN)?;
            send::post(ep, buf, tag, sync, options)
        })
    }
}

/// Older form of `ucp_tag_send_nbx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_tag_send_nb(
    ep: ucp_ep_h,
    buffer: *const c_void,
    count: usize,
    datatype: ucp_datatype_t,
    tag: ucp_tag_t,
    cb: ucp_send_callback_t,
) -> ucs_status_ptr_t {
    let callback = cb.map_or(Callback::None, Callback::Send);
    // SAFETY: the caller's, as the API describes them.
    unsafe {
        let options = convert::old_options(callback);
        convert::status_ptr_of(tag_send(ep, buffer, count, datatype, tag, false, &options))
    }
}

/// Sends with a tag; `req` is memory of the caller that lies behind the request's own size.
///
/// Returns `UCS_OK`, `UCS_INPROGRESS`, or an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_tag_send_nbr(
    ep: ucp_ep_h,
    buffer: *const c_void,
    count: usize,
    datatype: ucp_datatype_t,
    tag: ucp_tag_t,
    req: *mut c_void,
) -> ucs_status_t {
    let mut options = convert::old_options(Callback::None);
    options.request = req;
    options.fast_completion = true;
    // SAFETY: the caller's, as the API describes them.
    match unsafe { tag_send(ep, buffer, count, datatype, tag, false, &options) } {
        Ok(Posted::Now(result, _)) => result.into(),
        Ok(Posted::Later(_)) => Status::INPROGRESS,
        Err(error) => error.into(),
    }
}

/// Older form of `ucp_tag_send_sync_nbx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_tag_send_sync_nb(
    ep: ucp_ep_h,
    buffer: *const c_void,
    count: usize,
    datatype: ucp_datatype_t,
    tag: ucp_tag_t,
    cb: ucp_send_callback_t,
) -> ucs_status_ptr_t {
    let callback = cb.map_or(Callback::None, Callback::Send);
    // SAFETY: the caller's, as the API describes them.
    unsafe {
        let options = convert::old_options(callback);
        convert::status_ptr_of(tag_send(ep, buffer, count, datatype, tag, true, &options))
    }
}

/// Older form of `ucp_tag_recv_nbx`. Always returns a request, or an error as a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_tag_recv_nb(
    worker: ucp_worker_h,
    buffer: *mut c_void,
    count: usize,
    datatype: ucp_datatype_t,
    tag: ucp_tag_t,
    tag_mask: ucp_tag_t,
    cb: ucp_tag_recv_callback_t,
) -> ucs_status_ptr_t {
    let mut options = convert::old_options(convert::tag_recv_cb(cb));
    options.must_have_request = true;
    // SAFETY: the caller's, as the API describes them.
    convert::status_ptr_of((|| unsafe {
        let worker = convert::worker(worker)?;
        let _guard = worker.enter();
        let buf = convert::recv_buf(buffer, count, datatype, MemoryType::UNKNOWN)?;
        recv::post(worker, buf, tag, tag_mask, &options)
    })())
}

/// Receives with a tag; `req` is memory of the caller that lies behind the request's own size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_tag_recv_nbr(
    worker: ucp_worker_h,
    buffer: *mut c_void,
    count: usize,
    datatype: ucp_datatype_t,
    tag: ucp_tag_t,
    tag_mask: ucp_tag_t,
    req: *mut c_void,
) -> ucs_status_t {
    let mut options = convert::old_options(Callback::None);
    options.must_have_request = true;
    options.request = req;
    // SAFETY: the caller's, as the API describes them.
    let posted = (|| unsafe {
        let worker = convert::worker(worker)?;
        let _guard = worker.enter();
        let buf = convert::recv_buf(buffer, count, datatype, MemoryType::UNKNOWN)?;
        recv::post(worker, buf, tag, tag_mask, &options)
    })();
    posted.map(|_| ()).into()
}

/// Older form of `ucp_tag_msg_recv_nbx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_tag_msg_recv_nb(
    worker: ucp_worker_h,
    buffer: *mut c_void,
    count: usize,
    datatype: ucp_datatype_t,
    message: ucp_tag_message_h,
    cb: ucp_tag_recv_callback_t,
) -> ucs_status_ptr_t {
    let mut options = convert::old_options(convert::tag_recv_cb(cb));
    options.must_have_request = true;
    // SAFETY: the caller's, as the API describes them.
    convert::status_ptr_of((|| unsafe {
        let worker = convert::worker(worker)?;
        let _guard = worker.enter();
        let buf = convert::recv_buf(buffer, count, datatype, MemoryType::UNKNOWN)?;
        recv::post_claimed(worker, buf, message.addr() as u64, &options)
    })())
}
