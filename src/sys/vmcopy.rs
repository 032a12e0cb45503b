//! Copies between the memories of two processes by one call into the kernel (CMA).

use std::io;

/// A piece of memory, here or there. Nothing is dereferenced by us: the kernel checks addresses.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub address: u64,
    pub len: usize,
}

/// Which way bytes go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the other process to ours.
    Read,
    Write,
}

/// Most pieces in one call.
pub const MAX_PIECES: usize = 64;

/// Most bytes that the kernel copies in one call.
pub const MAX_LEN: usize = 0x7fff_f000;

/// Copies between `local` and the memory of process `pid` from `remote` on; returns the bytes
/// copied, which can be fewer than asked for. At most [`MAX_PIECES`] pieces are used.
///
/// # Safety
/// With [`Direction::Read`] the local pieces must be memory that may be overwritten. (Where it is
/// not mapped the call fails, but memory of others would be garbled.)
pub unsafe fn copy(
    direction: Direction,
    pid: u32,
    local: &[Piece],
    remote: u64,
) -> io::Result<usize> {
    let empty = libc::iovec {
        iov_base: core::ptr::null_mut(),
        iov_len: 0,
    };
    let mut here = [empty; MAX_PIECES];
    let (mut count, mut total) = (0, 0usize);
    for (to, piece) in here.iter_mut().zip(local) {
        to.iov_base = piece.address as *mut libc::c_void;
        to.iov_len = piece.len;
        total = total.saturating_add(piece.len);
        count += 1;
    }
    let there = libc::iovec {
        iov_base: remote as *mut libc::c_void,
        iov_len: total.min(MAX_LEN),
    };
    let (pid, here) = (pid as libc::pid_t, here.as_ptr());
    // SAFETY: both vectors live for the call and have the given lengths; what may be written is
    // the caller's promise.
    let copied = unsafe {
        match direction {
            Direction::Read => libc::process_vm_readv(pid, here, count, &there, 1, 0),
            Direction::Write => libc::process_vm_writev(pid, here, count, &there, 1, 0),
        }
    };
    usize::try_from(copied).map_err(|_| io::Error::last_os_error())
}

/// Whether the kernel lets us into the memory of process `pid`.
///
/// # Errors
/// `EPERM` if it doesn't, `ENOSYS` if it can't at all, `ESRCH` if there is no such process.
pub fn probe(pid: u32) -> io::Result<()> {
    let mut byte = 0u8;
    let local = Piece {
        address: &raw mut byte as u64,
        len: 1,
    };
    // The first page is never mapped. Permission is checked before addresses are.
    // SAFETY: `byte` may be overwritten.
    match unsafe { copy(Direction::Read, pid, &[local], 0) } {
        Err(error) if error.raw_os_error() != Some(libc::EFAULT) => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes() {
        probe(std::process::id()).expect("own memory");
        let error = probe(0x3fff_ffff).expect_err("no such process");
        assert_eq!(error.raw_os_error(), Some(libc::ESRCH));
    }
}
