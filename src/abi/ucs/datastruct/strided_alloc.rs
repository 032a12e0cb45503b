//! `ucs/datastruct/strided_alloc.h`.

use crate::abi::prelude::*;
use crate::sys::map::Place;
use crate::uct::ops::alloc::{Method, allocate, free};

pub const UCS_STRIDED_ALLOC_STRIDE: u64 = 1 << 17;

pub struct ucs_strided_alloc_elem {
    _opaque: [u8; 0],
}

const STRIDE: usize = UCS_STRIDED_ALLOC_STRIDE as usize;

/// At the end of the first stride of a piece of memory.
///
/// cbindgen:ignore
#[repr(C)]
struct Chunk {
    queue: ucs_queue_elem_t,
    start: *mut u8,
    len: usize,
}

/// A first part that is free leads to the next one.
///
/// cbindgen:ignore
struct Free {
    next: *mut ucs_strided_alloc_elem_t,
}

pub type ucs_strided_alloc_elem_t = ucs_strided_alloc_elem;
pub type ucs_strided_alloc_t = ucs_strided_alloc;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_strided_alloc {
    pub freelist: *mut ucs_strided_alloc_elem_t,
    pub chunks: ucs_queue_head_t,
    pub elem_size: usize,
    pub stride_count: c_uint,
    pub inuse_count: c_uint,
}

/// Makes an allocator of objects whose parts lie far from each other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_strided_alloc_init(
    sa: *mut ucs_strided_alloc_t,
    elem_size: usize,
    stride_count: c_uint,
) {
    if sa.is_null() {
        return;
    }
    // SAFETY: the caller's struct; an empty queue ends at its own head.
    unsafe {
        sa.write(ucs_strided_alloc {
            freelist: core::ptr::null_mut(),
            chunks: ucs_queue_head {
                head: core::ptr::null_mut(),
                ptail: &raw mut (*sa).chunks.head,
            },
            elem_size,
            stride_count,
            inuse_count: 0,
        });
    }
}

/// Frees an allocator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_strided_alloc_cleanup(sa: *mut ucs_strided_alloc_t) {
    // SAFETY: an allocator that was made, of whose memory nothing is used any more.
    unsafe {
        let mut next = (*sa).chunks.head;
        while !next.is_null() {
            let chunk = next.cast::<Chunk>().read();
            next = chunk.queue.next;
            free(Method::Mmap, chunk.start, chunk.len);
        }
        let (elem_size, stride_count) = ((*sa).elem_size, (*sa).stride_count);
        ucs_strided_alloc_init(sa, elem_size, stride_count);
    }
}

/// Adds objects; false if there is no memory, or no object fits.
unsafe fn grow(sa: &mut ucs_strided_alloc_t) -> bool {
    let fits = size_of::<Free>()..=STRIDE - size_of::<Chunk>();
    if !fits.contains(&sa.elem_size) || sa.stride_count == 0 {
        crate::ucs_error!(
            "parts of {} bytes don't fit in a stride of {STRIDE}",
            sa.elem_size
        );
        return false;
    }
    let wanted = STRIDE.saturating_mul(sa.stride_count as usize);
    let Ok((start, len)) = allocate(Method::Mmap, Place::ANY, wanted) else {
        crate::ucs_error!("no memory: {wanted} bytes");
        return false;
    };
    let room = STRIDE - size_of::<Chunk>();
    // SAFETY: all of it lies in the first stride of what was just allocated.
    unsafe {
        let chunk: *mut Chunk = start.add(room).cast();
        chunk.write(Chunk {
            queue: ucs_queue_elem {
                next: core::ptr::null_mut(),
            },
            start,
            len,
        });
        sa.chunks.ptail.write(chunk.cast());
        sa.chunks.ptail = &raw mut (*chunk).queue.next;
        for index in (0..room / sa.elem_size).rev() {
            give(sa, start.add(index * sa.elem_size).cast());
        }
    }
    true
}

unsafe fn give(sa: &mut ucs_strided_alloc_t, elem: *mut ucs_strided_alloc_elem_t) {
    // SAFETY: a first part that nobody uses; it need not be aligned.
    unsafe {
        elem.cast::<Free>()
            .write_unaligned(Free { next: sa.freelist })
    };
    sa.freelist = elem;
}

/// An object: a pointer to its first part.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_strided_alloc_get(
    sa: *mut ucs_strided_alloc_t,
    alloc_name: *const c_char,
) -> *mut c_void {
    let _ = alloc_name;
    // SAFETY: an allocator that was made.
    unsafe {
        let sa = &mut *sa;
        if sa.freelist.is_null() && !grow(sa) {
            return core::ptr::null_mut();
        }
        let elem = sa.freelist;
        sa.freelist = elem.cast::<Free>().read_unaligned().next;
        sa.inuse_count += 1;
        elem.cast()
    }
}

/// Gives an object back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_strided_alloc_put(sa: *mut ucs_strided_alloc_t, base: *mut c_void) {
    if base.is_null() {
        return;
    }
    // SAFETY: an allocator that was made, and an object of its own in use.
    unsafe {
        give(&mut *sa, base.cast());
        (*sa).inuse_count = (*sa).inuse_count.saturating_sub(1);
    }
}

/// Number of objects in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_strided_alloc_inuse_count(sa: *mut ucs_strided_alloc_t) -> c_uint {
    // SAFETY: an allocator that was made.
    unsafe { (*sa).inuse_count }
}
