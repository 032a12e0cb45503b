//! `ucs/memory/numa.h`.

use crate::abi::prelude::*;
use crate::ucs::numa;

pub const UCS_NUMA_NODE_DEFAULT: i32 = 0;
pub const UCS_NUMA_NODE_UNDEFINED: i32 = -1;

pub type ucs_numa_distance_t = c_int;
pub type ucs_numa_node_t = i16;

/// Prepares what follows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_numa_init() {}

/// Frees what `ucs_numa_init` made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_numa_cleanup() {}

/// Number of processors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_numa_num_configured_cpus() -> c_uint {
    crate::sys::process::num_cpus().try_into().unwrap_or(1)
}

/// Number of memory nodes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_numa_num_configured_nodes() -> c_uint {
    numa::nodes()
}

/// Memory node of a processor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_numa_node_of_cpu(cpu: c_int) -> ucs_numa_node_t {
    numa::node_of_cpu(cpu)
}

/// Memory node of a device, by its folder in sysfs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_numa_node_of_device(dev_path: *const c_char) -> ucs_numa_node_t {
    // SAFETY: a C string or NULL.
    numa::node_of_device(&unsafe { crate::abi::ucs::text::read(dev_path) })
}

/// Distance of two memory nodes, as the system gives it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_numa_distance(
    node1: ucs_numa_node_t,
    node2: ucs_numa_node_t,
) -> ucs_numa_distance_t {
    numa::distance(node1, node2)
}
