//! Entry points of `ucm/api/ucm.h`: calls with their events.

use crate::abi::prelude::*;
use crate::ucm::calls;

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
    // SAFETY: the caller asked for this very call and answers for the range.
    unsafe { calls::mmap(addr, length, prot, flags, fd, offset) }
}

/// `munmap`, with its event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_munmap(addr: *mut c_void, length: usize) -> c_int {
    // SAFETY: the caller asked for this very call and answers for the range.
    unsafe { calls::munmap(addr, length) }
}

/// `shmat`, with its event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_shmat(
    shmid: c_int,
    shmaddr: *const c_void,
    shmflg: c_int,
) -> *mut c_void {
    // SAFETY: the caller asked for this very call and answers for the range.
    unsafe { calls::shmat(shmid, shmaddr, shmflg) }
}

/// `shmdt`, with its event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_shmdt(shmaddr: *const c_void) -> c_int {
    // SAFETY: the caller asked for this very call and answers for the range.
    unsafe { calls::shmdt(shmaddr) }
}

/// `sbrk`, with its event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_sbrk(increment: isize) -> *mut c_void {
    // SAFETY: the caller asked for this very call and answers for the heap.
    unsafe { calls::sbrk(increment) }
}

/// `brk`, with its event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_brk(addr: *mut c_void) -> c_int {
    // SAFETY: the caller asked for this very call and answers for the heap.
    unsafe { calls::brk(addr) }
}

/// `madvise`, with its event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_madvise(addr: *mut c_void, length: usize, advice: c_int) -> c_int {
    // SAFETY: the caller asked for this very call and answers for the range.
    unsafe { calls::madvise(addr, length, advice) }
}

/// `dlopen`. Libraries loaded by it are watched as all others are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_dlopen(filename: *const c_char, flag: c_int) -> *mut c_void {
    // SAFETY: the caller's own arguments, passed on.
    unsafe { libc::dlopen(filename, flag) }
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
