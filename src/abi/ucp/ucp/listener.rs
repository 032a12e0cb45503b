//! Entry points of `ucp/api/ucp.h`: listener.

use crate::abi::prelude::*;

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
    let _ = (worker, params, listener_p);
    NOT_IMPLEMENTED
}

/// Stops listening. Endpoints that were accepted live on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_listener_destroy(listener: ucp_listener_h) {
    let _ = listener;
}

/// Writes those attributes of a listener into `attr` that its mask asks for, such as the port that
/// was chosen.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_listener_query(
    listener: ucp_listener_h,
    attr: *mut ucp_listener_attr_t,
) -> ucs_status_t {
    let _ = (listener, attr);
    NOT_IMPLEMENTED
}

/// Writes those attributes of a connection request into `attr` that its mask asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_conn_request_query(
    conn_request: ucp_conn_request_h,
    attr: *mut ucp_conn_request_attr_t,
) -> ucs_status_t {
    let _ = (conn_request, attr);
    NOT_IMPLEMENTED
}

/// Refuses a connection request, which must not be used afterwards. The client gets
/// `UCS_ERR_REJECTED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_listener_reject(
    listener: ucp_listener_h,
    conn_request: ucp_conn_request_h,
) -> ucs_status_t {
    let _ = (listener, conn_request);
    NOT_IMPLEMENTED
}
