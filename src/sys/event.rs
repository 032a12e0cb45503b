//! An epoll set with a signal of its own: what a worker sleeps on.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

/// Adds `fd`, for reading and with `data` as its mark, to an epoll set.
pub fn add_to_epoll(epoll: RawFd, fd: RawFd, data: u64) -> io::Result<()> {
    let mut event = libc::epoll_event {
        events: libc::EPOLLIN as u32,
        u64: data,
    };
    // SAFETY: `event` lives for the call.
    let rc = unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &mut event) };
    if rc < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Readable when one of the added descriptors is, or after [`EventSet::signal`].
pub struct EventSet {
    epoll: OwnedFd,
    signal: Signaller,
}

/// What makes an [`EventSet`] readable from any thread; it may outlive the set.
#[derive(Clone, Debug)]
pub struct Signaller(Arc<OwnedFd>);

impl Signaller {
    /// As [`EventSet::signal`].
    pub fn signal(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: eight readable bytes. A full counter is readable anyway.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }
}

/// The descriptor that a system call returned, or its error.
fn owned(fd: libc::c_int) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a fresh descriptor that nobody else knows.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

impl EventSet {
    pub fn new() -> io::Result<EventSet> {
        // SAFETY: plain system calls without pointers.
        let epoll = owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: as above.
        let signal = owned(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        let signal = Signaller(Arc::new(signal));
        let set = EventSet { epoll, signal };
        set.add(set.signal.0.as_raw_fd())?;
        Ok(set)
    }

    /// The descriptor to poll.
    pub fn fd(&self) -> RawFd {
        self.epoll.as_raw_fd()
    }

    /// Adds a descriptor; it leaves the set when it is closed.
    pub fn add(&self, fd: RawFd) -> io::Result<()> {
        add_to_epoll(self.epoll.as_raw_fd(), fd, fd as u64)
    }

    /// Makes the set readable until [`EventSet::clear`]. From any thread or signal handler.
    pub fn signal(&self) {
        self.signal.signal();
    }

    /// For other threads.
    pub fn signaller(&self) -> Signaller {
        self.signal.clone()
    }

    /// Takes back all signals; true if there were any.
    pub fn clear(&self) -> bool {
        let mut count = [0u8; 8];
        // SAFETY: eight writable bytes.
        unsafe {
            libc::read(
                self.signal.0.as_raw_fd(),
                count.as_mut_ptr().cast(),
                count.len(),
            ) > 0
        }
    }

    /// Sleeps until readable, `timeout_ms` at most (-1: no limit).
    pub fn wait(&self, timeout_ms: i32) -> io::Result<()> {
        let mut poll = libc::pollfd {
            fd: self.fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one pollfd, for the call.
        let rc = unsafe { libc::poll(&mut poll, 1, timeout_ms) };
        if rc >= 0 {
            return Ok(());
        }
        match io::Error::last_os_error() {
            e if e.kind() == io::ErrorKind::Interrupted => Ok(()),
            e => Err(e),
        }
    }
}

/// 64 bits that no other process is likely to draw.
pub fn random_u64() -> u64 {
    let mut bytes = [0u8; 8];
    // SAFETY: eight writable bytes.
    let n = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if n == 8 {
        return u64::from_ne_bytes(bytes);
    }
    // An old kernel: time and process tell us apart well enough.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let nanos = now.map_or(1, |d| d.as_nanos() as u64);
    nanos.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (u64::from(std::process::id()) << 32)
}
