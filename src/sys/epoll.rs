//! epoll and timer descriptors.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

pub const IN: u32 = libc::EPOLLIN as u32;
pub const OUT: u32 = libc::EPOLLOUT as u32;
pub const ERR: u32 = libc::EPOLLERR as u32;
pub const HUP: u32 = libc::EPOLLHUP as u32;

/// One ready descriptor.
#[derive(Clone, Copy, Debug, Default)]
pub struct Event {
    pub events: u32,
    /// What it was registered with.
    pub key: u64,
}

/// A set of descriptors to watch, level-triggered.
#[derive(Debug)]
pub struct Epoll(OwnedFd);

fn owned(fd: libc::c_int) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor that the kernel has just given us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn check(rc: libc::c_int) -> io::Result<()> {
    if rc < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

impl Epoll {
    pub fn new() -> io::Result<Epoll> {
        // SAFETY: no memory is involved.
        owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }).map(Epoll)
    }

    pub fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    fn control(&self, op: libc::c_int, fd: RawFd, events: u32, key: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events, u64: key };
        // SAFETY: `event` is valid during the call.
        check(unsafe { libc::epoll_ctl(self.0.as_raw_fd(), op, fd, &raw mut event) })
    }

    pub fn add(&self, fd: RawFd, events: u32, key: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, events, key)
    }

    pub fn modify(&self, fd: RawFd, events: u32, key: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, events, key)
    }

    /// Forgets a descriptor. Closing it would too, but only if no copy (a forked child's) is left.
    pub fn remove(&self, fd: RawFd) {
        let _ = self.control(libc::EPOLL_CTL_DEL, fd, 0, 0);
    }

    /// What is ready now; never waits. Returns the number of entries written.
    pub fn poll(&self, out: &mut [Event]) -> usize {
        self.wait(out, Some(Duration::ZERO))
    }

    /// Waits until something is ready, for a limited time or (`None`) without a limit. Returns the
    /// number of entries written; it may be 0 early.
    pub fn wait(&self, out: &mut [Event], limit: Option<Duration>) -> usize {
        // Rounded up, so that the time has passed afterwards.
        let limit = limit.map_or(-1, |limit| {
            let ms = limit.as_nanos().div_ceil(1_000_000);
            libc::c_int::try_from(ms).unwrap_or(libc::c_int::MAX)
        });
        const MAX: usize = 32;
        let mut raw = [libc::epoll_event { events: 0, u64: 0 }; MAX];
        let max = out.len().min(MAX) as libc::c_int;
        if max == 0 {
            return 0;
        }
        // SAFETY: `raw` holds at least `max` entries.
        let n = unsafe { libc::epoll_wait(self.0.as_raw_fd(), raw.as_mut_ptr(), max, limit) };
        let n = usize::try_from(n).unwrap_or(0);
        for (to, from) in out.iter_mut().zip(&raw[..n.min(MAX)]) {
            *to = Event {
                events: from.events,
                key: from.u64,
            };
        }
        n
    }
}

/// A descriptor that becomes readable at a given time.
#[derive(Debug)]
pub struct TimerFd(OwnedFd);

impl TimerFd {
    pub fn new() -> io::Result<TimerFd> {
        // SAFETY: no memory is involved.
        owned(unsafe {
            libc::timerfd_create(
                libc::CLOCK_MONOTONIC,
                libc::TFD_CLOEXEC | libc::TFD_NONBLOCK,
            )
        })
        .map(TimerFd)
    }

    pub fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Fires once after `delay`; `None` disarms, and takes back readability.
    pub fn set(&self, delay: Option<Duration>) {
        let value = match delay {
            None => libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            Some(delay) => libc::timespec {
                tv_sec: delay.as_secs().min(1 << 30) as libc::time_t,
                // Zero would disarm.
                tv_nsec: delay.subsec_nanos().max(1) as libc::c_long,
            },
        };
        let spec = libc::itimerspec {
            it_interval: libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: value,
        };
        // SAFETY: `spec` is valid, and the old value isn't asked for.
        unsafe { libc::timerfd_settime(self.0.as_raw_fd(), 0, &spec, std::ptr::null_mut()) };
    }
}
