//! `ucp/api/device/ucp_host.h`.

use crate::abi::prelude::*;

/// Which fields of `ucp_device_mem_list_elem_t` are valid.
pub type ucp_device_mem_list_elem_field = u64;
pub const UCP_DEVICE_MEM_LIST_ELEM_FIELD_MEMH: ucp_device_mem_list_elem_field = 1 << 0;
pub const UCP_DEVICE_MEM_LIST_ELEM_FIELD_RKEY: ucp_device_mem_list_elem_field = 1 << 1;
pub const UCP_DEVICE_MEM_LIST_ELEM_FIELD_LOCAL_ADDR: ucp_device_mem_list_elem_field = 1 << 2;
pub const UCP_DEVICE_MEM_LIST_ELEM_FIELD_REMOTE_ADDR: ucp_device_mem_list_elem_field = 1 << 3;
pub const UCP_DEVICE_MEM_LIST_ELEM_FIELD_LENGTH: ucp_device_mem_list_elem_field = 1 << 4;
pub const UCP_DEVICE_MEM_LIST_ELEM_FIELD_EP: ucp_device_mem_list_elem_field = 1 << 5;

/// Which fields of `ucp_device_mem_list_params_t` are valid.
pub type ucp_device_mem_list_params_field = u64;
pub const UCP_DEVICE_MEM_LIST_PARAMS_FIELD_ELEMENTS: ucp_device_mem_list_params_field = 1 << 0;
pub const UCP_DEVICE_MEM_LIST_PARAMS_FIELD_ELEMENT_SIZE: ucp_device_mem_list_params_field = 1 << 1;
pub const UCP_DEVICE_MEM_LIST_PARAMS_FIELD_NUM_ELEMENTS: ucp_device_mem_list_params_field = 1 << 2;
pub const UCP_DEVICE_MEM_LIST_PARAMS_FIELD_WORKER: ucp_device_mem_list_params_field = 1 << 3;

/// Which fields of `ucp_device_counter_params_t` are valid.
pub type ucp_device_counter_params_field = u64;
pub const UCP_DEVICE_COUNTER_PARAMS_FIELD_MEM_TYPE: ucp_device_counter_params_field = 1 << 0;
pub const UCP_DEVICE_COUNTER_PARAMS_FIELD_MEMH: ucp_device_counter_params_field = 1 << 1;

pub type ucp_device_mem_list_elem_t = ucp_device_mem_list_elem;
pub type ucp_device_mem_list_params_t = ucp_device_mem_list_params;
pub type ucp_device_counter_params_t = ucp_device_counter_params;

/// One piece of memory.
#[repr(C)]
pub struct ucp_device_mem_list_elem {
    pub field_mask: u64,
    pub memh: ucp_mem_h,
    pub local_addr: *mut c_void,
    pub length: usize,
    pub remote_addr: u64,
    pub rkey: ucp_rkey_h,
    pub ep: ucp_ep_h,
}

/// Parameters of the memory list calls.
#[repr(C)]
pub struct ucp_device_mem_list_params {
    pub field_mask: u64,
    pub element_size: usize,
    pub num_elements: usize,
    pub worker: ucp_worker_h,
    pub elements: *const ucp_device_mem_list_elem_t,
}

/// Parameters of the counter calls.
#[repr(C)]
pub struct ucp_device_counter_params {
    pub field_mask: u64,
    pub mem_type: ucs_memory_type_t,
    pub memh: ucp_mem_h,
}

/// Describes local memory for communication that a device starts. To be released by
/// `ucp_device_mem_list_release`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_device_local_mem_list_create(
    params: *const ucp_device_mem_list_params_t,
    mem_list_h: *mut ucp_device_local_mem_list_h,
) -> ucs_status_t {
    let _ = (params, mem_list_h);
    NOT_IMPLEMENTED
}

/// Describes remote memory for communication that a device starts. To be released by
/// `ucp_device_mem_list_release`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_device_remote_mem_list_create(
    params: *const ucp_device_mem_list_params_t,
    mem_list_h: *mut ucp_device_remote_mem_list_h,
) -> ucs_status_t {
    let _ = (params, mem_list_h);
    NOT_IMPLEMENTED
}

/// Number of elements of a remote memory list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_device_get_mem_list_length(mem_list_h: *const c_void) -> u32 {
    let _ = mem_list_h;
    0
}

/// Releases a memory list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_device_mem_list_release(mem_list_h: *mut c_void) {
    let _ = mem_list_h;
}

/// Sets a counter that remote devices increment to its first value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_device_counter_init(
    worker: ucp_worker_h,
    params: *const ucp_device_counter_params_t,
    counter_ptr: *mut c_void,
) -> ucs_status_t {
    let _ = (worker, params, counter_ptr);
    NOT_IMPLEMENTED
}

/// Value of a counter that remote devices increment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_device_counter_read(
    worker: ucp_worker_h,
    params: *const ucp_device_counter_params_t,
    counter_ptr: *mut c_void,
) -> u64 {
    let _ = (worker, params, counter_ptr);
    0
}
