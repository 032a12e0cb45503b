//! Memory of this process alone, and where memory is placed.

use core::ptr::NonNull;
use std::io;

use super::usermem::UserMem;

/// Smallest unit of memory that can be mapped, in bytes.
pub const PAGE: usize = 4096;

/// Size of a huge page of x86_64.
const HUGE_PAGE: usize = 2 << 20;

fn in_huge_pages(len: usize) -> io::Result<usize> {
    let rounded = len.checked_next_multiple_of(HUGE_PAGE);
    rounded.ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

/// Where new memory goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    at: usize,
    replace: bool,
}

impl Place {
    /// Wherever there is room.
    pub const ANY: Place = Place {
        at: 0,
        replace: false,
    };

    /// There if it is free, else anywhere.
    pub const fn near(at: usize) -> Place {
        Place { at, replace: false }
    }

    /// Exactly there, in place of what is mapped there.
    ///
    /// # Safety
    /// Nothing may still use what is mapped there, up to the length of the new memory.
    pub const unsafe fn replacing(at: usize) -> Place {
        Place { at, replace: true }
    }

    /// True if nowhere else will do.
    pub const fn is_fixed(&self) -> bool {
        self.replace
    }

    pub(super) fn address(&self) -> *mut libc::c_void {
        core::ptr::with_exposed_provenance_mut(self.at)
    }

    /// The flag of `mmap`.
    pub(super) const fn map_flag(&self) -> libc::c_int {
        if self.replace { libc::MAP_FIXED } else { 0 }
    }
}

/// Memory that goes when this is dropped.
#[derive(Debug)]
pub struct Mapping {
    ptr: NonNull<u8>,
    len: usize,
    heap: bool,
}

// SAFETY: memory belongs to the process, not to a thread; access is the user's business.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// `len` bytes (above 0) of zeroed memory.
    pub fn anonymous(place: Place, len: usize) -> io::Result<Mapping> {
        Self::with_flags(place, len, 0)
    }

    /// The same in huge pages that the administrator has set aside; `len` is rounded up to them.
    pub fn huge(place: Place, len: usize) -> io::Result<Mapping> {
        Self::with_flags(place, in_huge_pages(len)?, libc::MAP_HUGETLB)
    }

    /// The same in memory that the kernel may back by huge pages, if it does so at all.
    pub fn transparent_huge(len: usize) -> io::Result<Mapping> {
        let settings = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled")?;
        if len < HUGE_PAGE || settings.contains("[never]") {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mapping = Self::aligned(HUGE_PAGE, in_huge_pages(len)?)?;
        let ptr = mapping.ptr.as_ptr().cast();
        // SAFETY: advice on memory of our own.
        if unsafe { libc::madvise(ptr, mapping.len, libc::MADV_HUGEPAGE) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(mapping)
    }

    /// The same from the C library's heap, aligned to a cache line. Not zeroed.
    pub fn heap(len: usize) -> io::Result<Mapping> {
        Self::aligned(64, len)
    }

    fn aligned(alignment: usize, len: usize) -> io::Result<Mapping> {
        let mut ptr = core::ptr::null_mut();
        // SAFETY: the place for the result lives for the call.
        match unsafe { libc::posix_memalign(&mut ptr, alignment, len) } {
            0 => Ok(Mapping {
                ptr: NonNull::new(ptr.cast()).ok_or(io::ErrorKind::OutOfMemory)?,
                len,
                heap: true,
            }),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    fn with_flags(place: Place, len: usize, flags: libc::c_int) -> io::Result<Mapping> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | place.map_flag() | flags;
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping; one that replaces another is the caller's promise, see `Place`.
        let ptr = unsafe { libc::mmap(place.address(), len, prot, flags, -1, 0) };
        if ptr == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let ptr = NonNull::new(ptr.cast()).ok_or(io::ErrorKind::Other)?;
        let heap = false;
        Ok(Mapping { ptr, len, heap })
    }

    pub fn ptr(&self) -> *mut u8 {
        self.ptr.as_ptr()
    }

    /// Address and length; the memory stays until [`Mapping::from_leaked`] takes it back.
    pub fn leak(self) -> (*mut u8, usize) {
        let mapping = core::mem::ManuallyDrop::new(self);
        (mapping.ptr.as_ptr(), mapping.len)
    }

    /// Takes back what [`Mapping::leak`] gave; `heap`: it was from the heap. `None` for NULL.
    ///
    /// # Safety
    /// All is as it was given, and taken back once.
    pub unsafe fn from_leaked(ptr: *mut u8, len: usize, heap: bool) -> Option<Mapping> {
        NonNull::new(ptr).map(|ptr| Mapping { ptr, len, heap })
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
        let ptr = self.ptr.as_ptr().cast();
        // SAFETY: allocated or mapped by us with this length, and freed once.
        unsafe {
            if self.heap {
                libc::free(ptr);
            } else {
                libc::munmap(ptr, self.len);
            }
        }
    }
}

/// Tells the kernel that the memory will be used soon. Advice: whether it helps is its business.
pub fn will_need(memory: &UserMem) {
    let ptr = memory.ptr();
    let before = ptr.addr() % PAGE;
    let start = ptr.wrapping_sub(before).cast();
    // SAFETY: this advice changes no content; the kernel checks the range.
    unsafe { libc::madvise(start, memory.len() + before, libc::MADV_WILLNEED) };
}
