//! Watching for memory that is unmapped, from Rust.

use core::ffi::c_void;
use std::sync::Arc;

use super::{Event, Handler, events, hook, set_handler, unset_handler};
use crate::ucs::status::Result;

/// Who wants to know.
pub trait Watcher: Send + Sync + 'static {
    /// This range is about to be unmapped, or lose its content. May come from any thread and from
    /// inside of the heap: it must not allocate, and not wait for who may allocate.
    fn unmapped(&self, address: usize, len: usize);
}

/// Somebody is told until this is dropped.
pub struct Watch<W: Watcher> {
    watcher: Arc<W>,
    events: u32,
}

impl<W: Watcher> Watch<W> {
    /// # Errors
    /// `Unsupported` where memory can't be watched, also by the user's choice.
    pub fn start(watcher: Arc<W>, priority: i32) -> Result<Watch<W>> {
        Watch::for_events(watcher, events::VM_UNMAPPED, priority)
    }

    /// For some of `VM_UNMAPPED` and `MEM_TYPE_FREE`, of both of which the range comes first.
    pub fn for_events(watcher: Arc<W>, events: u32, priority: i32) -> Result<Watch<W>> {
        hook::watch_forks()?;
        let events = events & (events::VM_UNMAPPED | events::MEM_TYPE_FREE);
        let watch = Watch { watcher, events };
        set_handler(events, priority, watch.handler())?;
        Ok(watch)
    }

    fn handler(&self) -> Handler {
        Handler {
            callback: tell::<W>,
            arg: Arc::as_ptr(&self.watcher).cast_mut().cast(),
        }
    }
}

impl<W: Watcher> Drop for Watch<W> {
    fn drop(&mut self) {
        // Nobody is inside the handler any more when this returns.
        unset_handler(self.events, self.handler());
    }
}

unsafe extern "C" fn tell<W: Watcher>(_: u32, data: *mut Event, arg: *mut c_void) {
    // SAFETY: an event of a range; the watcher that was registered, which lives while it is.
    let (range, watcher) = unsafe { ((*data).range, &*arg.cast::<W>()) };
    watcher.unmapped(range.address as usize, range.size);
}
