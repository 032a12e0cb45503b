//! Types and constants of `ucp/api/ucp.h`: context.

use crate::abi::prelude::*;

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

pub type ucp_feature = u64;
pub const UCP_FEATURE_TAG: ucp_feature = 1 << 0;
pub const UCP_FEATURE_RMA: ucp_feature = 1 << 1;
pub const UCP_FEATURE_AMO32: ucp_feature = 1 << 2;
pub const UCP_FEATURE_AMO64: ucp_feature = 1 << 3;
pub const UCP_FEATURE_WAKEUP: ucp_feature = 1 << 4;
pub const UCP_FEATURE_STREAM: ucp_feature = 1 << 5;
pub const UCP_FEATURE_AM: ucp_feature = 1 << 6;
pub const UCP_FEATURE_EXPORTED_MEMH: ucp_feature = 1 << 7;
pub const UCP_FEATURE_DEVICE: ucp_feature = 1 << 8;

pub type ucp_lib_attr_field = u64;
pub const UCP_LIB_ATTR_FIELD_MAX_THREAD_LEVEL: ucp_lib_attr_field = 1 << 0;

pub type ucp_context_attr_field = u64;
pub const UCP_ATTR_FIELD_REQUEST_SIZE: ucp_context_attr_field = 1 << 0;
pub const UCP_ATTR_FIELD_THREAD_MODE: ucp_context_attr_field = 1 << 1;
pub const UCP_ATTR_FIELD_MEMORY_TYPES: ucp_context_attr_field = 1 << 2;
pub const UCP_ATTR_FIELD_NAME: ucp_context_attr_field = 1 << 3;
pub const UCP_ATTR_FIELD_DEVICE_COUNTER_SIZE: ucp_context_attr_field = 1 << 4;

pub type ucp_cb_param_flags = u64;
pub const UCP_CB_PARAM_FLAG_DATA: ucp_cb_param_flags = 1 << 0;

pub type ucp_generic_dt_ops_t = ucp_generic_dt_ops;
pub type ucp_params_t = ucp_params;
pub type ucp_lib_attr_t = ucp_lib_attr;
pub type ucp_context_attr_t = ucp_context_attr;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucp_generic_dt_ops {
    pub start_pack: Option<unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void>,
    pub start_unpack: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> *mut c_void>,
    pub packed_size: Option<unsafe extern "C" fn(*mut c_void) -> usize>,
    pub pack: Option<unsafe extern "C" fn(*mut c_void, usize, *mut c_void, usize) -> usize>,
    pub unpack:
        Option<unsafe extern "C" fn(*mut c_void, usize, *const c_void, usize) -> ucs_status_t>,
    pub finish: Option<unsafe extern "C" fn(*mut c_void)>,
}

#[repr(C)]
pub struct ucp_params {
    pub field_mask: u64,
    pub features: u64,
    pub request_size: usize,
    pub request_init: ucp_request_init_callback_t,
    pub request_cleanup: ucp_request_cleanup_callback_t,
    pub tag_sender_mask: u64,
    pub mt_workers_shared: c_int,
    pub estimated_num_eps: usize,
    pub estimated_num_ppn: usize,
    pub name: *const c_char,
    pub node_local_id: usize,
}

#[repr(C)]
pub struct ucp_lib_attr {
    pub field_mask: u64,
    pub max_thread_level: ucs_thread_mode_t,
}

#[repr(C)]
pub struct ucp_context_attr {
    pub field_mask: u64,
    pub request_size: usize,
    pub thread_mode: ucs_thread_mode_t,
    pub memory_types: u64,
    pub name: [c_char; 32],
    pub device_counter_size: usize,
}
