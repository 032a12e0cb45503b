//! Events as bits, with the values of `ucm_event_type_t`.

pub const MMAP: u32 = 1 << 0;
pub const MUNMAP: u32 = 1 << 1;
pub const MREMAP: u32 = 1 << 2;
pub const SHMAT: u32 = 1 << 3;
pub const SHMDT: u32 = 1 << 4;
pub const SBRK: u32 = 1 << 5;
pub const MADVISE: u32 = 1 << 6;
pub const BRK: u32 = 1 << 7;
/// Some range has been mapped, by whichever call.
pub const VM_MAPPED: u32 = 1 << 16;
/// Some range is about to be unmapped, by whichever call.
pub const VM_UNMAPPED: u32 = 1 << 17;
pub const MEM_TYPE_ALLOC: u32 = 1 << 20;
pub const MEM_TYPE_FREE: u32 = 1 << 21;
/// Register only, install nothing.
pub const FLAG_NO_INSTALL: u32 = 1 << 24;
/// Report allocations that exist already.
pub const FLAG_EXISTING_ALLOC: u32 = 1 << 25;

/// The flags among the bits.
pub const FLAGS: u32 = FLAG_NO_INSTALL | FLAG_EXISTING_ALLOC;

/// Memory of devices.
pub const DEVICE: u32 = MEM_TYPE_ALLOC | MEM_TYPE_FREE;

/// All bits with a meaning.
pub const ALL: u32 = MMAP
    | MUNMAP
    | MREMAP
    | SHMAT
    | SHMDT
    | SBRK
    | MADVISE
    | BRK
    | VM_MAPPED
    | VM_UNMAPPED
    | DEVICE
    | FLAGS;

/// The calls that must be watched to know of these events, together with the events themselves.
pub const fn with_calls(events: u32) -> u32 {
    let mut all = events & !DEVICE & !FLAGS;
    if events & VM_MAPPED != 0 {
        all |= MMAP | MREMAP | SHMAT | SBRK | BRK;
    }
    if events & VM_UNMAPPED != 0 {
        all |= MMAP | MUNMAP | MREMAP | SHMAT | SHMDT | SBRK | MADVISE | BRK;
    }
    all
}
