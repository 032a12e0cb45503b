//! Calling of C event handlers around the calls that map and unmap memory.

use crate::abi::prelude::*;
use crate::ucm::{Handlers, events};

/// A handler as C code registers it.
#[derive(Clone, Copy)]
pub(super) struct Handler {
    pub cb: unsafe extern "C" fn(ucm_event_type_t, *mut ucm_event_t, *mut c_void),
    pub arg: *mut c_void,
}

impl PartialEq for Handler {
    fn eq(&self, other: &Self) -> bool {
        self.cb as usize == other.cb as usize && self.arg == other.arg
    }
}

// SAFETY: the argument is only handed back to the callback, which by the API may be called from
// any thread.
unsafe impl Send for Handler {}
// SAFETY: as above.
unsafe impl Sync for Handler {}

pub(super) static HANDLERS: Handlers<Handler> = Handlers::new();

/// Calls the handlers of an event in their order. The original call takes its place among them
/// at priority 0.
pub(super) fn around(
    event: ucm_event_type_t,
    data: &mut ucm_event_t,
    original: impl FnOnce(&mut ucm_event_t),
) {
    let handlers = HANDLERS.of(event);
    let (before, after) =
        handlers.split_at(handlers.partition_point(|(priority, _)| *priority < 0));
    for (_, handler) in before {
        // SAFETY: whoever registered it promised this signature.
        unsafe { (handler.cb)(event, data, handler.arg) };
    }
    original(data);
    for (_, handler) in after {
        // SAFETY: as above.
        unsafe { (handler.cb)(event, data, handler.arg) };
    }
}

/// Tells that a range has been mapped.
pub(super) fn mapped(address: *mut c_void, size: usize) {
    let mut data = ucm_event {
        vm_mapped: ucm_event_vm_mapped { address, size },
    };
    around(events::VM_MAPPED, &mut data, |_| {});
}

/// Tells that a range is about to be unmapped.
pub(super) fn unmapped(address: *mut c_void, size: usize) {
    let mut data = ucm_event {
        vm_unmapped: ucm_event_vm_mapped { address, size },
    };
    around(events::VM_UNMAPPED, &mut data, |_| {});
}

/// Maps and unmaps a page as any part of the program would, and says which of `wanted` were
/// reported to us meanwhile. Only events of ranges can be tried like this.
pub(super) fn probe(wanted: u32) -> u32 {
    use core::sync::atomic::{AtomicU32, Ordering};

    unsafe extern "C" fn note(event: ucm_event_type_t, _: *mut ucm_event_t, arg: *mut c_void) {
        // SAFETY: `arg` is the static below.
        unsafe { &*arg.cast::<AtomicU32>() }.fetch_or(event, Ordering::Relaxed);
    }

    // Static, since the handler may still run in another thread after its removal.
    static SEEN: AtomicU32 = AtomicU32::new(0);
    let seen = &SEEN;
    seen.store(0, Ordering::Relaxed);
    let handler = Handler {
        cb: note,
        arg: (&raw const *seen).cast_mut().cast(),
    };
    if HANDLERS
        .add(wanted | events::FLAG_NO_INSTALL, 0, handler)
        .is_err()
    {
        return 0;
    }
    let size = crate::sys::process::page_size();
    // SAFETY: a private mapping that nobody else knows is made and removed.
    unsafe {
        let page = libc::mmap(
            core::ptr::null_mut(),
            size,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        if page != libc::MAP_FAILED {
            libc::munmap(page, size);
        }
    }
    HANDLERS.remove(wanted, handler);
    seen.load(Ordering::Relaxed) & wanted
}

/// `ucm_mremap` with its arguments taken from the list.
///
/// # Safety
/// As for `mremap`.
pub(crate) unsafe fn remap(call: ucm_event_mremap) -> *mut c_void {
    unmapped(call.address, call.old_size);
    let mut event = ucm_event { mremap: call };
    // SAFETY: the caller's own arguments, passed on; the member written above is the one read.
    around(events::MREMAP, &mut event, |event| unsafe {
        let c = &mut event.mremap;
        if c.result == libc::MAP_FAILED {
            c.result = ucm_orig_mremap(c.address, c.old_size, c.new_size, c.flags, c.new_address);
        }
    });
    // SAFETY: as above.
    let result = unsafe { event.mremap.result };
    if result != libc::MAP_FAILED {
        mapped(result, call.new_size);
    }
    result
}
