//! Entry points of `ucm/api/ucm.h`: calls without events.

use crate::abi::prelude::*;
use crate::ucm::orig;

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
    // SAFETY: the caller asked for this very call and answers for the range.
    unsafe { orig::mmap(addr, length, prot, flags, fd, offset) }
}

/// `munmap` without an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_orig_munmap(addr: *mut c_void, length: usize) -> c_int {
    // SAFETY: the caller asked for this very call and answers for the range.
    unsafe { orig::munmap(addr, length) }
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
    // SAFETY: the caller asked for this very call and answers for the range.
    unsafe { orig::mremap(old_address, old_size, new_size, flags, new_address) }
}

/// `shmat` without an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_orig_shmat(
    shmid: c_int,
    shmaddr: *const c_void,
    shmflg: c_int,
) -> *mut c_void {
    // SAFETY: the caller asked for this very call and answers for the range.
    unsafe { orig::shmat(shmid, shmaddr, shmflg) }
}

/// `shmdt` without an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_orig_shmdt(shmaddr: *const c_void) -> c_int {
    // SAFETY: the caller asked for this very call and answers for the range.
    unsafe { orig::shmdt(shmaddr) }
}

/// `sbrk` without an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_orig_sbrk(increment: isize) -> *mut c_void {
    // SAFETY: the caller asked for this very call and answers for the heap.
    unsafe { orig::sbrk(increment) }
}

/// `brk` without an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_orig_brk(addr: *mut c_void) -> c_int {
    // SAFETY: the caller asked for this very call and answers for the heap.
    unsafe { orig::brk(addr) }
}

/// `madvise` without an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_orig_madvise(
    addr: *mut c_void,
    length: usize,
    advice: c_int,
) -> c_int {
    // SAFETY: the caller asked for this very call and answers for the range.
    unsafe { orig::madvise(addr, length, advice) }
}
