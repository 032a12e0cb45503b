//! Descriptors of other processes.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::hostid::{Process, is_alive};

/// A call that gives a descriptor.
fn descriptor(number: libc::c_long) -> io::Result<OwnedFd> {
    let fd = i32::try_from(number).ok().filter(|fd| *fd >= 0);
    let fd = fd.ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the kernel has just made it, for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A duplicate of process `pid`'s descriptor `fd`, where we may look into that process.
pub fn descriptor_of(pid: i32, fd: i32) -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    let process = descriptor(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    // SAFETY: a descriptor that we hold.
    descriptor(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0) })
}

/// A descriptor that is readable once the process has ended.
///
/// # Errors
/// Those of the kernel (`ENOSYS` before Linux 5.3, `EMFILE`); `NotFound` if it has ended already.
pub fn end_of(process: Process) -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    let fd = descriptor(unsafe { libc::syscall(libc::SYS_pidfd_open, process.pid, 0) })?;
    // Only now does the number belong to whoever has it.
    if is_alive(process.pid, process.start) {
        Ok(fd)
    } else {
        Err(io::ErrorKind::NotFound.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, Write};

    #[test]
    fn a_descriptor_of_our_own() {
        let mut file = tempfile().expect("a file");
        file.write_all(b"contents").expect("written");
        let me = std::process::id() as i32;
        // Where the kernel or a filter forbids the call there is nothing to see.
        if let Ok(fd) = descriptor_of(me, file.as_raw_fd()) {
            let mut same = std::fs::File::from(fd);
            let mut text = String::new();
            same.rewind().expect("back to the start");
            same.read_to_string(&mut text).expect("read");
            assert_eq!(text, "contents");
        }
        assert!(descriptor_of(me, 100_000).is_err());
        assert!(descriptor_of(-5, 0).is_err());
    }

    fn tempfile() -> io::Result<std::fs::File> {
        // SAFETY: a terminated name.
        let fd = unsafe { libc::memfd_create(c"pidfd".as_ptr(), libc::MFD_CLOEXEC) };
        descriptor(fd.into()).map(Into::into)
    }
}
