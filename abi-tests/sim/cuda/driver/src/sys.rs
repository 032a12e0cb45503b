//! Memory mappings by bare system calls: hooks on `mmap` are for the program's memory, not for
//! what the driver does inside.

use crate::abi::{Answer, OUT_OF_MEMORY};
use std::os::fd::RawFd;

/// # Safety
/// As `mmap(2)`: a fixed `at` replaces what is mapped there.
pub unsafe fn map(
    at: u64,
    len: usize,
    prot: i32,
    flags: i32,
    fd: RawFd,
    off: usize,
) -> Answer<u64> {
    // SAFETY: the caller's promise.
    let got = unsafe { libc::syscall(libc::SYS_mmap, at, len, prot, flags, fd, off) };
    if got == -1 {
        Err(OUT_OF_MEMORY)
    } else {
        Ok(got as u64)
    }
}

/// # Safety
/// Nothing may use the range any more.
pub unsafe fn unmap(at: u64, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { libc::syscall(libc::SYS_munmap, at, len) };
}

/// The range is not there in forked children, which would keep the memory alive.
///
/// # Safety
/// The range is mapped.
pub unsafe fn not_for_children(at: u64, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { libc::syscall(libc::SYS_madvise, at, len, libc::MADV_DONTFORK) };
}
