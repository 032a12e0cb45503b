//! Anonymous mappings.

use core::ptr::NonNull;
use std::io;

/// Memory that is unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    ptr: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping belongs to the process, not to a thread; access is the user's business.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// `len` bytes (above 0) of zeroed memory; at `fixed`, replacing what is there, or anywhere.
    ///
    /// # Safety
    /// With `fixed`, nothing may still use what was mapped there.
    pub unsafe fn anonymous(fixed: Option<NonNull<u8>>, len: usize) -> io::Result<Mapping> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let (at, flags) = match fixed {
            Some(at) => (at.as_ptr(), flags | libc::MAP_FIXED),
            None => (core::ptr::null_mut(), flags),
        };
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping; a fixed one is the caller's to give.
        let ptr = unsafe { libc::mmap(at.cast(), len, prot, flags, -1, 0) };
        if ptr == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let ptr = NonNull::new(ptr.cast()).ok_or(io::ErrorKind::Other)?;
        Ok(Mapping { ptr, len })
    }

    pub fn ptr(&self) -> *mut u8 {
        self.ptr.as_ptr()
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by us with this length, and unmapped once.
        unsafe { libc::munmap(self.ptr.as_ptr().cast(), self.len) };
    }
}
