//! `ucp/api/ucp_def.h`.

use crate::abi::prelude::*;

/// No remote address.
pub const UCP_REMOTE_ADDR_INVALID: u64 = 0xffffffffffffffff;
/// Bytes of a name of a context, worker or endpoint.
pub const UCP_ENTITY_NAME_MAX: i32 = 32;

/// A message that was taken out by a probe.
pub struct ucp_recv_desc {
    _opaque: [u8; 0],
}

/// A worker: progress, receives, an address.
pub struct ucp_worker {
    _opaque: [u8; 0],
}

/// Something that listens for connections.
pub struct ucp_listener {
    _opaque: [u8; 0],
}

/// Registered memory.
pub struct ucp_mem {
    _opaque: [u8; 0],
}

/// The key of a peer's memory.
pub struct ucp_rkey {
    _opaque: [u8; 0],
}

/// The address of a worker, as bytes.
pub struct ucp_address {
    _opaque: [u8; 0],
}

/// A client that wants to be connected.
pub struct ucp_conn_request {
    _opaque: [u8; 0],
}

/// An endpoint: a connection to one peer.
pub struct ucp_ep {
    _opaque: [u8; 0],
}

/// A configuration.
pub struct ucp_config {
    _opaque: [u8; 0],
}

/// A context: the root of all objects.
pub struct ucp_context {
    _opaque: [u8; 0],
}

/// What happens to an endpoint when its peer or a lane fails.
pub type ucp_err_handling_mode_t = u32;
/// Nothing is promised.
pub const UCP_ERR_HANDLING_MODE_NONE: ucp_err_handling_mode_t = 0;
/// Operations end with an error, and the error handler is called.
pub const UCP_ERR_HANDLING_MODE_PEER: ucp_err_handling_mode_t = 1;
/// When a lane fails, operations go on over the others.
pub const UCP_ERR_HANDLING_MODE_FAILOVER: ucp_err_handling_mode_t = 2;

/// Which fields of `ucp_mem_attr_t` are asked for.
pub type ucp_mem_attr_field = u64;
pub const UCP_MEM_ATTR_FIELD_ADDRESS: ucp_mem_attr_field = 1 << 0;
pub const UCP_MEM_ATTR_FIELD_LENGTH: ucp_mem_attr_field = 1 << 1;
pub const UCP_MEM_ATTR_FIELD_MEM_TYPE: ucp_mem_attr_field = 1 << 2;

/// What wakes a waiter.
pub type ucp_wakeup_event_types = u32;
/// Access to remote memory has completed.
pub const UCP_WAKEUP_RMA: ucp_wakeup_event_types = 1 << 0;
/// An atomic operation has completed.
pub const UCP_WAKEUP_AMO: ucp_wakeup_event_types = 1 << 1;
/// A tagged send has completed.
pub const UCP_WAKEUP_TAG_SEND: ucp_wakeup_event_types = 1 << 2;
/// A tagged message has arrived.
pub const UCP_WAKEUP_TAG_RECV: ucp_wakeup_event_types = 1 << 3;
/// Anything sent has completed.
pub const UCP_WAKEUP_TX: ucp_wakeup_event_types = 1 << 10;
/// Anything has arrived.
pub const UCP_WAKEUP_RX: ucp_wakeup_event_types = 1 << 11;
/// The descriptor is used edge-triggered.
pub const UCP_WAKEUP_EDGE: ucp_wakeup_event_types = 1 << 16;

pub type ucp_tag_recv_info_t = ucp_tag_recv_info;
pub type ucp_am_recv_param_t = ucp_am_recv_param;
pub type ucp_context_h = *mut ucp_context;
pub type ucp_config_t = ucp_config;
pub type ucp_ep_h = *mut ucp_ep;
pub type ucp_conn_request_h = *mut ucp_conn_request;
pub type ucp_address_t = ucp_address;
pub type ucp_rkey_h = *mut ucp_rkey;
pub type ucp_mem_h = *mut ucp_mem;
pub type ucp_listener_h = *mut ucp_listener;
pub type ucp_mem_attr_t = ucp_mem_attr;
pub type ucp_worker_h = *mut ucp_worker;
/// A tag.
pub type ucp_tag_t = u64;
pub type ucp_tag_message_h = *mut ucp_recv_desc;
/// A datatype.
pub type ucp_datatype_t = u64;
/// Prepares the user's part of a request.
pub type ucp_request_init_callback_t = Option<unsafe extern "C" fn(request: *mut c_void)>;
/// Cleans up the user's part of a request.
pub type ucp_request_cleanup_callback_t = Option<unsafe extern "C" fn(request: *mut c_void)>;
/// Called when a send has ended.
pub type ucp_send_callback_t =
    Option<unsafe extern "C" fn(request: *mut c_void, status: ucs_status_t)>;
/// Called when an operation has ended; `user_data` is that of its parameters.
pub type ucp_send_nbx_callback_t = Option<
    unsafe extern "C" fn(request: *mut c_void, status: ucs_status_t, user_data: *mut c_void),
>;
/// Called once when an endpoint has failed; it may be closed from here.
pub type ucp_err_handler_cb_t =
    Option<unsafe extern "C" fn(arg: *mut c_void, ep: ucp_ep_h, status: ucs_status_t)>;
