//! Entry points of `ucp/api/ucp.h`: listener.

use crate::abi::prelude::*;
use crate::abi::support::sockaddr;
use crate::abi::ucp::convert;
use crate::ucp::listener::{ConnRequest, Handler, Listener};
use crate::ucp::worker::Worker;

/// The one handler that the caller names.
///
/// # Safety
/// As [`Params::new`].
unsafe fn handler(p: &Params<'_, ucp_listener_params_t>) -> Result<Handler, Error> {
    let accept = crate::field!(p, UCP_LISTENER_PARAM_FIELD_ACCEPT_HANDLER, accept_handler);
    let conn = crate::field!(p, UCP_LISTENER_PARAM_FIELD_CONN_HANDLER, conn_handler);
    match (accept, conn) {
        (Some(ucp_listener_accept_handler { cb: Some(cb), arg }), None) => {
            // SAFETY: both types take a pointer first.
            let cb = unsafe {
                core::mem::transmute::<
                    unsafe extern "C" fn(ucp_ep_h, *mut c_void),
                    crate::ucp::listener::AcceptCb,
                >(cb)
            };
            Ok(Handler::Accept(cb, arg))
        }
        (None, Some(ucp_listener_conn_handler { cb: Some(cb), arg })) => {
            // SAFETY: both types take a pointer first.
            let cb = unsafe {
                core::mem::transmute::<
                    unsafe extern "C" fn(ucp_conn_request_h, *mut c_void),
                    crate::ucp::listener::ConnCb,
                >(cb)
            };
            Ok(Handler::Request(cb, arg))
        }
        _ => {
            crate::ucs_error!("a listener needs one handler, for requests or for endpoints");
            Err(Error::InvalidParam)
        }
    }
}

/// # Safety
/// As `ucp_listener_create`.
unsafe fn create(
    worker: ucp_worker_h,
    params: *const ucp_listener_params_t,
) -> Result<ucp_listener_h, Error> {
    // SAFETY: forwarded to the caller.
    unsafe {
        let p = Params::new(params)?;
        let Some(address) = crate::field!(p, UCP_LISTENER_PARAM_FIELD_SOCK_ADDR, sockaddr) else {
            crate::ucs_error!("a listener needs a socket address");
            return Err(Error::InvalidParam);
        };
        let handler = handler(&p)?;
        let address = sockaddr::read_to_bind(address.addr, address.addrlen)?;
        convert::with_worker(worker, |worker| {
            let listener = Listener::open(worker, address, handler)?;
            Ok(Box::into_raw(Box::new(listener)).cast())
        })
    }
}

/// Listens on a socket address; connection requests arrive at the handler that `params` names. To
/// be destroyed by `ucp_listener_destroy`.
///
/// Returns `UCS_OK`, `UCS_ERR_BUSY` if the address is in use, `UCS_ERR_INVALID_PARAM`,
/// `UCS_ERR_UNSUPPORTED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_listener_create(
    worker: ucp_worker_h,
    params: *const ucp_listener_params_t,
    listener_p: *mut ucp_listener_h,
) -> ucs_status_t {
    // SAFETY: a live worker, parameters as their mask describes them, and a place for the handle.
    unsafe {
        let Some(listener_p) = listener_p.as_mut() else {
            return Error::InvalidParam.into();
        };
        match create(worker, params) {
            Ok(listener) => {
                *listener_p = listener;
                Status::OK
            }
            Err(error) => error.into(),
        }
    }
}

/// Stops listening. Endpoints that were accepted live on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_listener_destroy(listener: ucp_listener_h) {
    if listener.is_null() {
        return;
    }
    // SAFETY: made by `ucp_listener_create`, destroyed once. The worker outlives it, and its lock
    // is held while the listener's reference to it goes.
    unsafe {
        let listener = Box::from_raw(listener.cast::<Listener>());
        let worker: *const Worker = std::rc::Rc::as_ptr(listener.worker());
        let _guard = (*worker).enter();
        drop(listener);
    }
}

/// Writes those attributes of a listener into `attr` that its mask asks for, such as the port that
/// was chosen.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_listener_query(
    listener: ucp_listener_h,
    attr: *mut ucp_listener_attr_t,
) -> ucs_status_t {
    // SAFETY: a live listener, and an attribute struct as its mask describes it.
    unsafe {
        let (Some(listener), Ok(mut attrs)) =
            (listener.cast::<Listener>().as_ref(), Attrs::new(attr))
        else {
            return Error::InvalidParam.into();
        };
        let address = sockaddr::storage(&listener.address());
        crate::set_field!(attrs, UCP_LISTENER_ATTR_FIELD_SOCKADDR, sockaddr, address);
        Status::OK
    }
}

/// Writes those attributes of a connection request into `attr` that its mask asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_conn_request_query(
    conn_request: ucp_conn_request_h,
    attr: *mut ucp_conn_request_attr_t,
) -> ucs_status_t {
    // SAFETY: a request that has not been answered, and an attribute struct as its mask describes
    // it.
    unsafe {
        let (Some(request), Ok(mut attrs)) = (
            conn_request.cast::<ConnRequest>().as_ref(),
            Attrs::new(attr),
        ) else {
            return Error::InvalidParam.into();
        };
        if attrs.wants(UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ADDR) {
            let address = sockaddr::storage(&request.client_address());
            crate::set_field!(
                attrs,
                UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ADDR,
                client_address,
                address
            );
        }
        crate::set_field!(
            attrs,
            UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ID,
            client_id,
            request.client_id()
        );
        Status::OK
    }
}

/// Refuses a connection request, which must not be used afterwards. The client gets
/// `UCS_ERR_REJECTED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_listener_reject(
    listener: ucp_listener_h,
    conn_request: ucp_conn_request_h,
) -> ucs_status_t {
    if listener.is_null() || conn_request.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: a request that has not been answered; it is the callee's from here on.
    let request = unsafe { Box::from_raw(conn_request.cast::<ConnRequest>()) };
    request.refuse(Error::Rejected);
    Status::OK
}
