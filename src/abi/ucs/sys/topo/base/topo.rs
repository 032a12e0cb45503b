//! `ucs/sys/topo/base/topo.h`.

use crate::abi::prelude::*;

pub const UCS_SYS_DEVICE_ID_MAX: i32 = 255;
pub const UCS_SYS_DEVICE_ID_UNKNOWN: i32 = 255;
pub const UCS_SYS_DEVICE_USER_VALUE_EMPTY: u64 = 0xffffffffffffffff;
pub const UCS_SYS_BDF_NAME_MAX: i32 = 16;

pub struct ucs_global_state {
    _opaque: [u8; 0],
}

pub type ucs_sys_bus_id_t = ucs_sys_bus_id;
pub type ucs_bus_id_bit_rep_t = i64;
pub type ucs_sys_device_t = u8;
pub type ucs_global_state_t = ucs_global_state;
pub type ucs_sys_dev_distance_t = ucs_sys_dev_distance;
pub type ucs_topo_get_distance_func_t = Option<
    unsafe extern "C" fn(
        device1: ucs_sys_device_t,
        device2: ucs_sys_device_t,
        distance: *mut ucs_sys_dev_distance_t,
    ) -> ucs_status_t,
>;
pub type ucs_topo_get_memory_distance_func_t =
    Option<unsafe extern "C" fn(device: ucs_sys_device_t, distance: *mut ucs_sys_dev_distance_t)>;
pub type ucs_topo_get_memory_distance_for_cpuset_func_t = Option<
    unsafe extern "C" fn(
        device: ucs_sys_device_t,
        cpuset: *const ucs_cpu_set_t,
        distance: *mut ucs_sys_dev_distance_t,
    ),
>;
pub type ucs_sys_topo_ops_t = ucs_sys_topo_ops;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_sys_bus_id {
    pub domain: u16,
    pub bus: u8,
    pub slot: u8,
    pub function: u8,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_sys_dev_distance {
    pub latency: f64,
    pub bandwidth: f64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_sys_topo_ops {
    pub get_distance: ucs_topo_get_distance_func_t,
    pub get_memory_distance: ucs_topo_get_memory_distance_func_t,
    pub get_memory_distance_for_cpuset: ucs_topo_get_memory_distance_for_cpuset_func_t,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sys_topo_reset_provider() {}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sys_topo_provider_push(
    ops: *const ucs_sys_topo_ops_t,
) -> ucs_status_t {
    let _ = ops;
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sys_topo_provider_pop() {}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_find_device_by_bus_id(
    bus_id: *const ucs_sys_bus_id_t,
    sys_dev: *mut ucs_sys_device_t,
) -> ucs_status_t {
    let _ = (bus_id, sys_dev);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_find_device_by_bus_id_and_user_value(
    bus_id: *const ucs_sys_bus_id_t,
    user_value: usize,
    sys_dev_p: *mut ucs_sys_device_t,
) -> ucs_status_t {
    let _ = (bus_id, user_value, sys_dev_p);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_get_device_bus_id(
    sys_dev: ucs_sys_device_t,
    bus_id: *mut ucs_sys_bus_id_t,
) -> ucs_status_t {
    let _ = (sys_dev, bus_id);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_get_bus_id_bit_repr(
    bus_id: *const ucs_sys_bus_id_t,
) -> ucs_bus_id_bit_rep_t {
    let _ = bus_id;
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_get_distance(
    device1: ucs_sys_device_t,
    device2: ucs_sys_device_t,
    distance: *mut ucs_sys_dev_distance_t,
) -> ucs_status_t {
    let _ = (device1, device2, distance);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_get_memory_distance(
    device: ucs_sys_device_t,
    distance: *mut ucs_sys_dev_distance_t,
) {
    let _ = (device, distance);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_get_memory_distance_for_cpuset(
    device: ucs_sys_device_t,
    cpuset: *const ucs_cpu_set_t,
    distance: *mut ucs_sys_dev_distance_t,
) {
    let _ = (device, cpuset, distance);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_distance_str(
    distance: *const ucs_sys_dev_distance_t,
    buffer: *mut c_char,
    max: usize,
) -> *const c_char {
    let _ = (distance, buffer, max);
    core::ptr::null()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_distance_cmp(
    distance1: *const ucs_sys_dev_distance_t,
    distance2: *const ucs_sys_dev_distance_t,
) -> c_int {
    let _ = (distance1, distance2);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_get_sysfs_dev(
    dev_name: *const c_char,
    sysfs_path: *const c_char,
    name_priority: c_uint,
) -> ucs_sys_device_t {
    let _ = (dev_name, sysfs_path, name_priority);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_sys_device_bdf_name(
    sys_dev: ucs_sys_device_t,
    buffer: *mut c_char,
    max: usize,
) -> *const c_char {
    let _ = (sys_dev, buffer, max);
    core::ptr::null()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_find_device_by_bdf_name(
    name: *const c_char,
    sys_dev: *mut ucs_sys_device_t,
) -> ucs_status_t {
    let _ = (name, sys_dev);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_sys_device_set_name(
    sys_dev: ucs_sys_device_t,
    name: *const c_char,
    priority: c_uint,
) -> ucs_status_t {
    let _ = (sys_dev, name, priority);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_get_pci_bw(
    dev_name: *const c_char,
    sysfs_path: *const c_char,
) -> f64 {
    let _ = (dev_name, sysfs_path);
    0.0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_resolve_sysfs_path(
    dev_path: *const c_char,
    path_buffer: *mut c_char,
) -> *const c_char {
    let _ = (dev_path, path_buffer);
    core::ptr::null()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_sys_device_get_name(sys_dev: ucs_sys_device_t) -> *const c_char {
    let _ = sys_dev;
    core::ptr::null()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_sys_device_get_numa_node(
    sys_dev: ucs_sys_device_t,
) -> ucs_numa_node_t {
    let _ = sys_dev;
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_sys_device_set_numa_node(
    sys_dev: ucs_sys_device_t,
    numa_node: ucs_numa_node_t,
) -> ucs_status_t {
    let _ = (sys_dev, numa_node);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_sys_device_get_user_value(sys_dev: ucs_sys_device_t) -> usize {
    let _ = sys_dev;
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_sys_device_set_sys_dev_aux(
    sys_dev: ucs_sys_device_t,
    sys_dev_aux: ucs_sys_device_t,
) -> ucs_status_t {
    let _ = (sys_dev, sys_dev_aux);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_sys_device_enable_aux_path(
    sys_dev: ucs_sys_device_t,
) -> ucs_status_t {
    let _ = sys_dev;
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_is_reachable(
    sys_dev: ucs_sys_device_t,
    sys_dev_mem: ucs_sys_device_t,
) -> c_int {
    let _ = (sys_dev, sys_dev_mem);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_is_sibling(
    sys_dev: ucs_sys_device_t,
    sys_dev_mem: ucs_sys_device_t,
) -> c_int {
    let _ = (sys_dev, sys_dev_mem);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_device_has_sibling(sys_dev: ucs_sys_device_t) -> c_int {
    let _ = sys_dev;
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_num_devices() -> c_uint {
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_print_info(stream: *mut FILE) {
    let _ = stream;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_extract_state() -> *mut ucs_global_state_t {
    core::ptr::null_mut()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_restore_state(state: *mut ucs_global_state_t) {
    let _ = state;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_init() {}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_cleanup() {}
