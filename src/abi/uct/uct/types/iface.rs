//! Types and constants of `uct/api/uct.h`: iface.

use crate::abi::prelude::*;

/// Short active messages.
pub const UCT_IFACE_FLAG_AM_SHORT: u64 = 1 << 0;
/// Active messages that are copied.
pub const UCT_IFACE_FLAG_AM_BCOPY: u64 = 1 << 1;
/// Active messages from the user's memory.
pub const UCT_IFACE_FLAG_AM_ZCOPY: u64 = 1 << 2;
/// A queue of operations that wait for resources.
pub const UCT_IFACE_FLAG_PENDING: u64 = 1 << 3;
/// Short puts.
pub const UCT_IFACE_FLAG_PUT_SHORT: u64 = 1 << 4;
/// Puts that are copied.
pub const UCT_IFACE_FLAG_PUT_BCOPY: u64 = 1 << 5;
/// Puts from the user's memory.
pub const UCT_IFACE_FLAG_PUT_ZCOPY: u64 = 1 << 6;
/// Short gets.
pub const UCT_IFACE_FLAG_GET_SHORT: u64 = 1 << 8;
/// Gets that are copied.
pub const UCT_IFACE_FLAG_GET_BCOPY: u64 = 1 << 9;
/// Gets to the user's memory.
pub const UCT_IFACE_FLAG_GET_ZCOPY: u64 = 1 << 10;
/// Atomic with respect to processors.
pub const UCT_IFACE_FLAG_ATOMIC_CPU: u64 = 1 << 30;
/// Atomic with respect to the device only.
pub const UCT_IFACE_FLAG_ATOMIC_DEVICE: u64 = 1 << 31;
pub const UCT_IFACE_FLAG_ERRHANDLE_SHORT_BUF: u64 = 1 << 32;
pub const UCT_IFACE_FLAG_ERRHANDLE_BCOPY_BUF: u64 = 1 << 33;
pub const UCT_IFACE_FLAG_ERRHANDLE_ZCOPY_BUF: u64 = 1 << 34;
pub const UCT_IFACE_FLAG_ERRHANDLE_AM_ID: u64 = 1 << 35;
pub const UCT_IFACE_FLAG_ERRHANDLE_REMOTE_MEM: u64 = 1 << 36;
pub const UCT_IFACE_FLAG_ERRHANDLE_BCOPY_LEN: u64 = 1 << 37;
/// The failure of a peer is detected and reported.
pub const UCT_IFACE_FLAG_ERRHANDLE_PEER_FAILURE: u64 = 1 << 38;
/// Peers can be checked.
pub const UCT_IFACE_FLAG_EP_CHECK: u64 = 1 << 39;
pub const UCT_IFACE_FLAG_AM_DUP: u64 = 1 << 43;
/// Receive callbacks are called from progress only.
pub const UCT_IFACE_FLAG_CB_SYNC: u64 = 1 << 44;
/// Receive callbacks may be called from elsewhere.
pub const UCT_IFACE_FLAG_CB_ASYNC: u64 = 1 << 45;
pub const UCT_IFACE_FLAG_EP_KEEPALIVE: u64 = 1 << 46;
pub const UCT_IFACE_FLAG_PUT_AM_ORDER: u64 = 1 << 47;
pub const UCT_IFACE_FLAG_TAG_EAGER_SHORT: u64 = 1 << 50;
pub const UCT_IFACE_FLAG_TAG_EAGER_BCOPY: u64 = 1 << 51;
pub const UCT_IFACE_FLAG_TAG_EAGER_ZCOPY: u64 = 1 << 52;
pub const UCT_IFACE_FLAG_TAG_RNDV_ZCOPY: u64 = 1 << 53;
/// Reaches other hosts.
pub const UCT_IFACE_FLAG_INTER_NODE: u64 = 1 << 54;
pub const UCT_IFACE_FLAG_DEVICE_EP: u64 = 1 << 55;
pub const UCT_IFACE_FLAG_DEVICE_LKEY: u64 = 1 << 56;
pub const UCT_IFACE_FLAG_EVENT_SEND_COMP: u64 = 1 << 0;
pub const UCT_IFACE_FLAG_EVENT_RECV: u64 = 1 << 1;
pub const UCT_IFACE_FLAG_EVENT_RECV_SIG: u64 = 1 << 2;
pub const UCT_IFACE_FLAG_EVENT_FD: u64 = 1 << 3;
pub const UCT_IFACE_FLAG_EVENT_ASYNC_CB: u64 = 1 << 4;

/// What an interface's descriptor reports.
pub type uct_iface_event_types = u64;
/// A send has completed.
pub const UCT_EVENT_SEND_COMP: uct_iface_event_types = 1 << 0;
/// A message has arrived.
pub const UCT_EVENT_RECV: uct_iface_event_types = 1 << 1;
/// A message has arrived that was sent as signaled.
pub const UCT_EVENT_RECV_SIG: uct_iface_event_types = 1 << 2;
pub const UCT_EVENT_SPEED_CHANGE: uct_iface_event_types = 1 << 3;

