//! Types and constants of `uct/api/v2/uct_v2.h`.

use crate::abi::prelude::*;

pub const UCT_IFACE_FLAG_V2_PUT_SGL_ZCOPY: u64 = 1 << 0;
pub const UCT_IFACE_FLAG_V2_QUERY_TOKEN: u64 = 1 << 1;

pub type uct_ep_operation = u32;
pub const UCT_EP_OP_AM_SHORT: uct_ep_operation = 0;
pub const UCT_EP_OP_AM_BCOPY: uct_ep_operation = 1;
pub const UCT_EP_OP_AM_ZCOPY: uct_ep_operation = 2;
pub const UCT_EP_OP_PUT_SHORT: uct_ep_operation = 3;
pub const UCT_EP_OP_PUT_BCOPY: uct_ep_operation = 4;
pub const UCT_EP_OP_PUT_ZCOPY: uct_ep_operation = 5;
pub const UCT_EP_OP_GET_SHORT: uct_ep_operation = 6;
pub const UCT_EP_OP_GET_BCOPY: uct_ep_operation = 7;
pub const UCT_EP_OP_GET_ZCOPY: uct_ep_operation = 8;
pub const UCT_EP_OP_EAGER_SHORT: uct_ep_operation = 9;
pub const UCT_EP_OP_EAGER_BCOPY: uct_ep_operation = 10;
pub const UCT_EP_OP_EAGER_ZCOPY: uct_ep_operation = 11;
pub const UCT_EP_OP_RNDV_ZCOPY: uct_ep_operation = 12;
pub const UCT_EP_OP_ATOMIC_POST: uct_ep_operation = 13;
pub const UCT_EP_OP_ATOMIC_FETCH: uct_ep_operation = 14;
pub const UCT_EP_OP_LAST: uct_ep_operation = 15;

pub type uct_perf_attr_field = u64;
pub const UCT_PERF_ATTR_FIELD_OPERATION: uct_perf_attr_field = 1 << 0;
pub const UCT_PERF_ATTR_FIELD_LOCAL_MEMORY_TYPE: uct_perf_attr_field = 1 << 1;
pub const UCT_PERF_ATTR_FIELD_REMOTE_MEMORY_TYPE: uct_perf_attr_field = 1 << 2;
pub const UCT_PERF_ATTR_FIELD_LOCAL_SYS_DEVICE: uct_perf_attr_field = 1 << 3;
pub const UCT_PERF_ATTR_FIELD_REMOTE_SYS_DEVICE: uct_perf_attr_field = 1 << 4;
pub const UCT_PERF_ATTR_FIELD_SEND_PRE_OVERHEAD: uct_perf_attr_field = 1 << 5;
pub const UCT_PERF_ATTR_FIELD_SEND_POST_OVERHEAD: uct_perf_attr_field = 1 << 6;
pub const UCT_PERF_ATTR_FIELD_RECV_OVERHEAD: uct_perf_attr_field = 1 << 7;
pub const UCT_PERF_ATTR_FIELD_BANDWIDTH: uct_perf_attr_field = 1 << 8;
pub const UCT_PERF_ATTR_FIELD_PATH_BANDWIDTH: uct_perf_attr_field = 1 << 9;
pub const UCT_PERF_ATTR_FIELD_LATENCY: uct_perf_attr_field = 1 << 10;
pub const UCT_PERF_ATTR_FIELD_MAX_INFLIGHT_EPS: uct_perf_attr_field = 1 << 11;
pub const UCT_PERF_ATTR_FIELD_FLAGS: uct_perf_attr_field = 1 << 12;

pub type uct_perf_attr_flags_t = u32;
pub const UCT_PERF_ATTR_FLAGS_TX_RX_SHARED: uct_perf_attr_flags_t = 1 << 0;

pub type uct_md_mem_reg_field_mask_t = u32;
pub const UCT_MD_MEM_REG_FIELD_FLAGS: uct_md_mem_reg_field_mask_t = 1 << 0;
pub const UCT_MD_MEM_REG_FIELD_DMABUF_FD: uct_md_mem_reg_field_mask_t = 1 << 1;
pub const UCT_MD_MEM_REG_FIELD_DMABUF_OFFSET: uct_md_mem_reg_field_mask_t = 1 << 2;
pub const UCT_MD_MEM_REG_FIELD_MEM_TYPE: uct_md_mem_reg_field_mask_t = 1 << 3;

