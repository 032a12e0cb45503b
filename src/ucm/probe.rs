//! Tries whether events come: makes each call on memory of its own and looks who was told.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI32, AtomicU32, Ordering::Relaxed};

use super::event::Event;
use super::events::*;
use super::handlers::{self, Handler};
use super::orig;

/// The events of this thread since they were last asked for.
static FIRED: AtomicU32 = AtomicU32::new(0);
static THREAD: AtomicI32 = AtomicI32::new(0);

unsafe extern "C" fn note(event: u32, _: *mut Event, _: *mut c_void) {
    // Others may map memory, too.
    if THREAD.load(Relaxed) == this_thread() {
        FIRED.fetch_or(event, Relaxed);
    }
}

fn this_thread() -> c_int {
    // SAFETY: takes no arguments.
    unsafe { libc::syscall(libc::SYS_gettid) as c_int }
}

struct Probe {
    wanted: u32,
    missing: u32,
}

impl Probe {
    /// Makes a call that must cause `expected`.
    fn call<T>(&mut self, expected: u32, call: impl FnOnce() -> T) -> T {
        FIRED.store(0, Relaxed);
        let result = call();
        self.missing |= self.wanted & expected & !FIRED.load(Relaxed);
        result
    }
}

/// The events among `wanted` that don't come. One test at a time.
pub fn missing(wanted: u32) -> u32 {
    if wanted == 0 {
        return 0;
    }
    let handler = Handler {
        callback: note,
        arg: core::ptr::null_mut(),
    };
    THREAD.store(this_thread(), Relaxed);
    if handlers::add(wanted, -1, handler).is_err() {
        return wanted;
    }
    let mut probe = Probe { wanted, missing: 0 };
    map(&mut probe);
    segment(&mut probe);
    // Asks for the end only: the heap is not ours to change.
    // SAFETY: NULL changes nothing.
    probe.call(BRK, || unsafe { libc::brk(core::ptr::null_mut()) });
    advise(&mut probe);
    handlers::remove(ALL, handler);
    probe.missing
}

const ANONYMOUS: c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
const READ_WRITE: c_int = libc::PROT_READ | libc::PROT_WRITE;

fn map(probe: &mut Probe) {
    if probe.wanted & (MMAP | MUNMAP | MREMAP | VM_MAPPED | VM_UNMAPPED) == 0 {
        return;
    }
    let page = crate::sys::process::page_size();
    let moved = MREMAP | VM_MAPPED | VM_UNMAPPED;
    // SAFETY: memory that only this function knows.
    unsafe {
        let at = probe.call(MMAP | VM_MAPPED, || {
            libc::mmap(core::ptr::null_mut(), page, READ_WRITE, ANONYMOUS, -1, 0)
        });
        if at == libc::MAP_FAILED {
            return;
        }
        let grown = probe.call(moved, || {
            libc::mremap(at, page, 2 * page, libc::MREMAP_MAYMOVE)
        });
        let at = if grown == libc::MAP_FAILED {
            at
        } else {
            probe.call(moved, || libc::mremap(grown, 2 * page, page, 0));
            grown
        };
        probe.call(MMAP | VM_MAPPED | VM_UNMAPPED, || {
            libc::mmap(at, page, READ_WRITE, ANONYMOUS | libc::MAP_FIXED, -1, 0)
        });
        probe.call(MUNMAP | VM_UNMAPPED, || libc::munmap(at, page));
    }
}

fn segment(probe: &mut Probe) {
    if probe.wanted & (SHMAT | SHMDT | VM_MAPPED | VM_UNMAPPED) == 0 {
        return;
    }
    let page = crate::sys::process::page_size();
    // SAFETY: a segment that only this function knows.
    unsafe {
        let id = libc::shmget(libc::IPC_PRIVATE, page, libc::IPC_CREAT | 0o600);
        if id < 0 {
            // Where there are none, there is nothing to be told of them.
            return;
        }
        let at = probe.call(SHMAT | VM_MAPPED, || libc::shmat(id, core::ptr::null(), 0));
        if at != libc::MAP_FAILED {
            probe.call(SHMAT | VM_MAPPED | VM_UNMAPPED, || {
                libc::shmat(id, at, libc::SHM_REMAP)
            });
            probe.call(SHMDT | VM_UNMAPPED, || libc::shmdt(at));
        }
        libc::shmctl(id, libc::IPC_RMID, core::ptr::null_mut());
    }
}

fn advise(probe: &mut Probe) {
    if probe.wanted & (MADVISE | VM_UNMAPPED) == 0 {
        return;
    }
    let page = crate::sys::process::page_size();
    // SAFETY: memory that only this function knows.
    unsafe {
        let at = orig::mmap(core::ptr::null_mut(), page, READ_WRITE, ANONYMOUS, -1, 0);
        if at != libc::MAP_FAILED {
            probe.call(MADVISE | VM_UNMAPPED, || {
                libc::madvise(at, page, libc::MADV_DONTNEED)
            });
            orig::munmap(at, page);
        }
    }
}
