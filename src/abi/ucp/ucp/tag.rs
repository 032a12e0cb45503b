//! Entry points of `ucp/api/ucp.h`: tag.

use crate::abi::prelude::*;
use crate::abi::ucp::convert::{self, Kind};
use crate::ucp::tag::recv::Tried;
use crate::ucp::tag::{recv, send};
use crate::ucp::worker::Worker;

/// Posts a receive of contiguous memory, or receives a message that is here as a whole; `None`: take the
/// long way.
///
/// # Safety
/// As `ucp_tag_recv_nbx`; the worker's lock is held.
#[inline(always)]
unsafe fn fast_recv(
    worker: &Worker,
    buffer: *mut c_void,
    count: usize,
    tag: ucp_tag_t,
    tag_mask: ucp_tag_t,
    param: *const ucp_request_param_t,
) -> Option<ucs_status_ptr_t> {
    // SAFETY: forwarded to the caller.
    unsafe {
        let p = Params::new(param).ok()?;
        let mem = convert::fast_buffer(buffer, count, &p, UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL)?;
        let null = core::ptr::null_mut();
        let area = p.get_or(UCP_OP_ATTR_FIELD_REQUEST.into(), null, |p| {
            &raw const (*p).request
        });
        let told = UCP_OP_ATTR_FLAG_NO_IMM_CMPL | UCP_OP_ATTR_FIELD_RECV_INFO;
        let at_once = area.is_null() && p.mask() as u32 & told == 0;
        let req = match recv::try_post(worker, mem, tag, tag_mask, area, at_once) {
            Tried::Posted(req) => req,
            Tried::Received(status) => return Some(status_ptr(status)),
            Tried::Not => return None,
        };
        if let Some(cb) = crate::field!(p, UCP_OP_ATTR_FIELD_CALLBACK.into(), cb) {
            let user = UCP_OP_ATTR_FIELD_USER_DATA.into();
            let user_data = p.get_or(user, null, |p| &raw const (*p).user_data);
            req.set_callback(convert::callback(cb, Kind::TagRecv), user_data);
        }
        Some(req.area())
    }
}

/// The long way of a send.
///
/// # Safety
/// As `ucp_tag_send_nbx`; the worker's lock is held.
#[inline(never)]
unsafe fn post_send(
    ep: ucp_ep_h,
    buffer: *const c_void,
    count: usize,
    tag: ucp_tag_t,
    param: *const ucp_request_param_t,
    sync: bool,
) -> ucs_status_ptr_t {
    // SAFETY: forwarded to the caller.
    let posted = (|| unsafe {
        let (options, datatype) = convert::options(param, Kind::Send)?;
        let buf = convert::send_buf(buffer, count, datatype, options.memory)?;
        send::post(&convert::ep_rc(ep)?, buf, tag, sync, &options)
    })();
    convert::status_ptr_of(posted)
}

/// Sends `count` elements at `buffer` with a tag.
///
/// Returns NULL if the buffer may be used again, a request to be progressed and freed, or an error
/// as a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_tag_send_nbx(
    ep: ucp_ep_h,
    buffer: *const c_void,
    count: usize,
    tag: ucp_tag_t,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    // SAFETY: handle, buffer and parameters are the caller's, as the API describes them.
    unsafe {
        let Ok(endpoint) = convert::ep(ep) else {
            return status_ptr(Error::InvalidParam.into());
        };
        let _guard = endpoint.worker().enter();
        if let Ok(p) = Params::new(param)
            && let Some(mem) = convert::fast_buffer(buffer, count, &p, UCP_OP_ATTR_FLAG_NO_IMM_CMPL)
            && send::try_now(endpoint, tag, mem)
        {
            return core::ptr::null_mut();
        }
        post_send(ep, buffer, count, tag, param, false)
    }
}

/// Like `ucp_tag_send_nbx`, but completes only when the receiver has matched the message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_tag_send_sync_nbx(
    ep: ucp_ep_h,
    buffer: *const c_void,
    count: usize,
    tag: ucp_tag_t,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    // SAFETY: as above.
    unsafe {
        let Ok(endpoint) = convert::ep(ep) else {
            return status_ptr(Error::InvalidParam.into());
        };
        let _guard = endpoint.worker().enter();
        post_send(ep, buffer, count, tag, param, true)
    }
}

/// Receives a message whose tag equals `tag` in the bits of `tag_mask` into `count` elements at
/// `buffer`.
///
/// Returns NULL if it was received (with `UCP_OP_ATTR_FIELD_RECV_INFO` only), a request, or an
/// error as a pointer. A message that is longer than the buffer ends with
/// `UCS_ERR_MESSAGE_TRUNCATED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_tag_recv_nbx(
    worker: ucp_worker_h,
    buffer: *mut c_void,
    count: usize,
    tag: ucp_tag_t,
    tag_mask: ucp_tag_t,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    // SAFETY: handle, buffer and parameters are the caller's, as the API describes them.
    unsafe {
        let Ok(worker) = convert::worker(worker) else {
            return status_ptr(Error::InvalidParam.into());
        };
        let _guard = worker.enter();
        match fast_recv(worker, buffer, count, tag, tag_mask, param) {
            Some(request) => request,
            None => post_recv(worker, buffer, count, tag, tag_mask, param),
        }
    }
}

/// The long way of a receive.
///
/// # Safety
/// As `ucp_tag_recv_nbx`; the worker's lock is held.
#[inline(never)]
unsafe fn post_recv(
    worker: &Worker,
    buffer: *mut c_void,
    count: usize,
    tag: ucp_tag_t,
    tag_mask: ucp_tag_t,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    // SAFETY: forwarded to the caller.
    unsafe {
        let posted = (|| {
            let (options, datatype) = convert::options(param, Kind::TagRecv)?;
            let buf = convert::recv_buf(buffer, count, datatype, options.memory)?;
            recv::post(worker, buf, tag, tag_mask, &options)
        })();
        convert::recv_status_ptr(posted, convert::recv_info(param))
    }
}

/// Looks for a message that has arrived and was not received yet. With `remove` it is taken out,
/// and can be received only by `ucp_tag_msg_recv_nbx`. `info` becomes its tag and length.
///
/// Returns a handle of the message, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_tag_probe_nb(
    worker: ucp_worker_h,
    tag: ucp_tag_t,
    tag_mask: ucp_tag_t,
    remove: c_int,
    info: *mut ucp_tag_recv_info_t,
) -> ucp_tag_message_h {
    // SAFETY: a live worker; `info` is NULL or writable.
    unsafe {
        let Ok(worker) = convert::worker(worker) else {
            return core::ptr::null_mut();
        };
        let _guard = worker.enter();
        match recv::probe(worker, tag, tag_mask, remove != 0) {
            Some((message, got)) => {
                convert::write_info(info, got);
                core::ptr::without_provenance_mut(message as usize)
            }
            None => core::ptr::null_mut(),
        }
    }
}

/// Receives a message that `ucp_tag_probe_nb` took out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_tag_msg_recv_nbx(
    worker: ucp_worker_h,
    buffer: *mut c_void,
    count: usize,
    message: ucp_tag_message_h,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    // SAFETY: handle, buffer and parameters are the caller's, as the API describes them.
    unsafe {
        let posted = (|| {
            let worker = convert::worker(worker)?;
            let _guard = worker.enter();
            let (options, datatype) = convert::options(param, Kind::TagRecv)?;
            let buf = convert::recv_buf(buffer, count, datatype, options.memory)?;
            recv::post_claimed(worker, buf, message.addr() as u64, &options)
        })();
        convert::recv_status_ptr(posted, convert::recv_info(param))
    }
}
