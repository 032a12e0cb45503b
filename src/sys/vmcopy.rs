//! Copies between the memories of two processes by one call into the kernel (CMA).

use std::io;

/// A piece of memory, here or there. Nothing is dereferenced by us: the kernel checks addresses.
/// In memory it is a `struct iovec`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
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

/// Pieces of the other process in one call.
const MAX_REMOTE: usize = 2;

/// Copies between `local` and `remote`, memory of process `pid`; returns the bytes copied, which
/// can be fewer than asked for: those in front. At most [`MAX_PIECES`] local pieces and one more,
/// and two of the other process are used.
///
/// # Safety
/// With [`Direction::Read`] the local pieces must be memory that may be overwritten. (Where it is
/// not mapped the call fails, but memory of others would be garbled.)
pub unsafe fn copy(
    direction: Direction,
    pid: u32,
    local: &[Piece],
    remote: &[Piece],
) -> io::Result<usize> {
    const _: () = assert!(
        size_of::<Piece>() == size_of::<libc::iovec>()
            && core::mem::offset_of!(Piece, len) == core::mem::offset_of!(libc::iovec, iov_len)
    );
    let n_here = local.len().min(MAX_PIECES + 1) as libc::c_ulong;
    let n_there = remote.len().min(MAX_REMOTE) as libc::c_ulong;
    let (here, there) = (local.as_ptr().cast(), remote.as_ptr().cast());
    let pid = pid as libc::pid_t;
    // SAFETY: both vectors live for the call and have the given lengths; what may be written is
    // the caller's promise.
    let copied = unsafe {
        match direction {
            Direction::Read => libc::process_vm_readv(pid, here, n_here, there, n_there, 0),
            Direction::Write => libc::process_vm_writev(pid, here, n_here, there, n_there, 0),
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
    match unsafe {
        copy(
            Direction::Read,
            pid,
            &[local],
            &[Piece { address: 0, len: 1 }],
        )
    } {
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
