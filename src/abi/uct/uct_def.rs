//! `uct/api/uct_def.h`.

use crate::abi::prelude::*;

pub const UCT_COMPONENT_NAME_MAX: i32 = 16;
pub const UCT_MD_GLOBAL_ID_MAX: i32 = 256;
pub const UCT_TL_NAME_MAX: i32 = 10;
pub const UCT_MD_NAME_MAX: i32 = 16;
pub const UCT_DEVICE_NAME_MAX: i32 = 32;
pub const UCT_PENDING_REQ_PRIV_LEN: i32 = 40;
pub const UCT_TAG_PRIV_LEN: i32 = 32;
pub const UCT_AM_ID_BITS: i32 = 5;
pub const UCT_AM_ID_MAX: u64 = 1 << 5;
pub const UCT_INVALID_RKEY: u64 = 0xffffffffffffffff;
pub const UCT_DMABUF_FD_INVALID: i32 = -1;

pub struct uct_cm {
    _opaque: [u8; 0],
}

pub struct uct_ep_addr {
    _opaque: [u8; 0],
}

pub struct uct_iface_addr {
    _opaque: [u8; 0],
}

pub struct uct_device_addr {
    _opaque: [u8; 0],
}

pub struct uct_md_ops {
    _opaque: [u8; 0],
}

pub struct uct_md {
    _opaque: [u8; 0],
}

pub struct uct_cm_config {
    _opaque: [u8; 0],
}

pub struct uct_md_config {
    _opaque: [u8; 0],
}

pub struct uct_iface_config {
    _opaque: [u8; 0],
}

pub struct uct_component {
    _opaque: [u8; 0],
}

pub type uct_am_trace_type = u32;
pub const UCT_AM_TRACE_TYPE_SEND: uct_am_trace_type = 0;
pub const UCT_AM_TRACE_TYPE_RECV: uct_am_trace_type = 1;
pub const UCT_AM_TRACE_TYPE_SEND_DROP: uct_am_trace_type = 2;
pub const UCT_AM_TRACE_TYPE_RECV_DROP: uct_am_trace_type = 3;
pub const UCT_AM_TRACE_TYPE_LAST: uct_am_trace_type = 4;

pub type uct_cb_param_flags = u64;
pub const UCT_CB_PARAM_FLAG_DESC: uct_cb_param_flags = 1 << 0;
pub const UCT_CB_PARAM_FLAG_FIRST: uct_cb_param_flags = 1 << 1;
pub const UCT_CB_PARAM_FLAG_MORE: uct_cb_param_flags = 1 << 2;

pub type uct_cm_ep_priv_data_pack_args_field = u64;
pub const UCT_CM_EP_PRIV_DATA_PACK_ARGS_FIELD_DEVICE_NAME: uct_cm_ep_priv_data_pack_args_field =
    1 << 0;

pub type uct_cm_ep_resolve_args_field = u64;
pub const UCT_CM_EP_RESOLVE_ARGS_FIELD_DEV_NAME: uct_cm_ep_resolve_args_field = 1 << 0;
pub const UCT_CM_EP_RESOLVE_ARGS_FIELD_STATUS: uct_cm_ep_resolve_args_field = 1 << 1;

pub type uct_cm_remote_data_field = u64;
pub const UCT_CM_REMOTE_DATA_FIELD_DEV_ADDR: uct_cm_remote_data_field = 1 << 0;
pub const UCT_CM_REMOTE_DATA_FIELD_DEV_ADDR_LENGTH: uct_cm_remote_data_field = 1 << 1;
pub const UCT_CM_REMOTE_DATA_FIELD_CONN_PRIV_DATA: uct_cm_remote_data_field = 1 << 2;
pub const UCT_CM_REMOTE_DATA_FIELD_CONN_PRIV_DATA_LENGTH: uct_cm_remote_data_field = 1 << 3;

pub type uct_cm_listener_conn_request_args_field = u64;
pub const UCT_CM_LISTENER_CONN_REQUEST_ARGS_FIELD_DEV_NAME:
    uct_cm_listener_conn_request_args_field = 1 << 0;
pub const UCT_CM_LISTENER_CONN_REQUEST_ARGS_FIELD_CONN_REQUEST:
    uct_cm_listener_conn_request_args_field = 1 << 1;
pub const UCT_CM_LISTENER_CONN_REQUEST_ARGS_FIELD_REMOTE_DATA:
    uct_cm_listener_conn_request_args_field = 1 << 2;
pub const UCT_CM_LISTENER_CONN_REQUEST_ARGS_FIELD_CLIENT_ADDR:
    uct_cm_listener_conn_request_args_field = 1 << 3;

pub type uct_cm_ep_client_connect_args_field = u64;
pub const UCT_CM_EP_CLIENT_CONNECT_ARGS_FIELD_REMOTE_DATA: uct_cm_ep_client_connect_args_field =
    1 << 0;
