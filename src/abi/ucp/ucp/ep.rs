//! Entry points of `ucp/api/ucp.h`: ep.

use std::borrow::Cow;
use std::rc::Rc;

use crate::abi::prelude::*;
use crate::abi::support::{cfile, cstr, sockaddr};
use crate::abi::ucp::convert::{self, Kind};
use crate::ucp::address;
use crate::ucp::ep::{Endpoint, EpOptions, ErrorHandler, ErrorMode};
use crate::ucp::listener::ConnRequest;
use crate::ucp::print;
use crate::ucp::worker::{Posted, ReqOptions};

/// Flush or force.
pub(in crate::abi::ucp) fn close(
    ep: &Rc<Endpoint>,
    options: &ReqOptions,
    force: bool,
) -> Result<Posted, Error> {
    if force && ep.options().mode == ErrorMode::None {
        crate::ucs_diag!("closing by force needs an endpoint with error handling");
        return Err(Error::InvalidParam);
    }
    if !ep.is_held() {
        crate::ucs_error!("the endpoint has been closed already");
        return Err(Error::NotConnected);
    }
    ep.close(options, force)
}

/// What the user gave to be called when the endpoint fails. The endpoint's user data, if set,
/// replaces the handler's own argument.
fn error_handler(handler: ucp_err_handler_t, user_data: *mut c_void) -> Option<ErrorHandler> {
    let arg = if user_data.is_null() {
        handler.arg
    } else {
        user_data
    };
    // SAFETY: both types take the endpoint as a pointer.
    handler.cb.map(|cb| unsafe {
        ErrorHandler {
            cb: core::mem::transmute::<
                unsafe extern "C" fn(*mut c_void, ucp_ep_h, ucs_status_t),
                crate::ucp::ep::error::ErrorCb,
            >(cb),
            arg,
        }
    })
}

/// Changes handler and user data of an endpoint; what can't be changed is refused.
///
/// # Safety
/// As `ucp_ep_modify_nb`.
pub(in crate::abi::ucp) unsafe fn modify(
    ep: ucp_ep_h,
    params: *const ucp_ep_params_t,
) -> Result<(), Error> {
    let fixed = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS
        | UCP_EP_PARAM_FIELD_SOCK_ADDR
        | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    // SAFETY: forwarded to the caller.
    unsafe {
        let p = Params::new(params)?;
        if p.mask() & fixed != 0 {
            return Err(Error::InvalidParam);
        }
        convert::with_ep(ep, |ep| {
            let mut options = ep.options();
            if let Some(data) = crate::field!(p, UCP_EP_PARAM_FIELD_USER_DATA, user_data) {
                options.user_data = data;
            }
            if let Some(handler) = crate::field!(p, UCP_EP_PARAM_FIELD_ERR_HANDLER, err_handler) {
                options.handler = error_handler(handler, options.user_data);
            }
            ep.set_options(options);
            Ok(())
        })
    }
}

/// # Safety
/// As `ucp_ep_create`.
unsafe fn create(worker: ucp_worker_h, params: *const ucp_ep_params_t) -> Result<ucp_ep_h, Error> {
    // SAFETY: forwarded to the caller.
    unsafe {
        let p = Params::new(params)?;
        let flags = crate::field!(p, UCP_EP_PARAM_FIELD_FLAGS, flags).unwrap_or(0);
        // What is asked for, where several peers are named.
        if u64::from(flags) & UCP_EP_PARAMS_FLAGS_CLIENT_SERVER != 0 {
            let (options, _) = options_of(&p)?;
            by_sockaddr(worker, &p, options)
        } else if p.has(UCP_EP_PARAM_FIELD_CONN_REQUEST) {
            by_request(worker, &p)
        } else {
            let (options, _) = options_of(&p)?;
            by_address(worker, &p, options)
        }
    }
}