pub type uct_md_mem_dereg_field_mask_t = u32;
pub const UCT_MD_MEM_DEREG_FIELD_MEMH: uct_md_mem_dereg_field_mask_t = 1 << 0;
pub const UCT_MD_MEM_DEREG_FIELD_FLAGS: uct_md_mem_dereg_field_mask_t = 1 << 1;
pub const UCT_MD_MEM_DEREG_FIELD_COMPLETION: uct_md_mem_dereg_field_mask_t = 1 << 2;

pub type uct_md_mkey_pack_field_mask_t = u32;
pub const UCT_MD_MKEY_PACK_FIELD_FLAGS: uct_md_mkey_pack_field_mask_t = 1 << 0;

pub type uct_md_mem_attach_field_mask_t = u32;
pub const UCT_MD_MEM_ATTACH_FIELD_FLAGS: uct_md_mem_attach_field_mask_t = 1 << 0;
pub const UCT_MD_MEM_ATTACH_FIELD_MKEY_SIZE: uct_md_mem_attach_field_mask_t = 1 << 1;

pub type uct_ep_attr_field = u64;
pub const UCT_EP_ATTR_FIELD_LOCAL_SOCKADDR: uct_ep_attr_field = 1 << 0;
pub const UCT_EP_ATTR_FIELD_REMOTE_SOCKADDR: uct_ep_attr_field = 1 << 1;
pub const UCT_EP_ATTR_FIELD_TX_TOKEN: uct_ep_attr_field = 1 << 2;
pub const UCT_EP_ATTR_FIELD_RX_TOKEN: uct_ep_attr_field = 1 << 3;

pub type uct_iface_is_reachable_field_mask_t = u32;
pub const UCT_IFACE_IS_REACHABLE_FIELD_DEVICE_ADDR: uct_iface_is_reachable_field_mask_t = 1 << 0;
pub const UCT_IFACE_IS_REACHABLE_FIELD_IFACE_ADDR: uct_iface_is_reachable_field_mask_t = 1 << 1;
pub const UCT_IFACE_IS_REACHABLE_FIELD_INFO_STRING: uct_iface_is_reachable_field_mask_t = 1 << 2;
pub const UCT_IFACE_IS_REACHABLE_FIELD_INFO_STRING_LENGTH: uct_iface_is_reachable_field_mask_t =
    1 << 3;
pub const UCT_IFACE_IS_REACHABLE_FIELD_SCOPE: uct_iface_is_reachable_field_mask_t = 1 << 4;
pub const UCT_IFACE_IS_REACHABLE_FIELD_DEVICE_ADDR_LENGTH: uct_iface_is_reachable_field_mask_t =
    1 << 5;
pub const UCT_IFACE_IS_REACHABLE_FIELD_IFACE_ADDR_LENGTH: uct_iface_is_reachable_field_mask_t =
    1 << 6;

pub type uct_md_mem_dereg_flags_t = u32;
pub const UCT_MD_MEM_DEREG_FLAG_INVALIDATE: uct_md_mem_dereg_flags_t = 1 << 0;

pub type uct_md_mkey_pack_flags_t = u32;
pub const UCT_MD_MKEY_PACK_FLAG_INVALIDATE_RMA: uct_md_mkey_pack_flags_t = 1 << 0;
pub const UCT_MD_MKEY_PACK_FLAG_INVALIDATE_AMO: uct_md_mkey_pack_flags_t = 1 << 1;
pub const UCT_MD_MKEY_PACK_FLAG_EXPORT: uct_md_mkey_pack_flags_t = 1 << 2;

pub type uct_md_mem_attach_flags_t = u32;
pub const UCT_MD_MEM_ATTACH_FLAG_HIDE_ERRORS: uct_md_mem_attach_flags_t = 1 << 0;

pub type uct_ep_connect_to_ep_param_field_t = u32;
pub const UCT_EP_CONNECT_TO_EP_PARAM_FIELD_DEVICE_ADDR_LENGTH: uct_ep_connect_to_ep_param_field_t =
    1 << 0;
pub const UCT_EP_CONNECT_TO_EP_PARAM_FIELD_EP_ADDR_LENGTH: uct_ep_connect_to_ep_param_field_t =
    1 << 1;

