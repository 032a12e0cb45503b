//! `ucm/api/ucm.h`.

use super::dispatch::{HANDLERS, Handler, around, mapped, probe, unmapped};
use crate::abi::prelude::*;
use crate::ucm::events;

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

/// Sets the options of memory events, before the first handler is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_set_global_opts(ucm_opts: *const ucm_global_config_t) {
    let _ = ucm_opts;
}

/// Calls `cb` for the given events (mask of `ucm_event_type_t`), in the order of priorities, lowest
/// first.
///
/// Returns `UCS_OK`, or `UCS_ERR_UNSUPPORTED` if an event can't be intercepted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_set_event_handler(
    events: c_int,
    priority: c_int,
    cb: ucm_event_callback_t,
    arg: *mut c_void,
) -> ucs_status_t {
    let Some(cb) = cb else {
        return Error::InvalidParam.into();
    };
    HANDLERS
        .add(events.cast_unsigned(), priority, Handler { cb, arg })
        .into()
}

/// Takes back what `ucm_set_event_handler` did with the same arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_unset_event_handler(
    events: c_int,
    cb: ucm_event_callback_t,
    arg: *mut c_void,
) {
    if let Some(cb) = cb {
        HANDLERS.remove(events.cast_unsigned(), Handler { cb, arg });
    }
}

/// Says that the program itself reports these events, by `ucm_vm_mmap` and `ucm_vm_munmap`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_set_external_event(events: c_int) {
    HANDLERS.set_external(events.cast_unsigned());
}

/// Takes back `ucm_set_external_event`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_unset_external_event(events: c_int) {
    HANDLERS.unset_external(events.cast_unsigned());
}

/// Tests whether the given events are seen.
///
/// Returns `UCS_OK`, or `UCS_ERR_UNSUPPORTED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_test_events(events: c_int) -> ucs_status_t {
    // Nothing is installed, so only what others report can be seen.
    // SAFETY: takes no pointers.
    unsafe { ucm_test_external_events(events) }
}

/// Tests whether the given events are reported by the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_test_external_events(events: c_int) -> ucs_status_t {
    let wanted = events.cast_unsigned() & !events::FLAGS;
    if wanted & !HANDLERS.external() != 0 {
        return Error::Unsupported.into();
    }
    let testable = wanted & (events::VM_MAPPED | events::VM_UNMAPPED);
    match probe(testable) == testable {
        true => Status::OK,
        false => Error::Unsupported.into(),
    }
}

/// `mmap` without an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_orig_mmap(
    addr: *mut c_void,
    length: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    // SAFETY: the caller asked for this very system call and answers for the range.
    unsafe { libc::mmap(addr, length, prot, flags, fd, offset) }
}

/// `munmap` without an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_orig_munmap(addr: *mut c_void, length: usize) -> c_int {
    // SAFETY: the caller asked for this very system call and answers for the range.
    unsafe { libc::munmap(addr, length) }
}

/// `mremap` without an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_orig_mremap(
    old_address: *mut c_void,
    old_size: usize,
    new_size: usize,
    flags: c_int,
    new_address: *mut c_void,
) -> *mut c_void {
    // SAFETY: the caller asked for this very system call and answers for the range.
    unsafe { libc::mremap(old_address, old_size, new_size, flags, new_address) }
}

/// `shmat` without an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_orig_shmat(
    shmid: c_int,
    shmaddr: *const c_void,
    shmflg: c_int,
) -> *mut c_void {
    // SAFETY: the caller asked for this very system call and answers for the range.
    unsafe { libc::shmat(shmid, shmaddr, shmflg) }
}

/// `shmdt` without an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_orig_shmdt(shmaddr: *const c_void) -> c_int {
    // SAFETY: the caller asked for this very system call and answers for the range.
    unsafe { libc::shmdt(shmaddr) }
}

/// `sbrk` without an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_orig_sbrk(increment: isize) -> *mut c_void {
    // SAFETY: the caller asked for this very system call and answers for the heap.
    unsafe { libc::sbrk(increment as libc::intptr_t) }
}

/// `brk` without an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_orig_brk(addr: *mut c_void) -> c_int {
    // SAFETY: the caller asked for this very system call and answers for the heap.
    unsafe { libc::brk(addr) }
}

