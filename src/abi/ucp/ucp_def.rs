//! `ucp/api/ucp_def.h`.

use crate::abi::prelude::*;

pub const UCP_REMOTE_ADDR_INVALID: u64 = 0xffffffffffffffff;
pub const UCP_ENTITY_NAME_MAX: i32 = 32;

pub struct ucp_recv_desc {
    _opaque: [u8; 0],
}

pub struct ucp_worker {
    _opaque: [u8; 0],
}

pub struct ucp_listener {
    _opaque: [u8; 0],
}

pub struct ucp_mem {
    _opaque: [u8; 0],
}

pub struct ucp_rkey {
    _opaque: [u8; 0],
}

pub struct ucp_address {
    _opaque: [u8; 0],
}

pub struct ucp_conn_request {
    _opaque: [u8; 0],
}

pub struct ucp_ep {
    _opaque: [u8; 0],
}

pub struct ucp_config {
    _opaque: [u8; 0],
}

pub struct ucp_context {
    _opaque: [u8; 0],
}

pub type ucp_err_handling_mode_t = u32;
pub const UCP_ERR_HANDLING_MODE_NONE: ucp_err_handling_mode_t = 0;
pub const UCP_ERR_HANDLING_MODE_PEER: ucp_err_handling_mode_t = 1;
pub const UCP_ERR_HANDLING_MODE_FAILOVER: ucp_err_handling_mode_t = 2;

pub type ucp_mem_attr_field = u64;
pub const UCP_MEM_ATTR_FIELD_ADDRESS: ucp_mem_attr_field = 1 << 0;
pub const UCP_MEM_ATTR_FIELD_LENGTH: ucp_mem_attr_field = 1 << 1;
pub const UCP_MEM_ATTR_FIELD_MEM_TYPE: ucp_mem_attr_field = 1 << 2;

pub type ucp_wakeup_event_types = u32;
pub const UCP_WAKEUP_RMA: ucp_wakeup_event_types = 1 << 0;
pub const UCP_WAKEUP_AMO: ucp_wakeup_event_types = 1 << 1;
pub const UCP_WAKEUP_TAG_SEND: ucp_wakeup_event_types = 1 << 2;
pub const UCP_WAKEUP_TAG_RECV: ucp_wakeup_event_types = 1 << 3;
pub const UCP_WAKEUP_TX: ucp_wakeup_event_types = 1 << 10;
pub const UCP_WAKEUP_RX: ucp_wakeup_event_types = 1 << 11;
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
pub type ucp_tag_t = u64;
pub type ucp_tag_message_h = *mut ucp_recv_desc;
pub type ucp_datatype_t = u64;
pub type ucp_request_init_callback_t = Option<unsafe extern "C" fn(request: *mut c_void)>;
pub type ucp_request_cleanup_callback_t = Option<unsafe extern "C" fn(request: *mut c_void)>;
pub type ucp_send_callback_t =
    Option<unsafe extern "C" fn(request: *mut c_void, status: ucs_status_t)>;
pub type ucp_send_nbx_callback_t = Option<
    unsafe extern "C" fn(request: *mut c_void, status: ucs_status_t, user_data: *mut c_void),
>;
pub type ucp_err_handler_cb_t =
    Option<unsafe extern "C" fn(arg: *mut c_void, ep: ucp_ep_h, status: ucs_status_t)>;
pub type ucp_err_handler_t = ucp_err_handler;
pub type ucp_listener_accept_callback_t =
    Option<unsafe extern "C" fn(ep: ucp_ep_h, arg: *mut c_void)>;
pub type ucp_listener_conn_callback_t =
    Option<unsafe extern "C" fn(conn_request: ucp_conn_request_h, arg: *mut c_void)>;
pub type ucp_listener_conn_handler_t = ucp_listener_conn_handler;
pub type ucp_stream_recv_callback_t =
    Option<unsafe extern "C" fn(request: *mut c_void, status: ucs_status_t, length: usize)>;
pub type ucp_stream_recv_nbx_callback_t = Option<
    unsafe extern "C" fn(
        request: *mut c_void,
        status: ucs_status_t,
        length: usize,
        user_data: *mut c_void,
    ),
>;
pub type ucp_tag_recv_callback_t = Option<
    unsafe extern "C" fn(
        request: *mut c_void,
        status: ucs_status_t,
        info: *mut ucp_tag_recv_info_t,
    ),
>;
pub type ucp_tag_recv_nbx_callback_t = Option<
    unsafe extern "C" fn(
        request: *mut c_void,
        status: ucs_status_t,
        tag_info: *const ucp_tag_recv_info_t,
        user_data: *mut c_void,
    ),
>;
pub type ucp_am_recv_data_nbx_callback_t = Option<
    unsafe extern "C" fn(
        request: *mut c_void,
        status: ucs_status_t,
        length: usize,
        user_data: *mut c_void,
    ),
>;
pub type ucp_wakeup_event_t = ucp_wakeup_event_types;
pub type ucp_am_callback_t = Option<
    unsafe extern "C" fn(
        arg: *mut c_void,
        data: *mut c_void,
        length: usize,
        reply_ep: ucp_ep_h,
        flags: c_uint,
    ) -> ucs_status_t,
>;
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

#[repr(C)]
pub struct ucp_mem_attr {
    pub field_mask: u64,
    pub address: *mut c_void,
    pub length: usize,
    pub mem_type: ucs_memory_type_t,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucp_err_handler {
    pub cb: ucp_err_handler_cb_t,
    pub arg: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucp_listener_conn_handler {
    pub cb: ucp_listener_conn_callback_t,
    pub arg: *mut c_void,
}

#[repr(C)]
pub struct ucp_ep_params {
    pub field_mask: u64,
    pub address: *const ucp_address_t,
    pub err_mode: ucp_err_handling_mode_t,
    pub err_handler: ucp_err_handler_t,
    pub user_data: *mut c_void,
    pub flags: c_uint,
    pub sockaddr: ucs_sock_addr_t,
    pub conn_request: ucp_conn_request_h,
    pub name: *const c_char,
    pub local_sockaddr: ucs_sock_addr_t,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucp_transport_entry_t {
    pub transport_name: *const c_char,
    pub device_name: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucp_transports_t {
    pub entries: *mut ucp_transport_entry_t,
    pub num_entries: c_uint,
    pub entry_size: usize,
}