pub type uct_ep_is_connected_field_mask_t = u32;
pub const UCT_EP_IS_CONNECTED_FIELD_DEVICE_ADDR: uct_ep_is_connected_field_mask_t = 1 << 0;
pub const UCT_EP_IS_CONNECTED_FIELD_IFACE_ADDR: uct_ep_is_connected_field_mask_t = 1 << 1;
pub const UCT_EP_IS_CONNECTED_FIELD_EP_ADDR: uct_ep_is_connected_field_mask_t = 1 << 2;

pub type uct_iface_reachability_scope_t = u32;
pub const UCT_IFACE_REACHABILITY_SCOPE_DEVICE: uct_iface_reachability_scope_t = 0;
pub const UCT_IFACE_REACHABILITY_SCOPE_NETWORK: uct_iface_reachability_scope_t = 1;

/// Which fields of `uct_rkey_unpack_params_t` are valid.
pub type uct_rkey_unpack_field_mask_t = u32;
/// `sys_device`.
pub const UCT_RKEY_UNPACK_FIELD_SYS_DEVICE: uct_rkey_unpack_field_mask_t = 1 << 0;
/// `flags`.
pub const UCT_RKEY_UNPACK_FIELD_FLAGS: uct_rkey_unpack_field_mask_t = 1 << 1;

/// How a remote key is unpacked.
pub type uct_rkey_unpack_flags_t = u32;
/// Mappings kept for keys that were released are freed first.
pub const UCT_RKEY_UNPACK_FLAG_FREE_UNUSED_MAPPING: uct_rkey_unpack_flags_t = 1 << 0;

pub type uct_md_mem_attr_v2_field_t = u32;
pub const UCT_MD_MEM_ATTR_V2_FIELD_MEM_TYPE: uct_md_mem_attr_v2_field_t = 1 << 0;
pub const UCT_MD_MEM_ATTR_V2_FIELD_SYS_DEV: uct_md_mem_attr_v2_field_t = 1 << 1;
pub const UCT_MD_MEM_ATTR_V2_FIELD_BASE_ADDRESS: uct_md_mem_attr_v2_field_t = 1 << 2;
pub const UCT_MD_MEM_ATTR_V2_FIELD_ALLOC_LENGTH: uct_md_mem_attr_v2_field_t = 1 << 3;
pub const UCT_MD_MEM_ATTR_V2_FIELD_DMABUF_FD: uct_md_mem_attr_v2_field_t = 1 << 4;
pub const UCT_MD_MEM_ATTR_V2_FIELD_DMABUF_OFFSET: uct_md_mem_attr_v2_field_t = 1 << 5;
pub const UCT_MD_MEM_ATTR_V2_FIELD_MEM_FLAGS: uct_md_mem_attr_v2_field_t = 1 << 6;

pub type uct_md_attr_field = u32;
pub const UCT_MD_ATTR_FIELD_MAX_ALLOC: uct_md_attr_field = 1 << 0;
pub const UCT_MD_ATTR_FIELD_MAX_REG: uct_md_attr_field = 1 << 1;
pub const UCT_MD_ATTR_FIELD_FLAGS: uct_md_attr_field = 1 << 2;
pub const UCT_MD_ATTR_FIELD_REG_MEM_TYPES: uct_md_attr_field = 1 << 3;
pub const UCT_MD_ATTR_FIELD_REG_NONBLOCK_MEM_TYPES: uct_md_attr_field = 1 << 4;
pub const UCT_MD_ATTR_FIELD_CACHE_MEM_TYPES: uct_md_attr_field = 1 << 5;
pub const UCT_MD_ATTR_FIELD_DETECT_MEM_TYPES: uct_md_attr_field = 1 << 6;
pub const UCT_MD_ATTR_FIELD_ALLOC_MEM_TYPES: uct_md_attr_field = 1 << 7;
pub const UCT_MD_ATTR_FIELD_ACCESS_MEM_TYPES: uct_md_attr_field = 1 << 8;
pub const UCT_MD_ATTR_FIELD_DMABUF_MEM_TYPES: uct_md_attr_field = 1 << 9;
pub const UCT_MD_ATTR_FIELD_REG_COST: uct_md_attr_field = 1 << 10;
pub const UCT_MD_ATTR_FIELD_COMPONENT_NAME: uct_md_attr_field = 1 << 11;
pub const UCT_MD_ATTR_FIELD_RKEY_PACKED_SIZE: uct_md_attr_field = 1 << 12;
pub const UCT_MD_ATTR_FIELD_LOCAL_CPUS: uct_md_attr_field = 1 << 13;
pub const UCT_MD_ATTR_FIELD_EXPORTED_MKEY_PACKED_SIZE: uct_md_attr_field = 1 << 14;
pub const UCT_MD_ATTR_FIELD_GLOBAL_ID: uct_md_attr_field = 1 << 15;
pub const UCT_MD_ATTR_FIELD_REG_ALIGNMENT: uct_md_attr_field = 1 << 16;
pub const UCT_MD_ATTR_FIELD_GVA_MEM_TYPES: uct_md_attr_field = 1 << 17;
pub const UCT_MD_ATTR_FIELD_REQUIRED_MEM_FLAGS: uct_md_attr_field = 1 << 18;

