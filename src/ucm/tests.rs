//! Hooks in this very process, which other tests run in as well.

use core::ffi::c_void;
use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use super::*;

/// Counts the bytes of the watched range that are reported as unmapped.
#[derive(Default)]
struct Watch {
    from: AtomicUsize,
    len: AtomicUsize,
    gone: AtomicUsize,
}

unsafe extern "C" fn watch(_: u32, data: *mut Event, arg: *mut c_void) {
    // SAFETY: a range's event, and the watch of the test.
    let (range, watch) = unsafe { ((*data).range, &*arg.cast::<Watch>()) };
    let (from, len) = (watch.from.load(SeqCst), watch.len.load(SeqCst));
    let start = (range.address as usize).max(from);
    let end = (range.address as usize + range.size).min(from + len);
    watch.gone.fetch_add(end.saturating_sub(start), SeqCst);
}

fn handler(watch_: &Watch) -> Handler {
    Handler {
        callback: watch,
        arg: (&raw const *watch_).cast_mut().cast(),
    }
}

#[test]
fn what_the_heap_gives_back_is_reported() {
    let seen = Watch::default();
    set_handler(events::VM_UNMAPPED, 0, handler(&seen)).expect("hooks");
    assert_eq!(test(events::VM_UNMAPPED), Ok(()));
    let size = 64 << 20;
    let block = vec![1u8; size];
    let address = block.as_ptr() as usize;
    seen.len.store(size, SeqCst);
    seen.from.store(address, SeqCst);
    drop(block);
    assert_eq!(seen.gone.load(SeqCst), size);
    unset_handler(events::ALL, handler(&seen));
}

#[test]
fn what_others_report_reaches_handlers() {
    let seen = Watch::default();
    let here = (&raw const seen) as usize;
    seen.from.store(here, SeqCst);
    seen.len.store(100, SeqCst);
    set_handler(
        events::VM_UNMAPPED | events::FLAG_NO_INSTALL,
        0,
        handler(&seen),
    )
    .expect("registered");
    calls::vm_unmapped(core::ptr::without_provenance_mut(here - 10), 30);
    assert_eq!(seen.gone.load(SeqCst), 20);
    unset_handler(events::VM_UNMAPPED, handler(&seen));
    calls::vm_unmapped(core::ptr::without_provenance_mut(here), 100);
    assert_eq!(seen.gone.load(SeqCst), 20);
    let unknown = set_handler(1 << 30, 0, handler(&seen));
    assert_eq!(unknown, Err(Error::InvalidParam));
}
