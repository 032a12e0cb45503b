//! Standard streams: whole lines straight to the descriptor.

use std::os::fd::RawFd;

/// Writes all of `bytes` to `fd`, going on after signals and short writes. What can't be written
/// (closed pipe, full disk) is dropped: there is nobody to tell.
pub fn write_all(fd: RawFd, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: pointer and length describe a live slice that is only read.
        let n = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
        if n > 0 {
            bytes = bytes.get(n as usize..).unwrap_or_default();
        } else if n == 0
            || std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted
        {
            return;
        }
    }
}

/// Writes to a stream of the C library, in order with what the program writes there.
///
/// # Safety
/// `stream` is open.
pub unsafe fn write_stream(stream: *mut libc::FILE, bytes: &[u8]) {
    // SAFETY: pointer and length describe a live slice; the stream is the caller's.
    unsafe { libc::fwrite(bytes.as_ptr().cast(), 1, bytes.len(), stream) };
}

unsafe extern "C" {
    static stdout: *mut libc::FILE;
}

/// Prints as the program's own `printf` does: through the buffer of the C library.
pub fn print(text: &str) {
    // SAFETY: the C library keeps its standard output there for the life of the process.
    unsafe {
        if !stdout.is_null() {
            write_stream(stdout, text.as_bytes());
        }
    }
}