pub type uct_progress_types = u64;
pub const UCT_PROGRESS_SEND: uct_progress_types = 1 << 0;
pub const UCT_PROGRESS_RECV: uct_progress_types = 1 << 1;
pub const UCT_PROGRESS_THREAD_SAFE: uct_progress_types = 1 << 7;

/// How an interface is opened.
pub type uct_iface_open_mode = u64;
/// On a device.
pub const UCT_IFACE_OPEN_MODE_DEVICE: uct_iface_open_mode = 1 << 0;
/// Listening on a socket address.
pub const UCT_IFACE_OPEN_MODE_SOCKADDR_SERVER: uct_iface_open_mode = 1 << 1;
/// Connecting to socket addresses.
pub const UCT_IFACE_OPEN_MODE_SOCKADDR_CLIENT: uct_iface_open_mode = 1 << 2;
/// Not at all: all operations fail with a given status.
pub const UCT_IFACE_OPEN_MODE_STUB: uct_iface_open_mode = 1 << 3;

pub type uct_iface_params_field = u64;
pub const UCT_IFACE_PARAM_FIELD_CPU_MASK: uct_iface_params_field = 1 << 0;
pub const UCT_IFACE_PARAM_FIELD_OPEN_MODE: uct_iface_params_field = 1 << 1;
pub const UCT_IFACE_PARAM_FIELD_DEVICE: uct_iface_params_field = 1 << 2;
pub const UCT_IFACE_PARAM_FIELD_SOCKADDR: uct_iface_params_field = 1 << 3;
pub const UCT_IFACE_PARAM_FIELD_STATS_ROOT: uct_iface_params_field = 1 << 4;
pub const UCT_IFACE_PARAM_FIELD_RX_HEADROOM: uct_iface_params_field = 1 << 5;
pub const UCT_IFACE_PARAM_FIELD_ERR_HANDLER_ARG: uct_iface_params_field = 1 << 6;
pub const UCT_IFACE_PARAM_FIELD_ERR_HANDLER: uct_iface_params_field = 1 << 7;
pub const UCT_IFACE_PARAM_FIELD_ERR_HANDLER_FLAGS: uct_iface_params_field = 1 << 8;
pub const UCT_IFACE_PARAM_FIELD_HW_TM_EAGER_ARG: uct_iface_params_field = 1 << 9;
pub const UCT_IFACE_PARAM_FIELD_HW_TM_EAGER_CB: uct_iface_params_field = 1 << 10;
pub const UCT_IFACE_PARAM_FIELD_HW_TM_RNDV_ARG: uct_iface_params_field = 1 << 11;
pub const UCT_IFACE_PARAM_FIELD_HW_TM_RNDV_CB: uct_iface_params_field = 1 << 12;
pub const UCT_IFACE_PARAM_FIELD_ASYNC_EVENT_ARG: uct_iface_params_field = 1 << 13;
pub const UCT_IFACE_PARAM_FIELD_ASYNC_EVENT_CB: uct_iface_params_field = 1 << 14;
pub const UCT_IFACE_PARAM_FIELD_KEEPALIVE_INTERVAL: uct_iface_params_field = 1 << 15;
pub const UCT_IFACE_PARAM_FIELD_AM_ALIGNMENT: uct_iface_params_field = 1 << 16;
pub const UCT_IFACE_PARAM_FIELD_AM_ALIGN_OFFSET: uct_iface_params_field = 1 << 17;
pub const UCT_IFACE_PARAM_FIELD_FEATURES: uct_iface_params_field = 1 << 18;

