//! Entry points of `ucp/api/ucp.h`: request.

use crate::abi::prelude::*;
use crate::abi::ucp::convert;
use crate::ucp::tag::recv;

/// Writes those attributes of a request into `attr` that its mask asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_request_query(
    request: *mut c_void,
    attr: *mut ucp_request_attr_t,
) -> ucs_status_t {
    // SAFETY: a live request and an attribute struct as its mask describes it.
    unsafe {
        let Some(req) = convert::request(request) else {
            return Error::InvalidParam.into();
        };
        let mut attrs = match Attrs::new(attr) {
            Ok(attrs) => attrs,
            Err(error) => return error.into(),
        };
        let described = attrs.wants(UCP_REQUEST_ATTR_FIELD_INFO_STRING.into());
        if described && !attrs.wants(UCP_REQUEST_ATTR_FIELD_INFO_STRING_SIZE.into()) {
            return Error::InvalidParam.into();
        }
        crate::set_field!(
            attrs,
            UCP_REQUEST_ATTR_FIELD_STATUS.into(),
            status,
            req.status()
        );
        crate::set_field!(
            attrs,
            UCP_REQUEST_ATTR_FIELD_MEM_TYPE.into(),
            mem_type,
            UCS_MEMORY_TYPE_HOST
        );
        if described {
            let text = format!("request {request:p}: {}", req.describe());
            let (to, size) = ((*attr).debug_string, (*attr).debug_string_size);
            if !to.is_null() && size != 0 {
                let n = text.len().min(size - 1);
                core::ptr::copy_nonoverlapping(text.as_ptr(), to.cast(), n);
                to.add(n).write(0);
            }
        }
        Status::OK
    }
}

/// `UCS_INPROGRESS`, or how the operation ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_request_check_status(request: *mut c_void) -> ucs_status_t {
    // SAFETY: a live request.
    unsafe { convert::request(request) }.map_or(Error::InvalidParam.into(), |req| req.status())
}

/// Like `ucp_request_check_status`, for a tagged receive; `info` is written when it is complete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_tag_recv_request_test(
    request: *mut c_void,
    info: *mut ucp_tag_recv_info_t,
) -> ucs_status_t {
    // SAFETY: a live request, and room for the info or NULL.
    unsafe {
        let Some(req) = convert::request(request) else {
            return Error::InvalidParam.into();
        };
        let status = req.status();
        if status != Status::INPROGRESS {
            convert::write_info(info, req.info());
        }
        status
    }
}

/// Like `ucp_request_check_status`, for a stream receive; `*length_p` becomes the number of bytes
/// when it is complete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_stream_recv_request_test(
    request: *mut c_void,
    length_p: *mut usize,
) -> ucs_status_t {
    // SAFETY: a live request, and room for the length or NULL.
    unsafe {
        let Some(req) = convert::request(request) else {
            return Error::InvalidParam.into();
        };
        let status = req.status();
        if let Some(length) = length_p.as_mut()
            && status != Status::INPROGRESS
        {
            *length = req.info().length;
        }
        status
    }
}

/// Asks for the end of an operation. A receive that matched no message yet ends with
/// `UCS_ERR_CANCELED`; others may complete as if nothing was asked. The request must be freed as
/// usual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_request_cancel(worker: ucp_worker_h, request: *mut c_void) {
    // SAFETY: a live worker and a live request of it.
    unsafe {
        let Ok(worker) = convert::worker(worker) else {
            return;
        };
        let _guard = worker.enter();
        // MPICH 5 cancels what is no request of ours when a message to itself is cancelled.
        if let Some(req) = convert::request(request)
            && core::ptr::eq(req.worker_ptr(), worker)
            && req.status() == Status::INPROGRESS
        {
            recv::cancel(worker, req);
        }
    }
}

/// Frees a request; of one that is in progress, when it ends, and without calling its callback.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_request_free(request: *mut c_void) {
    // SAFETY: a live request; its worker lives as long as its requests.
    unsafe {
        if let Some(req) = convert::request(request)
            && let Some(worker) = req.worker_ptr().as_ref()
        {
            let _guard = worker.enter();
            req.free(&worker.requests);
        }
    }
}
