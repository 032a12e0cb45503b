//! Types of memory, and which addresses are of which.
#![forbid(unsafe_code)]

pub mod cache;

/// `ucs_memory_type_t`. Any number may come from C or from a peer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MemoryType(pub u8);

impl MemoryType {
    pub const HOST: MemoryType = MemoryType(0);
    pub const CUDA: MemoryType = MemoryType(1);
    pub const CUDA_MANAGED: MemoryType = MemoryType(2);
    /// Not known, or not said.
    pub const UNKNOWN: MemoryType = MemoryType(10);

    /// From a number of C's.
    pub const fn of(value: u32) -> MemoryType {
        if value < MemoryType::UNKNOWN.0 as u32 {
            MemoryType(value as u8)
        } else {
            MemoryType::UNKNOWN
        }
    }

    pub const fn is_host(self) -> bool {
        self.0 == MemoryType::HOST.0
    }

    pub const fn is_cuda(self) -> bool {
        matches!(self, MemoryType::CUDA | MemoryType::CUDA_MANAGED)
    }

    /// In masks of types.
    pub const fn bit(self) -> u64 {
        1 << self.0
    }
}
