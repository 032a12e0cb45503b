//! Entry points of `ucp/api/ucp.h`: rma.

use std::rc::Rc;
use std::sync::Arc;

use crate::abi::prelude::*;
use crate::abi::ucp::convert::{self, Kind};
use crate::sys::usermem::UserMem;
use crate::ucp::context::Features;
use crate::ucp::ep::Endpoint;
use crate::ucp::request::TagInfo;
use crate::ucp::rkey::RemoteKey;
use crate::ucp::rma::{get, put};
use crate::ucp::worker::{Posted, ReqOptions};

/// The key of an operation.
///
/// # Safety
/// As [`convert::rkey_arc`].
pub(in crate::abi::ucp) unsafe fn rkey(handle: ucp_rkey_h) -> Result<Arc<RemoteKey>, Error> {
    // SAFETY: forwarded to the caller.
    unsafe { convert::rkey_arc(handle) }.inspect_err(|_| {
        crate::ucs_error!("a one-sided operation needs a remote key");
    })
}

/// Length and key of an operation that may take the fast path: contiguous, and nothing special
/// wanted.
///
/// # Safety
/// As `ucp_put_nbx`.
#[inline]
unsafe fn fast<'a>(
    ep: &Endpoint,
    buffer: *const c_void,
    count: usize,
    key: ucp_rkey_h,
    param: *const ucp_request_param_t,
) -> Option<(UserMem, &'a RemoteKey)> {
    // SAFETY: a parameter struct as its mask describes it.
    let p = unsafe { Params::new(param) }.ok()?;
    let special = UCP_OP_ATTR_FLAG_NO_IMM_CMPL | UCP_OP_ATTR_FIELD_REQUEST;
    if p.mask() & u64::from(special) != 0 || !ep.worker().context().has_feature(Features::RMA) {
        return None;
    }
    let element = match crate::field!(p, UCP_OP_ATTR_FIELD_DATATYPE.into(), datatype) {
        None => 1,
        Some(dt) if dt & UCP_DATATYPE_CLASS_MASK == UCP_DATATYPE_CONTIG => {
            (dt >> UCP_DATATYPE_SHIFT) as usize
        }
        Some(_) => return None,
    };
    let len = element.checked_mul(count)?;
    if buffer.is_null() || (convert::may_be_device(&p) && !convert::is_host(buffer)) {
        return None;
    }
    // SAFETY: the caller promises the memory until the operation completes, and the key is live.
    unsafe {
        let key = key.cast::<RemoteKey>().as_ref()?;
        Some((UserMem::new(buffer.cast_mut().cast(), len), key))
    }
}

/// Refuses what was not asked for at `ucp_init`.
fn check_feature(ep: &Endpoint) -> Result<(), Error> {
    if ep.worker().context().has_feature(Features::RMA) {
        return Ok(());
    }
    crate::ucs_error!("put and get need UCP_FEATURE_RMA");
    Err(Error::InvalidParam)
}

/// The long way of a put.
///
/// # Safety
/// As `ucp_put_nbx`; the worker's lock is held.
pub(in crate::abi::ucp) unsafe fn post_put(
    ep: &Rc<Endpoint>,
    buffer: *const c_void,
    count: usize,
    datatype: ucp_datatype_t,
    remote_addr: u64,
    key: ucp_rkey_h,
    options: &ReqOptions,
) -> Result<Posted, Error> {
    check_feature(ep)?;
    if count == 0 {
        return ep.worker().now(options, Ok(()), TagInfo::default(), 0);
    }
    // SAFETY: forwarded to the caller.
    unsafe {
        let key = rkey(key)?;
        let buf = convert::send_buf(buffer, count, datatype, options.memory)?;
        put::post(ep, buf, remote_addr, &key, options)
    }
}

/// The long way of a get.
///
/// # Safety
/// As `ucp_get_nbx`; the worker's lock is held.
pub(in crate::abi::ucp) unsafe fn post_get(
    ep: &Rc<Endpoint>,
    buffer: *mut c_void,
    count: usize,
    datatype: ucp_datatype_t,
    remote_addr: u64,
    key: ucp_rkey_h,
    options: &ReqOptions,
) -> Result<Posted, Error> {
    check_feature(ep)?;
    if count == 0 {
        return ep.worker().now(options, Ok(()), TagInfo::default(), 0);
    }
    // SAFETY: forwarded to the caller.
    unsafe {
        let key = rkey(key)?;
        let buf = convert::recv_buf(buffer, count, datatype, options.memory)?;
        get::post(ep, buf, remote_addr, &key, options)
    }
}

/// Writes `count` elements at `buffer` to the peer's memory at `remote_addr`.
///
/// Returns NULL if the buffer may be used again, a request, or an error as a pointer. A flush makes
/// sure that it is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_put_nbx(
    ep: ucp_ep_h,
    buffer: *const c_void,
    count: usize,
    remote_addr: u64,
    rkey: ucp_rkey_h,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    // SAFETY: handles, buffer and parameters are the caller's, as the API describes them.
    unsafe {
        let Ok(endpoint) = convert::ep(ep) else {
            return status_ptr(Error::InvalidParam.into());
        };
        let _guard = endpoint.worker().enter();
        if let Some((mem, key)) = fast(endpoint, buffer, count, rkey, param)
            && put::try_mapped(endpoint, mem, remote_addr, key).is_some()
        {
            return core::ptr::null_mut();
        }
        let posted = convert::ep_rc(ep).and_then(|ep| {
            let (options, datatype) = convert::options(param, Kind::Send)?;
            post_put(&ep, buffer, count, datatype, remote_addr, rkey, &options)
        });
        convert::status_ptr_of(posted)
    }
}

/// Reads `count` elements from the peer's memory at `remote_addr` to `buffer`.
///
/// Returns NULL if they are there, a request, or an error as a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_get_nbx(
    ep: ucp_ep_h,
    buffer: *mut c_void,
    count: usize,
    remote_addr: u64,
    rkey: ucp_rkey_h,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    // SAFETY: handles, buffer and parameters are the caller's, as the API describes them.
    unsafe {
        let Ok(endpoint) = convert::ep(ep) else {
            return status_ptr(Error::InvalidParam.into());
        };
        let _guard = endpoint.worker().enter();
        if let Some((mem, key)) = fast(endpoint, buffer, count, rkey, param)
            && get::try_mapped(endpoint, mem, remote_addr, key).is_some()
        {
            return core::ptr::null_mut();
        }
        let posted = convert::ep_rc(ep).and_then(|ep| {
            let (options, datatype) = convert::options(param, Kind::Send)?;
            post_get(&ep, buffer, count, datatype, remote_addr, rkey, &options)
        });
        convert::status_ptr_of(posted)
    }
}