pub const UCT_CM_EP_CLIENT_CONNECT_ARGS_FIELD_STATUS: uct_cm_ep_client_connect_args_field = 1 << 1;

pub type uct_cm_ep_server_conn_notify_args_field = u64;
pub const UCT_CM_EP_SERVER_CONN_NOTIFY_ARGS_FIELD_STATUS: uct_cm_ep_server_conn_notify_args_field =
    1 << 0;

/// A component: a family of transports.
pub type uct_component_h = *mut uct_component;
/// An interface.
pub type uct_iface_h = *mut uct_iface;
pub type uct_iface_config_t = uct_iface_config;
pub type uct_md_config_t = uct_md_config;
pub type uct_cm_config_t = uct_cm_config;
/// An endpoint.
pub type uct_ep_h = *mut uct_ep;
/// Registered memory.
pub type uct_mem_h = *mut c_void;
/// A key of remote memory.
pub type uct_rkey_t = usize;
/// A memory domain.
pub type uct_md_h = *mut uct_md;
pub type uct_md_ops_t = uct_md_ops;
pub type uct_rkey_ctx_h = *mut c_void;
pub type uct_iface_attr_t = uct_iface_attr;
pub type uct_iface_params_t = uct_iface_params;
pub type uct_ep_attr_t = uct_ep_attr;
pub type uct_md_attr_t = uct_md_attr;
pub type uct_completion_t = uct_completion;
pub type uct_pending_req_t = uct_pending_req;
/// A worker.
pub type uct_worker_h = *mut uct_worker;
pub type uct_md_t = uct_md;
pub type uct_am_trace_type_t = uct_am_trace_type;
pub type uct_device_addr_t = uct_device_addr;
pub type uct_iface_addr_t = uct_iface_addr;
pub type uct_ep_addr_t = uct_ep_addr;
pub type uct_ep_params_t = uct_ep_params;
pub type uct_ep_connect_params_t = uct_ep_connect_params;
pub type uct_cm_attr_t = uct_cm_attr;
pub type uct_cm_t = uct_cm;
/// A connection manager.
pub type uct_cm_h = *mut uct_cm_t;
pub type uct_listener_attr_t = uct_listener_attr;
/// A listener.
pub type uct_listener_h = *mut uct_listener;
pub type uct_listener_params_t = uct_listener_params;
pub type uct_tag_context_t = uct_tag_context;
pub type uct_tag_t = u64;
pub type uct_worker_cb_id_t = c_int;
/// A connection request.
pub type uct_conn_request_h = *mut c_void;
pub type uct_device_ep_h = *mut uct_device_ep;
pub type uct_device_mem_elem_t = uct_device_mem_elem;
pub type uct_device_local_mem_elem_t = uct_device_local_mem_elem;
pub type uct_device_remote_tl_elem_t = uct_device_remote_tl_elem;
pub type uct_device_remote_mem_elem_t = uct_device_remote_mem_elem;
pub type uct_iov_t = uct_iov;
pub type uct_cm_ep_priv_data_pack_args_t = uct_cm_ep_priv_data_pack_args;
pub type uct_cm_ep_resolve_args_t = uct_cm_ep_resolve_args;
pub type uct_cm_remote_data_t = uct_cm_remote_data;
pub type uct_cm_listener_conn_request_args_t = uct_cm_listener_conn_request_args;
pub type uct_cm_ep_client_connect_args_t = uct_cm_ep_client_connect_args;
pub type uct_cm_ep_server_conn_notify_args_t = uct_cm_ep_server_conn_notify_args;
/// Receives active messages. Returns `UCS_OK`, or `UCS_INPROGRESS` to keep the data.
pub type uct_am_callback_t = Option<
    unsafe extern "C" fn(
        arg: *mut c_void,
        data: *mut c_void,
        length: usize,
        flags: c_uint,
    ) -> ucs_status_t,
>;
/// Describes an active message in at most `max` bytes.
pub type uct_am_tracer_t = Option<
    unsafe extern "C" fn(
        arg: *mut c_void,
        type_: uct_am_trace_type_t,
        id: u8,
        data: *const c_void,
        length: usize,
        buffer: *mut c_char,
        max: usize,
    ),
>;
/// Called when operations have completed.
pub type uct_completion_callback_t = Option<unsafe extern "C" fn(self_: *mut uct_completion_t)>;
/// Tries an operation that waited for resources.
pub type uct_pending_callback_t =
    Option<unsafe extern "C" fn(self_: *mut uct_pending_req_t) -> ucs_status_t>;
/// Called when an endpoint has failed.
pub type uct_error_handler_t = Option<
    unsafe extern "C" fn(arg: *mut c_void, ep: uct_ep_h, status: ucs_status_t) -> ucs_status_t,
