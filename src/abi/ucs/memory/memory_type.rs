//! `ucs/memory/memory_type.h`.

pub const UCS_MEMORY_TYPES_CPU_ACCESSIBLE: u64 = 337;

/// Types of memory.
pub type ucs_memory_type = u32;
/// Memory of the system.
pub const UCS_MEMORY_TYPE_HOST: ucs_memory_type = 0;
/// Memory of an NVIDIA GPU.
pub const UCS_MEMORY_TYPE_CUDA: ucs_memory_type = 1;
/// Memory that moves between an NVIDIA GPU and the host.
pub const UCS_MEMORY_TYPE_CUDA_MANAGED: ucs_memory_type = 2;
/// Memory of an AMD GPU.
pub const UCS_MEMORY_TYPE_ROCM: ucs_memory_type = 3;
/// Memory that moves between an AMD GPU and the host.
pub const UCS_MEMORY_TYPE_ROCM_MANAGED: ucs_memory_type = 4;
/// Memory of a network device.
pub const UCS_MEMORY_TYPE_RDMA: ucs_memory_type = 5;
pub const UCS_MEMORY_TYPE_ZE_HOST: ucs_memory_type = 6;
pub const UCS_MEMORY_TYPE_ZE_DEVICE: ucs_memory_type = 7;
pub const UCS_MEMORY_TYPE_ZE_MANAGED: ucs_memory_type = 8;
pub const UCS_MEMORY_TYPE_GAUDI: ucs_memory_type = 9;
pub const UCS_MEMORY_TYPE_LAST: ucs_memory_type = 10;
/// Not known: find out.
pub const UCS_MEMORY_TYPE_UNKNOWN: ucs_memory_type = 10;

pub type ucs_mem_flags = u32;
pub const UCS_MEM_FLAG_REGISTRABLE: ucs_mem_flags = 1 << 0;

pub type ucs_memory_type_t = ucs_memory_type;
pub type ucs_mem_flags_t = ucs_mem_flags;