pub type uct_md_flags_v2_t = u32;
pub const UCT_MD_FLAG_V2_FIRST: uct_md_flags_v2_t = 2048;
pub const UCT_MD_FLAG_INVALIDATE_RMA: uct_md_flags_v2_t = 2048;
pub const UCT_MD_FLAG_INVALIDATE_AMO: uct_md_flags_v2_t = 1 << 12;
pub const UCT_MD_FLAG_MEMTYPE_COPY: uct_md_flags_v2_t = 1 << 13;

pub type uct_iface_attr_field = u64;
pub const UCT_IFACE_ATTR_FIELD_MAX_PUT_SGL_ZCOPY_COUNT: uct_iface_attr_field = 1 << 0;
pub const UCT_IFACE_ATTR_FIELD_CAP_FLAGS: uct_iface_attr_field = 1 << 1;
pub const UCT_IFACE_ATTR_FIELD_TX_TOKEN_LENGTH: uct_iface_attr_field = 1 << 2;
pub const UCT_IFACE_ATTR_FIELD_RX_TOKEN_LENGTH: uct_iface_attr_field = 1 << 3;
pub const UCT_IFACE_ATTR_FIELD_TX_TOKEN: uct_iface_attr_field = 1 << 4;
pub const UCT_IFACE_ATTR_FIELD_RX_TOKEN: uct_iface_attr_field = 1 << 5;

pub type uct_ep_operation_t = uct_ep_operation;
pub type uct_md_mem_invalidate_cb_t = Option<unsafe extern "C" fn(arg: *mut c_void)>;
pub type uct_md_mem_reg_params_t = uct_md_mem_reg_params;
pub type uct_md_mem_dereg_params_t = uct_md_mem_dereg_params;
pub type uct_md_mkey_pack_params_t = uct_md_mkey_pack_params;
pub type uct_md_mem_attach_params_t = uct_md_mem_attach_params;
pub type uct_iface_is_reachable_params_t = uct_iface_is_reachable_params;
pub type uct_ep_is_connected_params_t = uct_ep_is_connected_params;
pub type uct_ep_connect_to_ep_params_t = uct_ep_connect_to_ep_params;
pub type uct_rkey_compare_params_t = uct_rkey_compare_params;
pub type uct_rkey_unpack_params_t = uct_rkey_unpack_params;
pub type uct_md_mem_attr_v2_t = uct_md_mem_attr_v2;
pub type uct_md_attr_field_t = uct_md_attr_field;

/// The speed of an operation.
#[repr(C)]
pub struct uct_perf_attr_t {
    /// Mask of `uct_perf_attr_field`.
    pub field_mask: u64,
    /// Given: the operation.
    pub operation: uct_ep_operation_t,
    /// Given: type of the local memory.
    pub local_memory_type: ucs_memory_type_t,
    /// Given: type of the remote memory.
    pub remote_memory_type: ucs_memory_type_t,
    /// Given: device of the local memory.
    pub local_sys_device: ucs_sys_device_t,
    /// Given: device of the remote memory.
    pub remote_sys_device: ucs_sys_device_t,
    /// Seconds of the processor before the message is on its way.
    pub send_pre_overhead: f64,
    /// Seconds of the processor afterwards.
    pub send_post_overhead: f64,
    /// Seconds of the receiving processor.
    pub recv_overhead: f64,
    /// Bytes per second.
    pub bandwidth: uct_ppn_bandwidth_t,
    /// Bytes per second of one path.
    pub path_bandwidth: uct_ppn_bandwidth_t,
    /// Seconds, by the number of endpoints.
    pub latency: ucs_linear_func_t,
    /// How many endpoints can be busy at once.
    pub max_inflight_eps: usize,
    pub flags: u64,
}