>;
pub type uct_pending_purge_callback_t =
    Option<unsafe extern "C" fn(self_: *mut uct_pending_req_t, arg: *mut c_void)>;
/// Writes a message to `dest`; returns its bytes.
pub type uct_pack_callback_t =
    Option<unsafe extern "C" fn(dest: *mut c_void, arg: *mut c_void) -> usize>;
/// Takes `length` bytes that were fetched.
pub type uct_unpack_callback_t =
    Option<unsafe extern "C" fn(arg: *mut c_void, data: *const c_void, length: usize)>;
pub type uct_sockaddr_conn_request_callback_t = Option<
    unsafe extern "C" fn(
        iface: uct_iface_h,
        arg: *mut c_void,
        conn_request: uct_conn_request_h,
        conn_priv_data: *const c_void,
        length: usize,
    ),
>;
pub type uct_cm_listener_conn_request_callback_t = Option<
    unsafe extern "C" fn(
        listener: uct_listener_h,
        arg: *mut c_void,
        conn_req_args: *const uct_cm_listener_conn_request_args_t,
    ),
>;
pub type uct_cm_ep_server_conn_notify_callback_t = Option<
    unsafe extern "C" fn(
        ep: uct_ep_h,
        arg: *mut c_void,
        connect_args: *const uct_cm_ep_server_conn_notify_args_t,
    ),
>;
pub type uct_cm_ep_client_connect_callback_t = Option<
    unsafe extern "C" fn(
        ep: uct_ep_h,
        arg: *mut c_void,
        connect_args: *const uct_cm_ep_client_connect_args_t,
    ),
>;
pub type uct_ep_disconnect_cb_t = Option<unsafe extern "C" fn(ep: uct_ep_h, arg: *mut c_void)>;
pub type uct_cm_ep_priv_data_pack_callback_t = Option<
    unsafe extern "C" fn(
        arg: *mut c_void,
        pack_args: *const uct_cm_ep_priv_data_pack_args_t,
        priv_data: *mut c_void,
    ) -> ssize_t,
>;
pub type uct_cm_ep_resolve_callback_t = Option<
    unsafe extern "C" fn(
        user_data: *mut c_void,
        resolve_args: *const uct_cm_ep_resolve_args_t,
    ) -> ucs_status_t,
>;
pub type uct_tag_unexp_eager_cb_t = Option<
    unsafe extern "C" fn(
        arg: *mut c_void,
        data: *mut c_void,
        length: usize,
        flags: c_uint,
        stag: uct_tag_t,
        imm: u64,
        context: *mut *mut c_void,
    ) -> ucs_status_t,
>;
pub type uct_tag_unexp_rndv_cb_t = Option<
    unsafe extern "C" fn(
        arg: *mut c_void,
        flags: c_uint,
        stag: u64,
        header: *const c_void,
        header_length: c_uint,
        remote_addr: u64,
        length: usize,
        rkey_buf: *const c_void,
    ) -> ucs_status_t,
>;
/// Called when there is something to do.
pub type uct_async_event_cb_t = Option<unsafe extern "C" fn(arg: *mut c_void, flags: c_uint)>;

/// One buffer of a list.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_iov {
    /// Its address.
    pub buffer: *mut c_void,
    /// Bytes of a block.
    pub length: usize,
    /// Memory handle of the buffer.
    pub memh: uct_mem_h,
    /// Bytes from one block to the next.
    pub stride: usize,
    /// Number of blocks.
    pub count: c_uint,
}

#[repr(C)]
pub struct uct_cm_ep_priv_data_pack_args {
    pub field_mask: u64,
    pub dev_name: [c_char; 32],
}

#[repr(C)]
pub struct uct_cm_ep_resolve_args {
    pub field_mask: u64,
    pub dev_name: [c_char; 32],
    pub status: ucs_status_t,
}

#[repr(C)]
pub struct uct_cm_remote_data {
    pub field_mask: u64,
    pub dev_addr: *const uct_device_addr_t,
    pub dev_addr_length: usize,
    pub conn_priv_data: *const c_void,
    pub conn_priv_data_length: usize,
}

#[repr(C)]
pub struct uct_cm_listener_conn_request_args {
    pub field_mask: u64,
    pub dev_name: [c_char; 32],
    pub conn_request: uct_conn_request_h,
    pub remote_data: *const uct_cm_remote_data_t,
    pub client_address: ucs_sock_addr_t,
}

#[repr(C)]
pub struct uct_cm_ep_client_connect_args {
    pub field_mask: u64,
    pub remote_data: *const uct_cm_remote_data_t,
    pub status: ucs_status_t,
}

#[repr(C)]
pub struct uct_cm_ep_server_conn_notify_args {
    pub field_mask: u64,
    pub status: ucs_status_t,
}