/// What an interface is used for.
pub type uct_iface_feature = u64;
pub const UCT_IFACE_FEATURE_AM: uct_iface_feature = 1 << 0;
pub const UCT_IFACE_FEATURE_PUT: uct_iface_feature = 1 << 1;
pub const UCT_IFACE_FEATURE_GET: uct_iface_feature = 1 << 2;
pub const UCT_IFACE_FEATURE_AMO32: uct_iface_feature = 1 << 3;
pub const UCT_IFACE_FEATURE_AMO64: uct_iface_feature = 1 << 4;
pub const UCT_IFACE_FEATURE_TAG: uct_iface_feature = 1 << 5;
pub const UCT_IFACE_FEATURE_FLUSH_REMOTE: uct_iface_feature = 1 << 6;
pub const UCT_IFACE_FEATURE_LAST: uct_iface_feature = 1 << 7;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_iface_attr_cap_put {
    pub max_short: usize,
    pub max_bcopy: usize,
    pub min_zcopy: usize,
    pub max_zcopy: usize,
    pub opt_zcopy_align: usize,
    pub align_mtu: usize,
    pub max_iov: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_iface_attr_cap_get {
    pub max_short: usize,
    pub max_bcopy: usize,
    pub min_zcopy: usize,
    pub max_zcopy: usize,
    pub opt_zcopy_align: usize,
    pub align_mtu: usize,
    pub max_iov: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_iface_attr_cap_am {
    pub max_short: usize,
    pub max_bcopy: usize,
    pub min_zcopy: usize,
    pub max_zcopy: usize,
    pub opt_zcopy_align: usize,
    pub align_mtu: usize,
    pub max_hdr: usize,
    pub max_iov: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_iface_attr_cap_tag_recv {
    pub min_recv: usize,
    pub max_zcopy: usize,
    pub max_iov: usize,
    pub max_outstanding: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_iface_attr_cap_tag_eager {
    pub max_short: usize,
    pub max_bcopy: usize,
    pub max_zcopy: usize,
    pub max_iov: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_iface_attr_cap_tag_rndv {
    pub max_zcopy: usize,
    pub max_hdr: usize,
    pub max_iov: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_iface_attr_cap_tag {
    pub recv: uct_iface_attr_cap_tag_recv,
    pub eager: uct_iface_attr_cap_tag_eager,
    pub rndv: uct_iface_attr_cap_tag_rndv,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_iface_attr_cap_atomic32 {
    pub op_flags: u64,
    pub fop_flags: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_iface_attr_cap {
    pub put: uct_iface_attr_cap_put,
    pub get: uct_iface_attr_cap_get,
    pub am: uct_iface_attr_cap_am,
    pub tag: uct_iface_attr_cap_tag,
    pub atomic32: uct_iface_attr_cap_atomic32,
    pub atomic64: uct_iface_attr_cap_atomic32,
    pub flags: u64,
    pub event_flags: u64,
}

/// What an interface can do, and how fast it is.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_iface_attr {
    /// Limits of each operation, in bytes, and flags.
    pub cap: uct_iface_attr_cap,
    /// Bytes of the device's address.
    pub device_addr_len: usize,
    /// Bytes of the interface's address.
    pub iface_addr_len: usize,
    /// Bytes of an endpoint's address.
    pub ep_addr_len: usize,
    /// The most bytes of private data in a connection request.
    pub max_conn_priv: usize,
    /// The address it listens on.
    pub listen_sockaddr: sockaddr_storage,
    /// Seconds that each message costs the processor.
    pub overhead: f64,
    /// Bandwidth in bytes per second.
    pub bandwidth: uct_ppn_bandwidth_t,
    /// Seconds, by the number of endpoints.
    pub latency: ucs_linear_func_t,
    /// The higher, the better, among equals.
    pub priority: u8,
    /// The most endpoints.
    pub max_num_eps: usize,
    /// Number of paths through the device.
    pub dev_num_paths: c_uint,
    pub ctl_device: ucs_sys_device_t,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_iface_params_mode_device {
    pub tl_name: *const c_char,
    pub dev_name: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_iface_params_mode_stub {
    pub status: ucs_status_t,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union uct_iface_params_mode {
    pub device: uct_iface_params_mode_device,
    pub sockaddr: uct_iface_params_mode_sockaddr,
    pub stub: uct_iface_params_mode_stub,
}

/// Parameters of `uct_iface_open`.
#[repr(C)]
pub struct uct_iface_params {
    /// Mask of `UCT_IFACE_PARAM_FIELD_*`.
    pub field_mask: u64,
    /// Processors near which resources are to be.
    pub cpu_mask: ucs_cpu_set_t,
    /// How it is opened: one of `uct_iface_open_mode`.
    pub open_mode: u64,
    /// What the mode needs.
    pub mode: uct_iface_params_mode,
    pub stats_root: *mut ucs_stats_node_t,
    /// Bytes that the user needs before each received message.
    pub rx_headroom: usize,
    /// Passed to it.
    pub err_handler_arg: *mut c_void,
    /// Called when an endpoint has failed.
    pub err_handler: uct_error_handler_t,
    pub err_handler_flags: u32,
    pub eager_arg: *mut c_void,
    pub eager_cb: uct_tag_unexp_eager_cb_t,
    pub rndv_arg: *mut c_void,
    pub rndv_cb: uct_tag_unexp_rndv_cb_t,
    /// Passed to it.
    pub async_event_arg: *mut c_void,
    /// Called from an asynchronous context when there is something to do.
    pub async_event_cb: uct_async_event_cb_t,
    /// Seconds between checks of a peer.
    pub keepalive_interval: ucs_time_t,
    /// Alignment in bytes of the data of active messages.
    pub am_alignment: usize,
    /// Offset in the data that is to be aligned.
    pub am_align_offset: usize,
    /// Mask of `uct_iface_feature`: what it is used for.
    pub features: u64,
}
