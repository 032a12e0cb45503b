//! `ucs/memory/numa.h`.

use crate::abi::prelude::*;

pub const UCS_NUMA_NODE_DEFAULT: i32 = 0;
pub const UCS_NUMA_NODE_UNDEFINED: i32 = -1;

pub type ucs_numa_distance_t = c_int;
pub type ucs_numa_node_t = i16;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_numa_init() {}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_numa_cleanup() {}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_numa_num_configured_cpus() -> c_uint {
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_numa_num_configured_nodes() -> c_uint {
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_numa_node_of_cpu(cpu: c_int) -> ucs_numa_node_t {
    let _ = cpu;
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_numa_node_of_device(dev_path: *const c_char) -> ucs_numa_node_t {
    let _ = dev_path;
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_numa_distance(
    node1: ucs_numa_node_t,
    node2: ucs_numa_node_t,
) -> ucs_numa_distance_t {
    let _ = (node1, node2);
    0
}
