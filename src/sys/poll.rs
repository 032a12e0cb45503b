//! A look at a descriptor.

use std::os::fd::RawFd;

/// True if reading from `fd` would give something, or an error, at once.
pub fn is_readable(fd: RawFd) -> bool {
    let mut poll = libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one pollfd, for the call.
    unsafe { libc::poll(&mut poll, 1, 0) > 0 }
}
