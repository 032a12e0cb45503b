//! Types and constants of `ucp/api/ucp.h`: context.

use crate::abi::prelude::*;

/// Which fields of `ucp_params_t` are valid.
pub type ucp_params_field = u64;
pub const UCP_PARAM_FIELD_FEATURES: ucp_params_field = 1 << 0;
pub const UCP_PARAM_FIELD_REQUEST_SIZE: ucp_params_field = 1 << 1;
pub const UCP_PARAM_FIELD_REQUEST_INIT: ucp_params_field = 1 << 2;
pub const UCP_PARAM_FIELD_REQUEST_CLEANUP: ucp_params_field = 1 << 3;
pub const UCP_PARAM_FIELD_TAG_SENDER_MASK: ucp_params_field = 1 << 4;
pub const UCP_PARAM_FIELD_MT_WORKERS_SHARED: ucp_params_field = 1 << 5;
pub const UCP_PARAM_FIELD_ESTIMATED_NUM_EPS: ucp_params_field = 1 << 6;
pub const UCP_PARAM_FIELD_ESTIMATED_NUM_PPN: ucp_params_field = 1 << 7;
pub const UCP_PARAM_FIELD_NAME: ucp_params_field = 1 << 8;
pub const UCP_PARAM_FIELD_NODE_LOCAL_ID: ucp_params_field = 1 << 9;

/// What a context is used for; transports are chosen by it.
pub type ucp_feature = u64;
/// Tagged messages.
pub const UCP_FEATURE_TAG: ucp_feature = 1 << 0;
/// Access to remote memory.
pub const UCP_FEATURE_RMA: ucp_feature = 1 << 1;
/// Atomic operations on 4 bytes.
pub const UCP_FEATURE_AMO32: ucp_feature = 1 << 2;
/// Atomic operations on 8 bytes.
pub const UCP_FEATURE_AMO64: ucp_feature = 1 << 3;
/// Waiting for events on a file descriptor.
pub const UCP_FEATURE_WAKEUP: ucp_feature = 1 << 4;
/// Streams of bytes.
pub const UCP_FEATURE_STREAM: ucp_feature = 1 << 5;
/// Active messages.
pub const UCP_FEATURE_AM: ucp_feature = 1 << 6;
/// Memory handles for other processes of the host.
pub const UCP_FEATURE_EXPORTED_MEMH: ucp_feature = 1 << 7;
/// Communication started by a device.
pub const UCP_FEATURE_DEVICE: ucp_feature = 1 << 8;

/// Which fields of `ucp_lib_attr_t` are asked for.
pub type ucp_lib_attr_field = u64;
pub const UCP_LIB_ATTR_FIELD_MAX_THREAD_LEVEL: ucp_lib_attr_field = 1 << 0;

/// Which fields of `ucp_context_attr_t` are asked for.
pub type ucp_context_attr_field = u64;
pub const UCP_ATTR_FIELD_REQUEST_SIZE: ucp_context_attr_field = 1 << 0;
pub const UCP_ATTR_FIELD_THREAD_MODE: ucp_context_attr_field = 1 << 1;
pub const UCP_ATTR_FIELD_MEMORY_TYPES: ucp_context_attr_field = 1 << 2;
pub const UCP_ATTR_FIELD_NAME: ucp_context_attr_field = 1 << 3;
pub const UCP_ATTR_FIELD_DEVICE_COUNTER_SIZE: ucp_context_attr_field = 1 << 4;

/// Flags of a receive callback.
pub type ucp_cb_param_flags = u64;
/// The data is a part of the library's memory that may be kept.
pub const UCP_CB_PARAM_FLAG_DATA: ucp_cb_param_flags = 1 << 0;

pub type ucp_generic_dt_ops_t = ucp_generic_dt_ops;
pub type ucp_params_t = ucp_params;
pub type ucp_lib_attr_t = ucp_lib_attr;
pub type ucp_context_attr_t = ucp_context_attr;

/// The functions of a generic datatype.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucp_generic_dt_ops {
    /// Begins to pack `count` elements at `buffer`; returns the state that the functions below get.
    pub start_pack: Option<unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void>,
    /// Begins to unpack to `count` elements at `buffer`; returns the state that the functions below
    /// get.
    pub start_unpack: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> *mut c_void>,
    /// Number of bytes of the packed message.
    pub packed_size: Option<unsafe extern "C" fn(*mut c_void) -> usize>,
    /// Packs bytes from `offset` on into at most `max_length` bytes at `dest`; returns how many.
    pub pack: Option<unsafe extern "C" fn(*mut c_void, usize, *mut c_void, usize) -> usize>,
    /// Unpacks `length` bytes at `src`, which stand at `offset` of the message.
    pub unpack:
        Option<unsafe extern "C" fn(*mut c_void, usize, *const c_void, usize) -> ucs_status_t>,
    /// Ends packing or unpacking: called once per start.
    pub finish: Option<unsafe extern "C" fn(*mut c_void)>,
}

/// Parameters of `ucp_init`.
#[repr(C)]
pub struct ucp_params {
    /// Mask of `ucp_params_field`.
    pub field_mask: u64,
    /// Mask of `ucp_feature`.
    pub features: u64,
    /// Bytes that the user wants in each request.
    pub request_size: usize,
    /// Called for memory of a request when it is first allocated.
    pub request_init: ucp_request_init_callback_t,
    /// Called for memory of a request when it is finally freed.
    pub request_cleanup: ucp_request_cleanup_callback_t,
    /// The bits of a tag that tell senders apart.
    pub tag_sender_mask: u64,
    /// Not 0 if workers of this context are used by several threads at once.
    pub mt_workers_shared: c_int,
    /// Number of endpoints to expect.
    pub estimated_num_eps: usize,
    /// Number of processes on this host to expect.
    pub estimated_num_ppn: usize,
    /// Name for messages to people.
    pub name: *const c_char,
    /// Index of this process among those of its host.
    pub node_local_id: usize,
}

/// What the library can do.
#[repr(C)]
pub struct ucp_lib_attr {
    /// Mask of `ucp_lib_attr_field`.
    pub field_mask: u64,
    /// The highest thread mode that a worker can have.
    pub max_thread_level: ucs_thread_mode_t,
}

/// Attributes of a context.
#[repr(C)]
pub struct ucp_context_attr {
    /// Mask of `ucp_context_attr_field`.
    pub field_mask: u64,
    /// Bytes that the library needs in each request, before those of the user.
    pub request_size: usize,
    /// The thread mode that calls on the context itself may use.
    pub thread_mode: ucs_thread_mode_t,
    /// Mask of the memory types that are supported (bits by `ucs_memory_type_t`).
    pub memory_types: u64,
    /// Name, with a terminating zero.
    pub name: [c_char; 32],
    /// Bytes of a counter that remote devices increment.
    pub device_counter_size: usize,
}
