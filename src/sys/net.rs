//! Non-blocking stream sockets: the calls of the data path, on descriptors.
//!
//! Setting sockets up is done with `socket2`; here is what it lacks, or does with types that the
//! data path can't use.

use std::io;
use std::mem;
use std::os::fd::RawFd;

/// A part of a gathering send, as the kernel wants it.
pub use libc::iovec;

/// An `iovec` entry of the bytes at `ptr`; they are read when it is sent, see [`send_vector`].
pub fn io_slice(ptr: *const u8, len: usize) -> iovec {
    iovec {
        iov_base: ptr.cast_mut().cast(),
        iov_len: len,
    }
}

fn result(n: isize) -> io::Result<usize> {
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

/// Repeats a call that a signal has interrupted.
fn retry(mut call: impl FnMut() -> isize) -> io::Result<usize> {
    loop {
        match result(call()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Sends what the socket takes of `data`, never waits, and raises no SIGPIPE.
pub fn send(fd: RawFd, data: &[u8]) -> io::Result<usize> {
    // SAFETY: pointer and length are a slice's.
    retry(|| unsafe {
        libc::send(
            fd,
            data.as_ptr().cast(),
            data.len(),
            libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
        )
    })
}

/// Sends what the socket takes of `parts`, as [`send`].
///
/// # Safety
/// Every part must be readable. (The kernel refuses what isn't mapped; but what is must be meant
/// to be read.)
pub unsafe fn send_vector(fd: RawFd, parts: &[iovec]) -> io::Result<usize> {
    // SAFETY: a zeroed msghdr is valid: no address, no control data.
    let mut msg: libc::msghdr = unsafe { mem::zeroed() };
    msg.msg_iov = parts.as_ptr().cast_mut();
    msg.msg_iovlen = parts.len() as _;
    // SAFETY: `msg` points to `parts`, which the kernel only reads; the caller answers for them.
    retry(|| unsafe { libc::sendmsg(fd, &msg, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) })
}

/// Receives what is there, at most `buffer.len()` bytes, never waits; `Ok(0)` is the end.
pub fn recv(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: pointer and length are a slice's, and it is ours alone.
    unsafe { recv_raw(fd, buffer.as_mut_ptr(), buffer.len()) }
}

/// As [`recv`], to memory that is not ours.
///
/// # Safety
/// `ptr` must be valid for writing `len` bytes.
pub unsafe fn recv_raw(fd: RawFd, ptr: *mut u8, len: usize) -> io::Result<usize> {
    // SAFETY: the caller's promise.
    retry(|| unsafe { libc::recv(fd, ptr.cast(), len, libc::MSG_DONTWAIT) })
}

/// Bytes sent but not yet acknowledged by the peer's kernel (`SIOCOUTQ`).
pub fn unacknowledged(fd: RawFd) -> usize {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the request writes one int.
    let rc = unsafe { libc::ioctl(fd, libc::TIOCOUTQ, &raw mut bytes) };
    if rc == 0 {
        usize::try_from(bytes).unwrap_or(0)
    } else {
        0
    }
}

/// What the kernel knows about a TCP connection (`TCP_INFO`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpInfo {
    /// How often in a row the oldest segment was sent again.
    pub retransmits: u8,
    /// Probes in a row that were not answered, while nothing could be sent: the peer's window is
    /// closed, or packets don't even leave this host.
    pub probes: u8,
    /// Segments sent and not acknowledged. What a full peer has no room for is not sent.
    pub unacked: u32,
    pub bytes_acked: u64,
}

/// `None` for what is no TCP socket, or an old kernel.
pub fn tcp_info(fd: RawFd) -> Option<TcpInfo> {
    // The layout of `struct tcp_info` up to `tcpi_bytes_acked`, which is fixed by the kernel's ABI.
    const UNACKED: usize = 24;
    const BYTES_ACKED: usize = 120;
    let mut info = [0u8; 256];
    let mut len = info.len() as libc::socklen_t;
    // SAFETY: pointer and length are the array's.
    let rc = unsafe {
        libc::getsockopt(
            fd,
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    if rc != 0 || (len as usize) < BYTES_ACKED + 8 {
        return None;
    }
    let unacked = info.get(UNACKED..UNACKED + 4)?.try_into().ok()?;
    let acked = info.get(BYTES_ACKED..BYTES_ACKED + 8)?.try_into().ok()?;
    Some(TcpInfo {
        retransmits: *info.get(2)?,
        probes: *info.get(3)?,
        unacked: u32::from_ne_bytes(unacked),
        bytes_acked: u64::from_ne_bytes(acked),
    })
}

/// No more will be sent: the peer reads the end after what is under way.
pub fn shutdown_write(fd: RawFd) {
    // SAFETY: no memory is involved.
    unsafe { libc::shutdown(fd, libc::SHUT_WR) };
}

/// Sets an integer option; failures are returned but never fatal to a connection.
pub fn set_option(fd: RawFd, level: i32, name: i32, value: i32) -> io::Result<()> {
    // SAFETY: the value is an int, and its size is given.
    let rc = unsafe {
        libc::setsockopt(
            fd,
            level,
            name,
            (&raw const value).cast(),
            mem::size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if rc == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Waits until one of the descriptors is readable (or writable, where asked) or `timeout_ms`
/// have passed.
pub fn poll(fds: &[(RawFd, bool)], timeout_ms: i32) {
    let mut list: Vec<libc::pollfd> = fds
        .iter()
        .map(|&(fd, write)| libc::pollfd {
            fd,
            events: libc::POLLIN | if write { libc::POLLOUT } else { 0 },
            revents: 0,
        })
        .collect();
    // SAFETY: pointer and count are the vector's.
    unsafe { libc::poll(list.as_mut_ptr(), list.len() as libc::nfds_t, timeout_ms) };
}
