//! Entry points of `uct/api/uct.h`: cm.

use super::ep::operations;
use crate::abi::prelude::*;
use crate::abi::support::sockaddr as address;
use crate::abi::support::transport::cm::{self, Listener, Manager};
use crate::abi::support::transport::{component as components, config as configuration};
use crate::set_field;
use crate::uct::config_table;

/// Connects an endpoint that was created by a connection manager.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_connect(
    ep: uct_ep_h,
    params: *const uct_ep_connect_params_t,
) -> ucs_status_t {
    // SAFETY: NULL, or an endpoint, whose interface begins with its operations.
    unsafe {
        match operations(ep).and_then(|ops| ops.ep_connect) {
            Some(op) => op(ep, params),
            None => Error::InvalidParam.into(),
        }
    }
}

/// Begins to disconnect an endpoint of a connection manager; its disconnect callback is called when
/// the peer has answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_disconnect(ep: uct_ep_h, flags: c_uint) -> ucs_status_t {
    // SAFETY: NULL, or an endpoint, whose interface begins with its operations.
    unsafe {
        match operations(ep).and_then(|ops| ops.ep_disconnect) {
            Some(op) => op(ep, flags),
            None => Error::InvalidParam.into(),
        }
    }
}

/// Connects an endpoint to the endpoint of another interface.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_connect_to_ep(
    ep: uct_ep_h,
    dev_addr: *const uct_device_addr_t,
    ep_addr: *const uct_ep_addr_t,
) -> ucs_status_t {
    // SAFETY: NULL, or an endpoint, whose interface begins with its operations.
    unsafe {
        match operations(ep).and_then(|ops| ops.ep_connect_to_ep) {
            Some(op) => op(ep, dev_addr, ep_addr),
            None => Error::InvalidParam.into(),
        }
    }
}

/// 1 if a memory domain can listen on (local) or connect to (remote) a socket address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_is_sockaddr_accessible(
    md: uct_md_h,
    sockaddr: *const ucs_sock_addr_t,
    mode: uct_sockaddr_accessibility_t,
) -> c_int {
    // No memory domain listens or connects: connection managers do.
    let _ = (md, sockaddr, mode);
    0
}

/// Opens a connection manager. To be closed by `uct_cm_close`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_cm_open(
    component: uct_component_h,
    worker: uct_worker_h,
    config: *const uct_cm_config_t,
    cm_p: *mut uct_cm_h,
) -> ucs_status_t {
    // SAFETY: a configuration or NULL, a worker, a writable place.
    unsafe {
        if cm_p.is_null() {
            return Error::InvalidParam.into();
        }
        let values = configuration::values(config.cast());
        let opened = values.and_then(|values| Manager::open(component, worker, values));
        opened.map(|cm| cm_p.write(cm)).into()
    }
}

/// Closes a connection manager.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_cm_close(cm: uct_cm_h) {
    // SAFETY: NULL or open, and not used again.
    unsafe { Manager::close(cm) };
}

/// Writes those attributes of a connection manager into `cm_attr` that its mask asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_cm_query(cm: uct_cm_h, cm_attr: *mut uct_cm_attr_t) -> ucs_status_t {
    // SAFETY: NULL or open; the caller's struct, as its mask describes it.
    let (manager, mut attr) = match unsafe { (Manager::from(cm), Attrs::new(cm_attr)) } {
        (Ok(manager), Ok(attr)) => (manager, attr),
        (Err(error), _) | (_, Err(error)) => return error.into(),
    };
    set_field!(
        attr,
        UCT_CM_ATTR_FIELD_MAX_CONN_PRIV,
        max_conn_priv,
        manager.max_private()
    );
    Status::OK
}

/// Reads the configuration of a component's connection manager. To be released by
/// `uct_config_release`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_cm_config_read(
    component: uct_component_h,
    env_prefix: *const c_char,
    filename: *const c_char,
    config_p: *mut *mut uct_cm_config_t,
) -> ucs_status_t {
    let _ = filename;
    // SAFETY: a C string or NULL, a writable place.
    unsafe {
        if config_p.is_null() {
            return Error::InvalidParam.into();
        }
        let table = components::from(component)
            .map(|component| config_table::connection_manager(component.name()));
        let read = table.and_then(|table| configuration::read(table, env_prefix));
        read.map(|config| config_p.write(config.cast())).into()
    }
}

/// Tells the server that the client has accepted the connection.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_cm_client_ep_conn_notify(ep: uct_ep_h) -> ucs_status_t {
    // SAFETY: NULL, or an endpoint, whose interface begins with its operations.
    unsafe {
        match operations(ep).and_then(|ops| ops.cm_ep_conn_notify) {
            Some(op) => op(ep),
            None => Error::InvalidParam.into(),
        }
    }
}

/// Listens on a socket address; the callback in `params` gets connection requests.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_listener_create(
    cm: uct_cm_h,
    saddr: *const sockaddr,
    socklen: socklen_t,
    params: *const uct_listener_params_t,
    listener_p: *mut uct_listener_h,
) -> ucs_status_t {
    // SAFETY: an open manager, the caller's address and struct, a writable place.
    unsafe {
        let opened = match Params::new(params) {
            Ok(params) if !listener_p.is_null() => address::read_to_bind(saddr, socklen)
                .and_then(|saddr| Listener::open(cm, saddr, &params)),
            _ => Err(Error::InvalidParam),
        };
        opened.map(|listener| listener_p.write(listener)).into()
    }
}

/// Stops listening.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_listener_destroy(listener: uct_listener_h) {
    // SAFETY: NULL or open, and not used again.
    unsafe { Listener::destroy(listener) };
}

/// Refuses a connection request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_listener_reject(
    listener: uct_listener_h,
    conn_request: uct_conn_request_h,
) -> ucs_status_t {
    // SAFETY: an open listener; a request of its callback, which is not used again.
    unsafe { cm::reject(listener, conn_request) }.into()
}

/// Writes those attributes of a listener into `listener_attr` that its mask asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_listener_query(
    listener: uct_listener_h,
    listener_attr: *mut uct_listener_attr_t,
) -> ucs_status_t {
    // SAFETY: NULL or open; the caller's struct, as its mask describes it.
    let found = unsafe { (Listener::from(listener), Attrs::new(listener_attr)) };
    let (listener, mut attr) = match found {
        (Ok(listener), Ok(attr)) => (listener, attr),
        (Err(error), _) | (_, Err(error)) => return error.into(),
    };
    let storage = address::storage(&listener.address());
    set_field!(attr, UCT_LISTENER_ATTR_FIELD_SOCKADDR, sockaddr, storage);
    Status::OK
}
