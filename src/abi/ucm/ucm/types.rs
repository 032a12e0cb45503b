//! Types of `ucm/api/ucm.h`.

use crate::abi::prelude::*;

/// What can happen to memory.
pub type ucm_event_type = u32;
pub const UCM_EVENT_NONE: ucm_event_type = 0;
pub const UCM_EVENT_MMAP: ucm_event_type = 1 << 0;
pub const UCM_EVENT_MUNMAP: ucm_event_type = 1 << 1;
pub const UCM_EVENT_MREMAP: ucm_event_type = 1 << 2;
pub const UCM_EVENT_SHMAT: ucm_event_type = 1 << 3;
pub const UCM_EVENT_SHMDT: ucm_event_type = 1 << 4;
pub const UCM_EVENT_SBRK: ucm_event_type = 1 << 5;
pub const UCM_EVENT_MADVISE: ucm_event_type = 1 << 6;
pub const UCM_EVENT_BRK: ucm_event_type = 1 << 7;
/// Memory was mapped, by whichever call.
pub const UCM_EVENT_VM_MAPPED: ucm_event_type = 1 << 16;
/// Memory is about to be unmapped, by whichever call.
pub const UCM_EVENT_VM_UNMAPPED: ucm_event_type = 1 << 17;
/// Memory of another type than the host's was allocated.
pub const UCM_EVENT_MEM_TYPE_ALLOC: ucm_event_type = 1 << 20;
/// Memory of another type than the host's is about to be freed.
pub const UCM_EVENT_MEM_TYPE_FREE: ucm_event_type = 1 << 21;
/// Don't intercept anything for this handler.
pub const UCM_EVENT_FLAG_NO_INSTALL: ucm_event_type = 1 << 24;
/// Report existing memory too.
pub const UCM_EVENT_FLAG_EXISTING_ALLOC: ucm_event_type = 1 << 25;

/// How calls are intercepted.
pub type ucm_mmap_hook_mode = u32;
/// Not at all.
pub const UCM_MMAP_HOOK_NONE: ucm_mmap_hook_mode = 0;
/// By the relocation tables of loaded objects.
pub const UCM_MMAP_HOOK_RELOC: ucm_mmap_hook_mode = 1;
/// By changing the code of the functions.
pub const UCM_MMAP_HOOK_BISTRO: ucm_mmap_hook_mode = 2;
pub const UCM_MMAP_HOOK_LAST: ucm_mmap_hook_mode = 3;

pub type ucm_module_unload_prevent_mode = u32;
pub const UCM_UNLOAD_PREVENT_MODE_LAZY: ucm_module_unload_prevent_mode = 0;
pub const UCM_UNLOAD_PREVENT_MODE_NOW: ucm_module_unload_prevent_mode = 1;
pub const UCM_UNLOAD_PREVENT_MODE_NONE: ucm_module_unload_prevent_mode = 2;
pub const UCM_UNLOAD_PREVENT_MODE_LAST: ucm_module_unload_prevent_mode = 3;

pub type ucm_event_type_t = ucm_event_type;
pub type ucm_mmap_hook_mode_t = ucm_mmap_hook_mode;
pub type ucm_module_unload_prevent_mode_t = ucm_module_unload_prevent_mode;
pub type ucm_event_t = ucm_event;
pub type ucm_global_config_t = ucm_global_config;
/// Called for an event.
pub type ucm_event_callback_t = Option<
    unsafe extern "C" fn(event_type: ucm_event_type_t, event: *mut ucm_event_t, arg: *mut c_void),
