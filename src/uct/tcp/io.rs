//! Where this transport meets memory that is not its own: sending straight from the user's
//! vectors, and receiving straight to where a message belongs.
//!
//! `Ep::am_zcopy` promises that vectors stay readable until their operation completes, and
//! `Events::place` that the place may be written until UCP is called again.

use std::io::{self, ErrorKind};
use std::os::fd::RawFd;
use std::ptr::{self, NonNull};

use crate::sys::net::{self, iovec};

/// Sends what the socket takes of `parts`, which lie in our buffers or in memory that was posted.
pub fn send_vector(fd: RawFd, parts: &[iovec]) -> io::Result<usize> {
    // SAFETY: the parts of an operation that has not completed are readable, see above.
    unsafe { net::send_vector(fd, parts) }
}

/// Appends what lies at `ptr` in memory that was posted.
pub fn append_posted(buffer: &mut Vec<u8>, ptr: *const u8, len: usize) {
    if len != 0 {
        // SAFETY: a part of an operation that has not completed is readable, see above.
        buffer.extend_from_slice(unsafe { std::slice::from_raw_parts(ptr, len) });
    }
}

/// Receives to a place, at most `len` bytes.
pub fn recv_to(fd: RawFd, place: NonNull<u8>, len: usize) -> io::Result<usize> {
    // SAFETY: UCP has just named these bytes as writable, and hasn't been called since.
    unsafe { net::recv_raw(fd, place.as_ptr(), len) }
}

/// Copies received bytes to a place that has room for them.
pub fn copy_to(place: NonNull<u8>, data: &[u8]) {
    // SAFETY: as in `recv_to`; our receive buffer is no part of any user's memory.
    unsafe { ptr::copy_nonoverlapping(data.as_ptr(), place.as_ptr(), data.len()) };
}

/// Receives to the end of `buffer`, until it holds `want` bytes at most.
pub fn recv_append(fd: RawFd, buffer: &mut Vec<u8>, want: usize) -> io::Result<usize> {
    /// A length that a peer only claims isn't allocated before its bytes come.
    const STEP: usize = 1 << 20;
    /// Less room than this isn't worth a call.
    const MIN_READ: usize = 64 << 10;
    let missing = want.saturating_sub(buffer.len());
    if missing == 0 {
        return Err(ErrorKind::WouldBlock.into());
    }
    let step = missing.min(STEP.max(buffer.len()));
    if buffer.capacity() - buffer.len() < step.min(MIN_READ) {
        buffer
            .try_reserve_exact(step)
            .map_err(|_| io::Error::from(ErrorKind::OutOfMemory))?;
    }
    let spare = buffer.spare_capacity_mut();
    let len = spare.len().min(missing);
    // SAFETY: `len` bytes of the vector's spare capacity.
    let n = unsafe { net::recv_raw(fd, spare.as_mut_ptr().cast(), len)? };
    // SAFETY: the kernel has written `n <= len` bytes there.
    unsafe { buffer.set_len(buffer.len() + n) };
    Ok(n)
}