/// What the caller says of the endpoint itself; the error mode apart, if any is named.
///
/// # Safety
/// As [`Params::new`].
unsafe fn options_of(
    p: &Params<'_, ucp_ep_params_t>,
) -> Result<(EpOptions, Option<ErrorMode>), Error> {
    let mode = crate::field!(p, UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE, err_mode);
    let handler = crate::field!(p, UCP_EP_PARAM_FIELD_ERR_HANDLER, err_handler);
    let user_data = crate::field!(p, UCP_EP_PARAM_FIELD_USER_DATA, user_data);
    let name = crate::field!(p, UCP_EP_PARAM_FIELD_NAME, name);
    let user_data = user_data.unwrap_or(core::ptr::null_mut());
    let handler = handler.and_then(|handler| error_handler(handler, user_data));
    let options = EpOptions {
        mode: match mode.unwrap_or(UCP_ERR_HANDLING_MODE_NONE) {
            UCP_ERR_HANDLING_MODE_NONE => ErrorMode::None,
            UCP_ERR_HANDLING_MODE_PEER => ErrorMode::Peer,
            UCP_ERR_HANDLING_MODE_FAILOVER => ErrorMode::Failover,
            other => {
                crate::ucs_error!("ucp_ep_create: {other} is not an error handling mode");
                return Err(Error::InvalidParam);
            }
        },
        handler,
        user_data,
        // SAFETY: a terminated string or NULL, by the API.
        name: name.and_then(|name| unsafe { cstr::text(name) }.map(Cow::into_owned)),
    };
    let stated = mode.map(|_| options.mode);
    Ok((options, stated))
}

/// To a worker whose address is known.
///
/// # Safety
/// As `ucp_ep_create`.
unsafe fn by_address(
    worker: ucp_worker_h,
    p: &Params<'_, ucp_ep_params_t>,
    options: EpOptions,
) -> Result<ucp_ep_h, Error> {
    let Some(foreign) = crate::field!(p, UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, address) else {
        let hint = match p.has(UCP_EP_PARAM_FIELD_SOCK_ADDR) {
            true => " (a socket address needs UCP_EP_PARAMS_FLAGS_CLIENT_SERVER)",
            false => "",
        };
        crate::ucs_error!("ucp_ep_create: no remote address{hint}");
        return Err(Error::InvalidParam);
    };
    let flags = crate::field!(p, UCP_EP_PARAM_FIELD_FLAGS, flags).unwrap_or(0);
    let apart = u64::from(flags) & UCP_EP_PARAMS_FLAGS_NO_LOOPBACK != 0;
    if foreign.is_null() {
        crate::ucs_error!("ucp_ep_create: the remote address is NULL");
        return Err(Error::InvalidParam);
    }
    // SAFETY: an address of any content, by the API.
    let packed = unsafe { convert::foreign_address(foreign) }?;
    let address = address::decode(&packed).map_err(|e| convert::bad_address(&e))?;
    // SAFETY: forwarded to the caller.
    unsafe {
        convert::with_worker(worker, |worker| {
            let ep = match apart {
                true => worker.create_apart(&address, options)?,
                false => worker.create_endpoint(&address, options)?,
            };
            Ok(convert::ep_handle(&ep))
        })
    }
}

/// To whoever listens at a socket address.
///
/// # Safety
/// As `ucp_ep_create`.
unsafe fn by_sockaddr(
    worker: ucp_worker_h,
    p: &Params<'_, ucp_ep_params_t>,
    options: EpOptions,
) -> Result<ucp_ep_h, Error> {
    let flags = crate::field!(p, UCP_EP_PARAM_FIELD_FLAGS, flags).unwrap_or(0);
    let Some(remote) = crate::field!(p, UCP_EP_PARAM_FIELD_SOCK_ADDR, sockaddr) else {
        crate::ucs_error!(
            "ucp_ep_create: UCP_EP_PARAMS_FLAGS_CLIENT_SERVER needs a socket address"
        );
        return Err(Error::InvalidParam);
    };
    let with_id = u64::from(flags) & UCP_EP_PARAMS_FLAGS_SEND_CLIENT_ID != 0;
    let local = crate::field!(p, UCP_EP_PARAM_FIELD_LOCAL_SOCK_ADDR, local_sockaddr);
    // SAFETY: forwarded to the caller.
    unsafe {
        let remote = sockaddr::read(remote.addr)?;
        let local = match local {
            Some(local) => Some(sockaddr::read(local.addr)?),
            None => None,
        };
        convert::with_worker(worker, |worker| {
            let ep = worker.connect_to(remote, local, with_id, options)?;
            Ok(convert::ep_handle(&ep))
        })
    }
}

