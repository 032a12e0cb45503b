//! Types and constants of `uct/api/uct.h`: component.

use crate::abi::prelude::*;

pub const UCT_TL_RESOURCE_DESC_FMT: &str = "%s/%s";

pub type uct_component_attr_field = u64;
pub const UCT_COMPONENT_ATTR_FIELD_NAME: uct_component_attr_field = 1 << 0;
pub const UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT: uct_component_attr_field = 1 << 1;
pub const UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES: uct_component_attr_field = 1 << 2;
pub const UCT_COMPONENT_ATTR_FIELD_FLAGS: uct_component_attr_field = 1 << 3;

pub type uct_component_flag_enum = u64;
/// It has a connection manager.
pub const UCT_COMPONENT_FLAG_CM: uct_component_flag_enum = 1 << 0;
/// Its keys give addresses (`uct_rkey_ptr`).
pub const UCT_COMPONENT_FLAG_RKEY_PTR: uct_component_flag_enum = 1 << 1;

/// Kinds of devices.
pub type uct_device_type_t = u32;
/// Reaches other hosts.
pub const UCT_DEVICE_TYPE_NET: uct_device_type_t = 0;
/// Reaches processes of this host.
pub const UCT_DEVICE_TYPE_SHM: uct_device_type_t = 1;
/// An accelerator.
pub const UCT_DEVICE_TYPE_ACC: uct_device_type_t = 2;
/// Reaches this worker only.
pub const UCT_DEVICE_TYPE_SELF: uct_device_type_t = 3;
pub const UCT_DEVICE_TYPE_LAST: uct_device_type_t = 4;

pub type uct_msg_flags = u64;
pub const UCT_SEND_FLAG_SIGNALED: uct_msg_flags = 1 << 0;
pub const UCT_SEND_FLAG_PEER_CHECK: uct_msg_flags = 1 << 1;

pub type uct_tag_recv_cb_inline_data_enum = u64;
pub const UCT_TAG_RECV_CB_INLINE_DATA: uct_tag_recv_cb_inline_data_enum = 1 << 0;

pub type uct_component_attr_t = uct_component_attr;
pub type uct_tl_resource_desc_t = uct_tl_resource_desc;
pub type uct_ppn_bandwidth_t = uct_ppn_bandwidth;

/// Attributes of a component.
#[repr(C)]
pub struct uct_component_attr {
    /// Mask of `uct_component_attr_field`.
    pub field_mask: u64,
    /// Name, with a terminating zero.
    pub name: [c_char; 16],
    /// Number of memory domains.
    pub md_resource_count: c_uint,
    /// Given: room for that many.
    pub md_resources: *mut uct_md_resource_desc_t,
    /// Mask of `UCT_COMPONENT_FLAG_*`.
    pub flags: u64,
}

/// A transport on a device.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_tl_resource_desc {
    /// Transport, with a terminating zero.
    pub tl_name: [c_char; 10],
    /// Device, with a terminating zero.
    pub dev_name: [c_char; 32],
    /// Kind of the device.
    pub dev_type: uct_device_type_t,
    /// The device of the system that it belongs to.
    pub sys_device: ucs_sys_device_t,
}

/// A bandwidth in bytes per second: `dedicated + shared / processes per node`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_ppn_bandwidth {
    pub dedicated: f64,
    pub shared: f64,
}

/// What is called when operations have completed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_completion {
    /// Called when `count` reaches 0.
    pub func: uct_completion_callback_t,
    /// Number of operations (or of their parts) that are still to complete.
    pub count: c_int,
    /// The first failure, or `UCS_OK`.
    pub status: ucs_status_t,
}

/// An operation that waits for resources.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_pending_req {
    /// Called when there may be resources; `UCS_OK` takes it off the queue.
    pub func: uct_pending_callback_t,
    /// For the transport.
    pub priv_: [c_char; 40],
}

/// A receive that the device matches.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_tag_context {
    /// Called when a message has matched.
    pub tag_consumed_cb: Option<unsafe extern "C" fn(*mut uct_tag_context_t)>,
    /// Called when the message was received.
    pub completed_cb: Option<
        unsafe extern "C" fn(
            *mut uct_tag_context_t,
            uct_tag_t,
            u64,
            usize,
            *mut c_void,
            ucs_status_t,
        ),
    >,
    /// Called when a message has matched that is to be fetched.
    pub rndv_cb: Option<
        unsafe extern "C" fn(
            *mut uct_tag_context_t,
            uct_tag_t,
            *const c_void,
            c_uint,
            ucs_status_t,
            c_uint,
        ),
    >,
    /// For the transport.
    pub priv_: [c_char; 32],
}