>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucm_event_mmap {
    pub result: *mut c_void,
    pub address: *mut c_void,
    pub size: usize,
    pub prot: c_int,
    pub flags: c_int,
    pub fd: c_int,
    pub offset: off_t,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucm_event_munmap {
    pub result: c_int,
    pub address: *mut c_void,
    pub size: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucm_event_mremap {
    pub result: *mut c_void,
    pub address: *mut c_void,
    pub old_size: usize,
    pub new_size: usize,
    pub flags: c_int,
    pub new_address: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucm_event_shmat {
    pub result: *mut c_void,
    pub shmid: c_int,
    pub shmaddr: *const c_void,
    pub shmflg: c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucm_event_shmdt {
    pub result: c_int,
    pub shmaddr: *const c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucm_event_sbrk {
    pub result: *mut c_void,
    pub increment: isize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucm_event_madvise {
    pub result: c_int,
    pub addr: *mut c_void,
    pub length: usize,
    pub advice: c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucm_event_brk {
    pub result: c_int,
    pub addr: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucm_event_vm_mapped {
    pub address: *mut c_void,
    pub size: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucm_event_mem_type {
    pub address: *mut c_void,
    pub size: usize,
    pub mem_type: ucs_memory_type_t,
    pub sys_dev: ucs_sys_device_t,
    pub mem_flags: u8,
}

/// Arguments and result of an event.
#[repr(C)]
#[derive(Clone, Copy)]
pub union ucm_event {
    pub mmap: ucm_event_mmap,
    pub munmap: ucm_event_munmap,
    pub mremap: ucm_event_mremap,
    pub shmat: ucm_event_shmat,
    pub shmdt: ucm_event_shmdt,
    pub sbrk: ucm_event_sbrk,
    pub madvise: ucm_event_madvise,
    pub brk: ucm_event_brk,
    pub vm_mapped: ucm_event_vm_mapped,
    pub vm_unmapped: ucm_event_vm_mapped,
    pub mem_type: ucm_event_mem_type,
}

/// Options of memory events.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucm_global_config {
    /// Messages above this level are dropped.
    pub log_level: ucs_log_level_t,
    /// Whether there are events at all.
    pub enable_events: c_int,
    /// How calls are intercepted.
    pub mmap_hook_mode: ucm_mmap_hook_mode_t,
    pub enable_malloc_hooks: c_int,
    pub enable_malloc_reloc: c_int,
    pub cuda_hook_modes: u64,
    pub enable_dynamic_mmap_thresh: c_int,
    /// Alignment of allocated memory in bytes.
    pub alloc_alignment: usize,
    pub dlopen_process_rpath: c_int,
    pub module_unload_prevent_mode: c_int,
    pub bistro_force_far_jump: c_int,
    pub bistro_grace_duration: f64,
}

// The layer below has its own types of the same layout, which pointers to these become.
const _: () = {
    use crate::ucm::event;
    use core::mem::offset_of;

    assert!(size_of::<ucm_event>() == size_of::<event::Event>());
    assert!(size_of::<ucm_event_mmap>() == size_of::<event::Mmap>());
    assert!(offset_of!(ucm_event_mmap, offset) == offset_of!(event::Mmap, offset));
    assert!(size_of::<ucm_event_munmap>() == size_of::<event::Munmap>());
    assert!(offset_of!(ucm_event_munmap, size) == offset_of!(event::Munmap, size));
    assert!(size_of::<ucm_event_mremap>() == size_of::<event::Mremap>());
    assert!(offset_of!(ucm_event_mremap, new_address) == offset_of!(event::Mremap, new_address));
    assert!(size_of::<ucm_event_shmat>() == size_of::<event::Shmat>());
    assert!(offset_of!(ucm_event_shmat, shmflg) == offset_of!(event::Shmat, shmflg));
    assert!(size_of::<ucm_event_shmdt>() == size_of::<event::Shmdt>());
    assert!(offset_of!(ucm_event_shmdt, shmaddr) == offset_of!(event::Shmdt, shmaddr));
    assert!(size_of::<ucm_event_sbrk>() == size_of::<event::Sbrk>());
    assert!(size_of::<ucm_event_madvise>() == size_of::<event::Madvise>());
    assert!(offset_of!(ucm_event_madvise, advice) == offset_of!(event::Madvise, advice));
    assert!(size_of::<ucm_event_brk>() == size_of::<event::Brk>());
    assert!(size_of::<ucm_event_vm_mapped>() == size_of::<event::Range>());
    assert!(size_of::<ucm_event_mem_type>() == size_of::<event::MemType>());
    assert!(offset_of!(ucm_event_mem_type, sys_dev) == offset_of!(event::MemType, sys_dev));
};