/// `madvise` without an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_orig_madvise(
    addr: *mut c_void,
    length: usize,
    advice: c_int,
) -> c_int {
    // SAFETY: the caller asked for this very system call and answers for the range.
    unsafe { libc::madvise(addr, length, advice) }
}

/// `mmap`, with its event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_mmap(
    addr: *mut c_void,
    length: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    if flags & libc::MAP_FIXED != 0 {
        unmapped(addr, length);
    }
    let call = ucm_event_mmap {
        result: libc::MAP_FAILED,
        address: addr,
        size: length,
        prot,
        flags,
        fd,
        offset,
    };
    let mut event = ucm_event { mmap: call };
    // SAFETY: the caller's own arguments, passed on; the member written above is the one read.
    around(events::MMAP, &mut event, |event| unsafe {
        let call = &mut event.mmap;
        if call.result == libc::MAP_FAILED {
            call.result = ucm_orig_mmap(
                call.address,
                call.size,
                call.prot,
                call.flags,
                call.fd,
                call.offset,
            );
        }
    });
    // SAFETY: as above.
    let result = unsafe { event.mmap.result };
    if result != libc::MAP_FAILED {
        mapped(result, length);
    }
    result
}

/// `munmap`, with its event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_munmap(addr: *mut c_void, length: usize) -> c_int {
    unmapped(addr, length);
    let call = ucm_event_munmap {
        result: -1,
        address: addr,
        size: length,
    };
    let mut event = ucm_event { munmap: call };
    // SAFETY: the caller's own arguments, passed on; the member written above is the one read.
    around(events::MUNMAP, &mut event, |event| unsafe {
        let call = &mut event.munmap;
        if call.result == -1 {
            call.result = ucm_orig_munmap(call.address, call.size);
        }
    });
    // SAFETY: as above.
    unsafe { event.munmap.result }
}

/// Reports that memory was mapped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_vm_mmap(addr: *mut c_void, length: usize) {
    mapped(addr, length);
}

/// Reports that memory is about to be unmapped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_vm_munmap(addr: *mut c_void, length: usize) {
    unmapped(addr, length);
}

/// `shmat`, with its event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_shmat(
    shmid: c_int,
    shmaddr: *const c_void,
    shmflg: c_int,
) -> *mut c_void {
    let call = ucm_event_shmat {
        result: libc::MAP_FAILED,
        shmid,
        shmaddr,
        shmflg,
    };
    let mut event = ucm_event { shmat: call };
    // SAFETY: the caller's own arguments, passed on; the member written above is the one read.
    around(events::SHMAT, &mut event, |event| unsafe {
        let call = &mut event.shmat;
        if call.result == libc::MAP_FAILED {
            call.result = ucm_orig_shmat(call.shmid, call.shmaddr, call.shmflg);
        }
    });
    // SAFETY: as above.
    let result = unsafe { event.shmat.result };
    if result != libc::MAP_FAILED {
        mapped(result, segment_size(shmid));
    }
    result
}

/// `shmdt`, with its event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_shmdt(shmaddr: *const c_void) -> c_int {
    let call = ucm_event_shmdt {
        result: -1,
        shmaddr,
    };
    let mut event = ucm_event { shmdt: call };
    // How much goes is not known here; a range of one byte says where.
    unmapped(shmaddr.cast_mut(), 1);
    // SAFETY: the caller's own arguments, passed on; the member written above is the one read.
    around(events::SHMDT, &mut event, |event| unsafe {
        let call = &mut event.shmdt;
        if call.result == -1 {
            call.result = ucm_orig_shmdt(call.shmaddr);
        }
    });
    // SAFETY: as above.
    unsafe { event.shmdt.result }
}

/// `sbrk`, with its event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_sbrk(increment: isize) -> *mut c_void {
    // SAFETY: asks for the present end of the heap.
    let end = unsafe { ucm_orig_sbrk(0) };
    if increment < 0 {
        unmapped(end.wrapping_offset(increment), increment.unsigned_abs());
    }
    let mut event = ucm_event {
        sbrk: ucm_event_sbrk {
            result: libc::MAP_FAILED,
            increment,
        },
    };
    // SAFETY: the caller's own arguments, passed on; the member written above is the one read.
    around(events::SBRK, &mut event, |event| unsafe {
        let call = &mut event.sbrk;
        if call.result == libc::MAP_FAILED {
            call.result = ucm_orig_sbrk(call.increment);
        }
    });
    // SAFETY: as above.
    let result = unsafe { event.sbrk.result };
    if increment > 0 && result != libc::MAP_FAILED {
        mapped(result, increment.unsigned_abs());
    }
    result
}

