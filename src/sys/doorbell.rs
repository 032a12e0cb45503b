//! A descriptor to sleep on that other processes of the host can make readable.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};

/// A nameless pipe, open for reading and writing. It is readable from [`Doorbell::ring`] until
/// [`Doorbell::clear`]. An eventfd would do the same with less, but can't be opened by others.
#[derive(Debug)]
pub struct Doorbell {
    pipe: File,
    /// The end for writing, where one descriptor can't do both.
    write: Option<File>,
}

impl Doorbell {
    pub fn new() -> io::Result<Doorbell> {
        let mut ends = [-1; 2];
        // SAFETY: room for two descriptors.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: fresh descriptors that nobody else knows.
        let [read, write] = ends.map(|fd| unsafe { File::from_raw_fd(fd) });
        // One descriptor for both directions: no end of file while it is open, and one less.
        match open(&format!("/proc/self/fd/{}", read.as_raw_fd())) {
            Ok(pipe) => Ok(Doorbell { pipe, write: None }),
            Err(_) => Doorbell::of_two(read, write),
        }
    }

    /// Without /proc. Others that have it can ring all the same.
    fn of_two(read: File, write: File) -> io::Result<Doorbell> {
        for end in [&read, &write] {
            // SAFETY: no pointers.
            if unsafe { libc::fcntl(end.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) } < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(Doorbell {
            pipe: read,
            write: Some(write),
        })
    }

    /// The doorbell that process `pid` has as its descriptor `fd`.
    ///
    /// # Errors
    /// Whatever opening says; `InvalidInput` if that is no pipe.
    pub fn of_process(pid: u32, fd: RawFd) -> io::Result<Doorbell> {
        let pipe = open(&format!("/proc/{pid}/fd/{fd}"))?;
        if !pipe.metadata()?.file_type().is_fifo() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(Doorbell { pipe, write: None })
    }

    /// The descriptor to poll for reading.
    pub fn fd(&self) -> RawFd {
        self.pipe.as_raw_fd()
    }

    /// Which pipe this is, to recognise it through another descriptor.
    pub fn inode(&self) -> u64 {
        self.pipe.metadata().map_or(0, |data| data.ino())
    }

    /// Makes it readable. A full pipe is readable already, and if the reader is gone nobody
    /// needs to know.
    pub fn ring(&self) {
        let _ = self.write.as_ref().unwrap_or(&self.pipe).write(&[1]);
    }

    /// Takes back all rings.
    pub fn clear(&self) {
        let mut bytes = [0; 64];
        while matches!((&self.pipe).read(&mut bytes), Ok(n) if n == bytes.len()) {}
    }
}

/// Opens a pipe for both directions: a ringer is a reader too, so that a ring whose owner is gone
/// goes nowhere instead of raising SIGPIPE, which would end the process.
fn open(path: &str) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_through_proc() {
        let bell = Doorbell::new().expect("pipe");
        let other = Doorbell::of_process(std::process::id(), bell.fd()).expect("open");
        assert_eq!(other.inode(), bell.inode());
        rings(&bell, &other);
    }

    #[test]
    fn rings_without_proc() {
        let bell = Doorbell::new().expect("pipe");
        assert!(bell.write.is_none());
        let mut ends = [-1; 2];
        // SAFETY: room for two descriptors.
        assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
        // SAFETY: fresh descriptors that nobody else knows.
        let [read, write] = ends.map(|fd| unsafe { File::from_raw_fd(fd) });
        let bell = Doorbell::of_two(read, write).expect("a bell");
        rings(&bell, &bell);
        // A peer that has /proc.
        let other = Doorbell::of_process(std::process::id(), bell.fd()).expect("open");
        rings(&bell, &other);
    }

    fn rings(bell: &Doorbell, other: &Doorbell) {
        bell.clear();
        for _ in 0..100_000 {
            other.ring();
        }
        let mut poll = libc::pollfd {
            fd: bell.fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one pollfd, for the call.
        assert_eq!(unsafe { libc::poll(&mut poll, 1, 0) }, 1);
        bell.clear();
        poll.revents = 0;
        // SAFETY: as above.
        assert_eq!(unsafe { libc::poll(&mut poll, 1, 0) }, 0);
    }

    #[test]
    fn a_ring_for_nobody_is_survived() {
        let bell = Doorbell::new().expect("pipe");
        let other = Doorbell::of_process(std::process::id(), bell.fd()).expect("open");
        drop(bell);
        // SAFETY: default handling, as in a C program (Rust's start-up code ignores SIGPIPE).
        let before = unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        other.ring();
        // SAFETY: as it was.
        unsafe { libc::signal(libc::SIGPIPE, before) };
    }

    #[test]
    fn other_files_are_no_doorbells() {
        let file = File::open("/dev/null").expect("open");
        let fd = file.as_raw_fd();
        assert!(Doorbell::of_process(std::process::id(), fd).is_err());
    }
}