pub type ucp_err_handler_t = ucp_err_handler;
/// Called with an endpoint that a client connected to.
pub type ucp_listener_accept_callback_t =
    Option<unsafe extern "C" fn(ep: ucp_ep_h, arg: *mut c_void)>;
/// Called with a connection request.
pub type ucp_listener_conn_callback_t =
    Option<unsafe extern "C" fn(conn_request: ucp_conn_request_h, arg: *mut c_void)>;
pub type ucp_listener_conn_handler_t = ucp_listener_conn_handler;
/// Called when a stream receive has ended, with the bytes received.
pub type ucp_stream_recv_callback_t =
    Option<unsafe extern "C" fn(request: *mut c_void, status: ucs_status_t, length: usize)>;
/// Called when a stream receive has ended, with the bytes received.
pub type ucp_stream_recv_nbx_callback_t = Option<
    unsafe extern "C" fn(
        request: *mut c_void,
        status: ucs_status_t,
        length: usize,
        user_data: *mut c_void,
    ),
>;
/// Called when a tagged receive has ended, with what was received.
pub type ucp_tag_recv_callback_t = Option<
    unsafe extern "C" fn(
        request: *mut c_void,
        status: ucs_status_t,
        info: *mut ucp_tag_recv_info_t,
    ),
>;
/// Called when a tagged receive has ended, with what was received.
pub type ucp_tag_recv_nbx_callback_t = Option<
    unsafe extern "C" fn(
        request: *mut c_void,
        status: ucs_status_t,
        tag_info: *const ucp_tag_recv_info_t,
        user_data: *mut c_void,
    ),
>;
/// Called when the data of an active message was received, with its bytes.
pub type ucp_am_recv_data_nbx_callback_t = Option<
    unsafe extern "C" fn(
        request: *mut c_void,
        status: ucs_status_t,
        length: usize,
        user_data: *mut c_void,
    ),
>;
pub type ucp_wakeup_event_t = ucp_wakeup_event_types;
/// Receives active messages without a header. Returns `UCS_OK`, or `UCS_INPROGRESS` to keep the
/// data.
pub type ucp_am_callback_t = Option<
    unsafe extern "C" fn(
        arg: *mut c_void,
        data: *mut c_void,
        length: usize,
        reply_ep: ucp_ep_h,
        flags: c_uint,
    ) -> ucs_status_t,
>;
/// Receives active messages. Returns `UCS_OK`, or `UCS_INPROGRESS` to keep the data, which is to be
/// released by `ucp_am_data_release` or received by `ucp_am_recv_data_nbx`.
pub type ucp_am_recv_callback_t = Option<
    unsafe extern "C" fn(
        arg: *mut c_void,
        header: *const c_void,
        header_length: usize,
        data: *mut c_void,
        length: usize,
        param: *const ucp_am_recv_param_t,
    ) -> ucs_status_t,
>;
pub type ucp_ep_params_t = ucp_ep_params;
pub type ucp_device_local_mem_list_h = *mut ucp_device_local_mem_list;
pub type ucp_device_remote_mem_list_h = *mut ucp_device_remote_mem_list;

/// Attributes of registered memory.
#[repr(C)]
pub struct ucp_mem_attr {
    /// Mask of `ucp_mem_attr_field`.
    pub field_mask: u64,
    /// Start.
    pub address: *mut c_void,
    /// Bytes.
    pub length: usize,
    /// Type of the memory.
    pub mem_type: ucs_memory_type_t,
}

/// What is called when an endpoint fails.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucp_err_handler {
    /// The function.
    pub cb: ucp_err_handler_cb_t,
    /// Passed to it.
    pub arg: *mut c_void,
}

/// What is called with connection requests.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucp_listener_conn_handler {
    /// The function.
    pub cb: ucp_listener_conn_callback_t,
    /// Passed to it.
    pub arg: *mut c_void,
}

/// Parameters of `ucp_ep_create`.
#[repr(C)]
pub struct ucp_ep_params {
    /// Mask of `ucp_ep_params_field`.
    pub field_mask: u64,
    /// Address of the peer's worker.
    pub address: *const ucp_address_t,
    /// What happens when the peer or a lane fails.
    pub err_mode: ucp_err_handling_mode_t,
    /// What is called then.
    pub err_handler: ucp_err_handler_t,
    /// Returned by queries.
    pub user_data: *mut c_void,
    /// Mask of `ucp_ep_params_flags_field`.
    pub flags: c_uint,
    /// Socket address of the peer's listener.
    pub sockaddr: ucs_sock_addr_t,
    /// A connection request to accept.
    pub conn_request: ucp_conn_request_h,
    /// Name for messages to people.
    pub name: *const c_char,
    /// Socket address to connect from.
    pub local_sockaddr: ucs_sock_addr_t,
}

/// A transport and its device.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucp_transport_entry_t {
    pub transport_name: *const c_char,
    pub device_name: *const c_char,
}

/// A list of transports.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucp_transports_t {
    /// Room for the list.
    pub entries: *mut ucp_transport_entry_t,
    /// Given: number of entries that have room. Becomes those that are used.
    pub num_entries: c_uint,
    /// Given: bytes of an entry in the caller's headers.
    pub entry_size: usize,
}
