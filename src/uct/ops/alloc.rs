//! Memory that no memory domain allocates, known by its address, length and method afterwards.

use std::io;

use crate::sys::map::{Mapping, PAGE, Place};

/// Where memory comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// The heap, in memory that the kernel may back by huge pages.
    Thp,
    Heap,
    Mmap,
    /// Huge pages that were set aside.
    Huge,
}

/// At least `len` bytes (above 0): their address and number. To be given to [`free`].
pub fn allocate(method: Method, place: Place, len: usize) -> io::Result<(*mut u8, usize)> {
    // No object is longer; allocators take such lengths for mistakes.
    if isize::try_from(len).is_err() {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    let pages = || {
        let rounded = len.checked_next_multiple_of(PAGE);
        rounded.ok_or(io::Error::from(io::ErrorKind::OutOfMemory))
    };
    let mapping = match method {
        Method::Thp | Method::Heap if place.is_fixed() => {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Method::Thp => Mapping::transparent_huge(len)?,
        Method::Heap => Mapping::heap(len)?,
        Method::Mmap => Mapping::anonymous(place, pages()?)?,
        Method::Huge => Mapping::huge(place, len)?,
    };
    Ok(mapping.leak())
}

/// Frees what [`allocate`] gave.
///
/// # Safety
/// All of it as it was given, once, and not used any more.
pub unsafe fn free(method: Method, ptr: *mut u8, len: usize) {
    let heap = matches!(method, Method::Thp | Method::Heap);
    // SAFETY: as the caller says.
    drop(unsafe { Mapping::from_leaked(ptr, len, heap) });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_there() {
        for method in [Method::Heap, Method::Mmap] {
            let (ptr, len) = allocate(method, Place::ANY, 5000).expect("memory");
            assert!(len >= 5000);
            // SAFETY: as many bytes as were given.
            unsafe {
                ptr.write_bytes(7, len);
                free(method, ptr, len);
            }
        }
        assert!(allocate(Method::Mmap, Place::ANY, usize::MAX).is_err());
        assert!(allocate(Method::Heap, Place::ANY, usize::MAX / 2).is_err());
    }
}
