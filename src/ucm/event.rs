//! Arguments and results of the calls behind events, laid out as `ucm_event_t`.

use core::ffi::{c_int, c_void};

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Mmap {
    /// `MAP_FAILED` until somebody has made the call.
    pub result: *mut c_void,
    pub address: *mut c_void,
    /// Bytes.
    pub size: usize,
    pub prot: c_int,
    pub flags: c_int,
    pub fd: c_int,
    pub offset: libc::off_t,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Munmap {
    /// -1 until somebody has made the call.
    pub result: c_int,
    pub address: *mut c_void,
    /// Bytes.
    pub size: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Mremap {
    /// `MAP_FAILED` until somebody has made the call.
    pub result: *mut c_void,
    pub address: *mut c_void,
    /// Bytes.
    pub old_size: usize,
    /// Bytes.
    pub new_size: usize,
    pub flags: c_int,
    /// NULL unless the flags ask for an address.
    pub new_address: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Shmat {
    /// `MAP_FAILED` until somebody has made the call.
    pub result: *mut c_void,
    pub shmid: c_int,
    pub shmaddr: *const c_void,
    pub shmflg: c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Shmdt {
    /// -1 until somebody has made the call.
    pub result: c_int,
    pub shmaddr: *const c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Sbrk {
    /// `MAP_FAILED` until somebody has made the call.
    pub result: *mut c_void,
    /// Bytes.
    pub increment: isize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Madvise {
    /// -1 until somebody has made the call.
    pub result: c_int,
    pub addr: *mut c_void,
    /// Bytes.
    pub length: usize,
    pub advice: c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Brk {
    /// -1 until somebody has made the call.
    pub result: c_int,
    pub addr: *mut c_void,
}

/// A range that was mapped, or is about to be unmapped.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Range {
    pub address: *mut c_void,
    /// Bytes.
    pub size: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct MemType {
    pub address: *mut c_void,
    /// Bytes.
    pub size: usize,
    pub mem_type: u32,
    pub sys_dev: u8,
    pub mem_flags: u8,
}

/// What an event is about; the event's bit tells which member holds it.
#[repr(C)]
#[derive(Clone, Copy)]
pub union Event {
    pub mmap: Mmap,
    pub munmap: Munmap,
    pub mremap: Mremap,
    pub shmat: Shmat,
    pub shmdt: Shmdt,
    pub sbrk: Sbrk,
    pub madvise: Madvise,
    pub brk: Brk,
    /// Of `VM_MAPPED` and of `VM_UNMAPPED`.
    pub range: Range,
    pub mem_type: MemType,
}
