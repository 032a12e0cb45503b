//! A look at a descriptor.

use std::os::fd::RawFd;
use std::time::Duration;

/// True if reading from `fd` would give something, or an error, at once.
pub fn is_readable(fd: RawFd) -> bool {
    wait_readable(fd, Duration::ZERO)
}

/// The same after waiting for it.
pub fn wait_readable(fd: RawFd, limit: Duration) -> bool {
    let mut poll = libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one pollfd, for the call.
    unsafe { libc::poll(&mut poll, 1, limit.as_millis() as i32) > 0 }
}