/// `brk`, with its event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_brk(addr: *mut c_void) -> c_int {
    // SAFETY: asks for the present end of the heap.
    let end = unsafe { ucm_orig_sbrk(0) };
    let (old, new) = (end as usize, addr as usize);
    if new < old && new != 0 {
        unmapped(addr, old - new);
    }
    let mut event = ucm_event {
        brk: ucm_event_brk { result: -1, addr },
    };
    // SAFETY: the caller's own arguments, passed on; the member written above is the one read.
    around(events::BRK, &mut event, |event| unsafe {
        let call = &mut event.brk;
        if call.result == -1 {
            call.result = ucm_orig_brk(call.addr);
        }
    });
    // SAFETY: as above.
    let result = unsafe { event.brk.result };
    if new > old && result != -1 {
        mapped(end, new - old);
    }
    result
}

/// `madvise`, with its event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_madvise(addr: *mut c_void, length: usize, advice: c_int) -> c_int {
    if advice == libc::MADV_DONTNEED || advice == libc::MADV_REMOVE || advice == libc::MADV_FREE {
        unmapped(addr, length);
    }
    let mut event = ucm_event {
        madvise: ucm_event_madvise {
            result: -1,
            addr,
            length,
            advice,
        },
    };
    // SAFETY: the caller's own arguments, passed on; the member written above is the one read.
    around(events::MADVISE, &mut event, |event| unsafe {
        let call = &mut event.madvise;
        if call.result == -1 {
            call.result = ucm_orig_madvise(call.addr, call.length, call.advice);
        }
    });
    // SAFETY: as above.
    unsafe { event.madvise.result }
}

/// `dlopen`, with events of the library that is loaded.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_dlopen(filename: *const c_char, flag: c_int) -> *mut c_void {
    // SAFETY: the caller's own arguments, passed on.
    unsafe { libc::dlopen(filename, flag) }
}

/// Bytes of a System V segment, 0 where it can't be asked.
fn segment_size(shmid: c_int) -> usize {
    // SAFETY: zero is a value of this plain struct, and it is writable.
    unsafe {
        let mut info: libc::shmid_ds = core::mem::zeroed();
        match libc::shmctl(shmid, libc::IPC_STAT, &mut info) {
            0 => info.shm_segsz,
            _ => 0,
        }
    }
}

// Variadic: the bodies are in C (see `variadic.c`), only declared here.
unsafe extern "C" {
    /// `mremap`, with its event.
    pub fn ucm_mremap(
        old_address: *mut c_void,
        old_size: usize,
        new_size: usize,
        flags: c_int,
        ...
    ) -> *mut c_void;
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn add_size(_: ucm_event_type_t, event: *mut ucm_event_t, arg: *mut c_void) {
        // SAFETY: an event of a range, and the sum of the test below.
        unsafe { *arg.cast::<usize>() += (*event).vm_unmapped.size };
    }

    #[test]
    fn what_others_report_reaches_handlers() {
        let mut sum = 0usize;
        let arg: *mut c_void = (&raw mut sum).cast();
        let unmapped = UCM_EVENT_VM_UNMAPPED as c_int;
        // SAFETY: the sum outlives the handler; the page is ours.
        unsafe {
            let set = ucm_set_event_handler;
            assert_eq!(
                set(unmapped, 0, Some(add_size), arg),
                Error::Unsupported.into()
            );
            assert_eq!(ucm_test_events(unmapped), Error::Unsupported.into());
            ucm_set_external_event(unmapped);
            assert_eq!(set(unmapped, 0, Some(add_size), arg), Status::OK);
            ucm_vm_munmap(arg, 100);
            let page = ucm_mmap(
                core::ptr::null_mut(),
                4096,
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(page, libc::MAP_FAILED);
            assert_eq!(ucm_munmap(page, 4096), 0);
            assert_eq!(sum, 4196);
            // Nobody hooks munmap here, so a test of that must say so.
            assert_eq!(
                ucm_test_external_events(unmapped),
                Error::Unsupported.into()
            );
            ucm_unset_event_handler(unmapped, Some(add_size), arg);
            ucm_vm_munmap(arg, 100);
            ucm_unset_external_event(unmapped);
        }
        assert_eq!(sum, 4196);
    }
}