/// Attributes of an endpoint.
#[repr(C)]
pub struct uct_ep_attr {
    pub field_mask: u64,
    pub local_address: sockaddr_storage,
    pub remote_address: sockaddr_storage,
    pub tx_token: *mut c_void,
    pub rx_token: *mut c_void,
}

#[repr(C)]
pub struct uct_md_mem_reg_params {
    pub field_mask: u64,
    pub flags: u64,
    pub dmabuf_fd: c_int,
    pub dmabuf_offset: usize,
    pub mem_type: ucs_memory_type_t,
}

#[repr(C)]
pub struct uct_md_mem_dereg_params {
    pub field_mask: u64,
    pub flags: c_uint,
    pub memh: uct_mem_h,
    pub comp: *mut uct_completion_t,
}

#[repr(C)]
pub struct uct_md_mkey_pack_params {
    pub field_mask: u64,
    pub flags: c_uint,
}

#[repr(C)]
pub struct uct_md_mem_attach_params {
    pub field_mask: u64,
    pub flags: u64,
    pub mkey_size: usize,
}

#[repr(C)]
pub struct uct_iface_is_reachable_params {
    pub field_mask: u64,
    pub device_addr: *const uct_device_addr_t,
    pub iface_addr: *const uct_iface_addr_t,
    pub info_string: *mut c_char,
    pub info_string_length: usize,
    pub scope: uct_iface_reachability_scope_t,
    pub device_addr_length: usize,
    pub iface_addr_length: usize,
}

#[repr(C)]
pub struct uct_ep_is_connected_params {
    pub field_mask: u64,
    pub device_addr: *const uct_device_addr_t,
    pub iface_addr: *const uct_iface_addr_t,
    pub ep_addr: *const uct_ep_addr_t,
}

#[repr(C)]
pub struct uct_ep_connect_to_ep_params {
    pub field_mask: u64,
    pub device_addr_length: usize,
    pub ep_addr_length: usize,
}

#[repr(C)]
pub struct uct_ep_invalidate_params_t {
    pub field_mask: u64,
}

#[repr(C)]
pub struct uct_rkey_compare_params {
    pub field_mask: u64,
}

#[repr(C)]
pub struct uct_rkey_unpack_params {
    /// Mask of `uct_rkey_unpack_field_mask_t`: which of the fields below are valid.
    pub field_mask: u64,
    /// Device that will access the memory through the key.
    pub sys_device: ucs_sys_device_t,
    /// Mask of `uct_rkey_unpack_flags_t`.
    pub flags: u64,
}

/// What a memory domain knows about memory.
#[repr(C)]
pub struct uct_md_mem_attr_v2 {
    pub field_mask: u64,
    pub mem_type: ucs_memory_type_t,
    pub sys_dev: ucs_sys_device_t,
    pub base_address: *mut c_void,
    pub alloc_length: usize,
    pub dmabuf_fd: c_int,
    pub dmabuf_offset: usize,
    pub mem_flags: u8,
}

/// What a memory domain can do.
#[repr(C)]
pub struct uct_md_attr_v2_t {
    pub field_mask: u64,
    pub max_alloc: u64,
    pub max_reg: usize,
    pub flags: u64,
    pub reg_mem_types: u64,
    pub reg_nonblock_mem_types: u64,
    pub cache_mem_types: u64,
    pub gva_mem_types: u64,
    pub detect_mem_types: u64,
    pub alloc_mem_types: u64,
    pub access_mem_types: u64,
    pub dmabuf_mem_types: u64,
    pub reg_cost: ucs_linear_func_t,
    pub component_name: [c_char; 16],
    pub rkey_packed_size: usize,
    pub local_cpus: ucs_cpu_set_t,
    pub exported_mkey_packed_size: usize,
    pub global_id: [c_char; 256],
    pub reg_alignment: usize,
    pub required_mem_flags: u8,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_iface_attr_v2_cap {
    pub flags: u64,
}

/// Further attributes of an interface.
#[repr(C)]
pub struct uct_iface_attr_v2_t {
    pub field_mask: u64,
    pub max_put_sgl_zcopy_count: usize,
    pub cap: uct_iface_attr_v2_cap,
    pub tx_token_length: usize,
    pub rx_token_length: usize,
    pub tx_token: *const c_void,
    pub rx_token: *mut c_void,
}
