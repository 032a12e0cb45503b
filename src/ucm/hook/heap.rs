//! glibc's heap where only relocations are changed: it unmaps memory by calls inside of libc, which
//! those don't reach. So it is told to keep what it has. Blocks that it mapped one by one before
//! that are noticed when they are freed.

use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::{in_libc, valgrind};
use crate::sys::symbols::definition;
use crate::ucm::calls;

type Free = unsafe extern "C" fn(*mut c_void);
type Realloc = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;

static FREE: AtomicUsize = AtomicUsize::new(0);
static REALLOC: AtomicUsize = AtomicUsize::new(0);

const M_TRIM_THRESHOLD: c_int = -1;
const M_MMAP_MAX: c_int = -4;
const M_ARENA_MAX: c_int = -8;

/// Keeps glibc's heap from unmapping; returns what is to be redirected for blocks it mapped
/// earlier. Does nothing where another heap is in use, since those call libc from outside.
pub(super) fn prepare(blocks: bool) -> Vec<(&'static CStr, usize)> {
    let (free, realloc) = (definition(c"free"), definition(c"realloc"));
    let (Some(free), Some(realloc)) = (free, realloc) else {
        return Vec::new();
    };
    let other = in_libc(c"free") != Some(free) || in_libc(c"realloc") != Some(realloc);
    if other || valgrind::is_running() {
        return Vec::new();
    }
    // SAFETY: parameters and values as documented. One arena: the others' memory is given back by
    // whole mappings.
    unsafe {
        libc::mallopt(M_TRIM_THRESHOLD, -1);
        libc::mallopt(M_MMAP_MAX, 0);
        libc::mallopt(M_ARENA_MAX, 1);
    }
    let trim = (
        c"malloc_trim",
        (keep_all as *const c_void).expose_provenance(),
    );
    if !blocks {
        return vec![trim];
    }
    FREE.store(free, Relaxed);
    REALLOC.store(realloc, Relaxed);
    let (free, realloc) = (free_hook as *const c_void, realloc_hook as *const c_void);
    vec![
        (c"free", free.expose_provenance()),
        (c"realloc", realloc.expose_provenance()),
        trim,
    ]
}

/// In place of `malloc_trim`, which gives pages back by calls inside of libc: nothing was given back.
extern "C" fn keep_all(_pad: usize) -> c_int {
    0
}

/// Tells that a block goes, if it is a mapping of its own.
///
/// # Safety
/// `block` is NULL or from glibc's heap.
unsafe fn tell(block: *mut c_void) {
    if block.is_null() {
        return;
    }
    const IS_MMAPPED: usize = 2;
    const FLAGS: usize = 7;
    let words = block.cast::<usize>();
    // SAFETY: before a block lies its size, and where it is a mapping, what precedes it there.
    unsafe {
        let size = *words.sub(1);
        if size & IS_MMAPPED != 0 {
            let before = *words.sub(2);
            let start = block.wrapping_byte_sub(2 * size_of::<usize>() + before);
            calls::vm_unmapped(start, (size & !FLAGS) + before);
        }
    }
}

unsafe extern "C" fn free_hook(block: *mut c_void) {
    // SAFETY: looked up as `free`; the caller's own argument.
    unsafe {
        tell(block);
        core::mem::transmute::<usize, Free>(FREE.load(Relaxed))(block);
    }
}

unsafe extern "C" fn realloc_hook(block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: looked up as `realloc`; the caller's own arguments.
    unsafe {
        tell(block);
        core::mem::transmute::<usize, Realloc>(REALLOC.load(Relaxed))(block, size)
    }
}