/// To a client that a listener was told of. The request is used up, also by failure. Failures are
/// handled as the client does.
///
/// # Safety
/// As `ucp_ep_create`.
unsafe fn by_request(
    worker: ucp_worker_h,
    p: &Params<'_, ucp_ep_params_t>,
) -> Result<ucp_ep_h, Error> {
    let request = crate::field!(p, UCP_EP_PARAM_FIELD_CONN_REQUEST, conn_request);
    let Some(request) = request.filter(|request| !request.is_null()) else {
        crate::ucs_error!("ucp_ep_create: the connection request is NULL");
        return Err(Error::InvalidParam);
    };
    // SAFETY: a request that has not been answered; it is the callee's from here on.
    unsafe {
        let request = Box::from_raw(request.cast::<ConnRequest>());
        let (options, mode) = options_of(p)?;
        convert::with_worker(worker, |worker| {
            let ep = worker.accept_request(*request, options, mode)?;
            Ok(convert::ep_handle(&ep))
        })
    }
}

/// Fills the caller's table of transports as far as it goes.
///
/// # Safety
/// `table` describes the caller's array.
unsafe fn list_transports(ep: &Endpoint, table: *mut ucp_transports_t) -> ucs_status_t {
    // SAFETY: forwarded to the caller; only fields inside the caller's entry size are written.
    unsafe {
        let (entries, room) = ((*table).entries, (*table).num_entries as usize);
        let stride = (*table).entry_size;
        if (entries.is_null() && room != 0) || stride < size_of::<ucp_transport_entry_t>() {
            return Error::InvalidParam.into();
        }
        let names = ep.transports();
        let count = names.len().min(room);
        for (index, (transport, device)) in names.into_iter().take(count).enumerate() {
            let entry = entries.byte_add(index * stride);
            (*entry).transport_name = transport;
            (*entry).device_name = device;
        }
        (*table).num_entries = count as c_uint;
        Status::OK
    }
}

/// Creates an endpoint: a connection to one peer. `params` names the peer by a worker address, a
/// socket address, or a connection request that a listener received. The connection is made when it
/// is first needed.
///
/// Returns `UCS_OK`, `UCS_ERR_UNREACHABLE` if no transport reaches the peer,
/// `UCS_ERR_INVALID_ADDR`, `UCS_ERR_INVALID_PARAM`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_create(
    worker: ucp_worker_h,
    params: *const ucp_ep_params_t,
    ep_p: *mut ucp_ep_h,
) -> ucs_status_t {
    // SAFETY: a live worker, parameters as their mask describes them, and a place for the handle.
    unsafe {
        let Some(ep_p) = ep_p.as_mut() else {
            return Error::InvalidParam.into();
        };
        match create(worker, params) {
            Ok(handle) => {
                *ep_p = handle;
                Status::OK
            }
            Err(error) => error.into(),
        }
    }
}

/// Closes an endpoint, which must not be used afterwards. What was posted is flushed first, unless
/// `UCP_EP_CLOSE_FLAG_FORCE` is among the flags of `param`: then it ends with `UCS_ERR_CANCELED`.
///
/// Returns NULL if done, a request to be progressed and freed, or an error as a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_close_nbx(
    ep: ucp_ep_h,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    // SAFETY: a live endpoint, and parameters as their mask describes them.
    unsafe {
        convert::status_ptr_of(convert::with_ep(ep, |ep| {
            let (options, _) = convert::options(param, Kind::Send)?;
            let p = Params::new(param)?;
            let flags = crate::field!(p, UCP_OP_ATTR_FIELD_FLAGS.into(), flags).unwrap_or(0);
            close(ep, &options, flags & UCP_EP_CLOSE_FLAG_FORCE != 0)
        }))
    }
}

/// Writes the lanes and protocols of an endpoint as text to `stream`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_print_info(ep: ucp_ep_h, stream: *mut FILE) {
    // SAFETY: a live endpoint, by the API.
    let Ok(ep) = (unsafe { convert::ep(ep) }) else {
        return;
    };
    let text = {
        let _guard = ep.worker().enter();
        print::endpoint(ep)
    };
    // SAFETY: NULL or an open stream, by the API.
    unsafe { cfile::print(stream, &text) };
}

