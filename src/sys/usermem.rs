//! A piece of the caller's memory, as pointer and length.
//!
//! The C API hands us buffers that stay the caller's: they must exist until the operation that
//! uses them completes, and may not be changed meanwhile. [`UserMem`] carries that promise, made
//! once where it is created, so that copying in and out needs no `unsafe` elsewhere.

use core::ptr;

use super::strcopy;

/// `len` bytes of the caller's memory at `ptr`.
#[derive(Clone, Copy, Debug)]
pub struct UserMem {
    ptr: *mut u8,
    len: usize,
}

impl UserMem {
    /// No bytes at all.
    pub const EMPTY: UserMem = UserMem {
        ptr: ptr::null_mut(),
        len: 0,
    };

    /// # Safety
    /// `ptr` must be valid for `len` bytes, for reading and, if the value is used to receive,
    /// for writing, as long as the value and its copies are used. `len` 0 allows any pointer.
    pub const unsafe fn new(ptr: *mut u8, len: usize) -> UserMem {
        UserMem { ptr, len }
    }

    pub const fn len(&self) -> usize {
        self.len
    }

    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub const fn ptr(&self) -> *mut u8 {
        self.ptr
    }

    /// The bytes from `offset` on, `max` at most; empty when `offset` is past the end.
    pub fn part(&self, offset: usize, max: usize) -> UserMem {
        let offset = offset.min(self.len);
        UserMem {
            ptr: self.ptr.wrapping_add(offset),
            len: max.min(self.len - offset),
        }
    }

    /// The bytes as a slice, to be passed on at once.
    pub fn as_slice(&self) -> &[u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: valid for reads by the promise of `new`; the caller leaves it unchanged while
        // the operation is posted.
        unsafe { core::slice::from_raw_parts(self.ptr, self.len) }
    }

    /// Copies from `offset` on into `dst` and returns how many bytes there were.
    pub fn read_at(&self, offset: usize, dst: &mut [u8]) -> usize {
        let part = self.part(offset, dst.len());
        // SAFETY: `part` lies inside the memory promised by `new`, and `dst` is as long.
        unsafe { copy(part.ptr, dst.as_mut_ptr(), part.len) };
        part.len
    }

    /// Copies as many bytes as both have to `dst`; the two may overlap. Neither is looked at
    /// otherwise: other processes may write them meanwhile.
    #[inline]
    pub fn copy_to(&self, dst: UserMem) -> usize {
        let len = self.len.min(dst.len);
        // SAFETY: both are valid for `len` bytes by the promise of `new`.
        unsafe { copy(self.ptr, dst.ptr, len) };
        len
    }

    /// Copies `src` to `offset` and returns how many bytes fitted.
    pub fn write_at(&self, offset: usize, src: &[u8]) -> usize {
        let part = self.part(offset, src.len());
        // SAFETY: `part` lies inside the memory promised by `new`, and `src` is as long.
        unsafe { copy(src.as_ptr(), part.ptr, part.len) };
        part.len
    }
}

/// Copies `len` bytes, without a call for the shortest. The two may overlap: a program may
/// receive over the very bytes that it sends.
///
/// # Safety
/// `src` must be readable and `dst` writable for `len` bytes.
#[inline(always)]
pub unsafe fn copy(src: *const u8, dst: *mut u8, len: usize) {
    /// Two pieces that may overlap each other cover all bytes.
    ///
    /// # Safety
    /// As [`copy`]; `len` from the size of `T` to twice that.
    #[inline(always)]
    unsafe fn two<T: Copy>(src: *const u8, dst: *mut u8, len: usize) {
        let last = len - size_of::<T>();
        // SAFETY: both pieces lie inside `len` bytes; all is read before anything is written.
        unsafe {
            let first_piece = src.cast::<T>().read_unaligned();
            let last_piece = src.add(last).cast::<T>().read_unaligned();
            dst.cast::<T>().write_unaligned(first_piece);
            dst.add(last).cast::<T>().write_unaligned(last_piece);
        }
    }
    // SAFETY: forwarded to the caller; the length suits each branch.
    unsafe {
        if len > 16 {
            strcopy::copy(src, dst, len);
        } else if len >= 8 {
            two::<u64>(src, dst, len);
        } else if len >= 4 {
            two::<u32>(src, dst, len);
        } else if len >= 2 {
            two::<u16>(src, dst, len);
        } else if len == 1 {
            dst.write(src.read());
        }
    }
}