/// Completes when all operations of the endpoint that were posted before are complete, here and at
/// the peer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_flush_nbx(
    ep: ucp_ep_h,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    // SAFETY: a live endpoint, and parameters as their mask describes them.
    unsafe {
        convert::status_ptr_of(convert::with_ep(ep, |ep| {
            let (options, _) = convert::options(param, Kind::Send)?;
            ep.flush(&options)
        }))
    }
}

/// Estimates how long an operation on the endpoint takes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_evaluate_perf(
    ep: ucp_ep_h,
    param: *const ucp_ep_evaluate_perf_param_t,
    attr: *mut ucp_ep_evaluate_perf_attr_t,
) -> ucs_status_t {
    // SAFETY: a live endpoint, and structs as their masks describe them.
    unsafe {
        let (Ok(ep), Ok(p), Ok(mut attrs)) =
            (convert::ep(ep), Params::new(param), Attrs::new(attr))
        else {
            return Error::InvalidParam.into();
        };
        // As genuine UCX has it: no size is no bytes, and something must be asked for.
        let size = UCP_EP_PERF_PARAM_FIELD_MESSAGE_SIZE.into();
        let size = crate::field!(p, size, message_size).unwrap_or(0);
        if !attrs.wants(UCP_EP_PERF_ATTR_FIELD_ESTIMATED_TIME.into()) {
            return Error::InvalidParam.into();
        }
        let _guard = ep.worker().enter();
        let wanted = UCP_EP_PERF_ATTR_FIELD_ESTIMATED_TIME.into();
        crate::set_field!(attrs, wanted, estimated_time, ep.estimated_time(size));
        Status::OK
    }
}

/// Makes a key out of what `ucp_rkey_pack` or `ucp_memh_pack` gave at the peer, for use on this
/// endpoint. To be destroyed by `ucp_rkey_destroy`.
///
/// Returns `UCS_OK`, `UCS_ERR_INVALID_PARAM` for what is no key or a damaged one, or the error with
/// which the endpoint has failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_rkey_unpack(
    ep: ucp_ep_h,
    rkey_buffer: *const c_void,
    rkey_p: *mut ucp_rkey_h,
) -> ucs_status_t {
    // SAFETY: a live endpoint, a packed key, and a place for the key.
    unsafe { super::rkey::unpack(ep, rkey_buffer, rkey_p) }.into()
}

/// Writes those attributes of an endpoint into `attr` that its mask asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_query(ep: ucp_ep_h, attr: *mut ucp_ep_attr_t) -> ucs_status_t {
    // SAFETY: a live endpoint, and an attribute struct as its mask describes it.
    unsafe {
        let (ep, mut attrs) = match (convert::ep(ep), Attrs::new(attr)) {
            (Ok(ep), Ok(attrs)) => (ep, attrs),
            _ => return Error::InvalidParam.into(),
        };
        let _guard = ep.worker().enter();
        crate::set_field!(attrs, UCP_EP_ATTR_FIELD_NAME, name, cstr::array(&ep.name()));
        if attrs.wants(UCP_EP_ATTR_FIELD_LOCAL_SOCKADDR | UCP_EP_ATTR_FIELD_REMOTE_SOCKADDR) {
            // Only endpoints made by a socket address have them.
            let Some(ends) = ep.sockaddrs() else {
                return Error::NotConnected.into();
            };
            let remote = sockaddr::storage(&ends.remote);
            crate::set_field!(
                attrs,
                UCP_EP_ATTR_FIELD_REMOTE_SOCKADDR,
                remote_sockaddr,
                remote
            );
            if attrs.wants(UCP_EP_ATTR_FIELD_LOCAL_SOCKADDR) {
                let Some(local) = ends.local else {
                    return Error::NotConnected.into();
                };
                let local = sockaddr::storage(&local);
                crate::set_field!(
                    attrs,
                    UCP_EP_ATTR_FIELD_LOCAL_SOCKADDR,
                    local_sockaddr,
                    local
                );
            }
        }
        crate::set_field!(
            attrs,
            UCP_EP_ATTR_FIELD_USER_DATA,
            user_data,
            ep.options().user_data
        );
        if attrs.wants(UCP_EP_ATTR_FIELD_TRANSPORTS) {
            return list_transports(ep, &raw mut (*attr).transports);
        }
        Status::OK
    }
}
