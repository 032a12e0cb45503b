//! The handlers of events, and the way through them.
//!
//! Events come out of calls like `munmap`, which the heap makes while it holds its own locks, in
//! any thread. So the way through the handlers takes no lock, allocates nothing and uses no
//! thread-local storage: it reads an immutable list and is counted meanwhile. A change makes a new
//! list; removal waits until whoever may still use an older one has left, so that a handler does
//! not run any more when its removal returns.

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering::SeqCst};

use super::event::Event;
use super::events;
use crate::ucs::status::{Error, Result};

/// Called for an event. It must neither allocate nor change the handlers, and may run in any
/// thread.
pub type Callback = unsafe extern "C" fn(event: u32, data: *mut Event, arg: *mut c_void);

/// A function and what it is called with.
#[derive(Clone, Copy)]
pub struct Handler {
    pub callback: Callback,
    pub arg: *mut c_void,
}

impl PartialEq for Handler {
    fn eq(&self, other: &Self) -> bool {
        self.callback as usize == other.callback as usize && self.arg == other.arg
    }
}

#[derive(Clone, Copy)]
struct Entry {
    events: u32,
    priority: i32,
    handler: Handler,
}

/// By priority, lowest first; equal ones in the order of registration.
type List = Vec<Entry>;

/// The present list; NULL while there is none.
static LIST: AtomicPtr<List> = AtomicPtr::new(core::ptr::null_mut());
/// Its parity says which of the counters new passes use.
static EPOCH: AtomicUsize = AtomicUsize::new(0);
static INSIDE: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];
/// Events that somebody else reports to us.
static EXTERNAL: AtomicU32 = AtomicU32::new(0);
/// Taken by who changes the list; given back by a forked child whose thread does not have it.
static CHANGING: AtomicBool = AtomicBool::new(false);

/// A stay among the handlers, around one call.
pub struct Pass {
    parity: usize,
    list: *const List,
}

impl Pass {
    pub fn enter() -> Pass {
        loop {
            let parity = EPOCH.load(SeqCst) & 1;
            INSIDE[parity].fetch_add(1, SeqCst);
            if EPOCH.load(SeqCst) & 1 == parity {
                let list = LIST.load(SeqCst);
                return Pass { parity, list };
            }
            leave(parity);
        }
    }

    /// Calls the handlers of an event in their order. `original` takes its place at priority 0,
    /// before those of the same priority.
    pub fn around(&self, event: u32, data: &mut Event, original: impl FnOnce(&mut Event)) {
        // SAFETY: NULL, or a list that stays while we are counted as inside.
        let list: &[Entry] = unsafe { self.list.as_ref() }.map_or(&[], Vec::as_slice);
        let (before, after) = list.split_at(list.partition_point(|entry| entry.priority < 0));
        call_all(before, event, data);
        original(data);
        call_all(after, event, data);
    }
}

fn call_all(entries: &[Entry], event: u32, data: &mut Event) {
    for entry in entries.iter().filter(|entry| entry.events & event != 0) {
        // SAFETY: whoever registered it promised this signature.
        unsafe { (entry.handler.callback)(event, data, entry.handler.arg) };
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        leave(self.parity);
    }
}

fn leave(parity: usize) {
    // A child forked inside a pass starts its count anew.
    let _ = INSIDE[parity].fetch_update(SeqCst, SeqCst, |inside| inside.checked_sub(1));
}

/// Registers a handler.
///
/// # Errors
/// `InvalidParam` for bits without a meaning.
pub fn add(wanted: u32, priority: i32, handler: Handler) -> Result<()> {
    if wanted & !events::ALL != 0 {
        return Err(Error::InvalidParam);
    }
    let change = Change::begin();
    let mut list = change.list().to_vec();
    let at = list.partition_point(|entry| entry.priority <= priority);
    list.insert(
        at,
        Entry {
            events: wanted & !events::FLAGS,
            priority,
            handler,
        },
    );
    change.publish(list);
    Ok(())
}

/// Takes these events away from a handler, and the handler away when none is left. It isn't
/// running any more when this returns, so this must not be called from a handler.
pub fn remove(unwanted: u32, handler: Handler) {
    let change = Change::begin();
    let mut list = change.list().to_vec();
    for entry in list.iter_mut().filter(|entry| entry.handler == handler) {
        entry.events &= !unwanted;
    }
    list.retain(|entry| entry.handler != handler || entry.events != 0);
    change.publish(list);
}

/// From now on somebody reports these events.
pub fn set_external(bits: u32) {
    EXTERNAL.fetch_or(bits & !events::FLAGS, SeqCst);
}

/// Nobody reports these events any more.
pub fn unset_external(bits: u32) {
    EXTERNAL.fetch_and(!bits, SeqCst);
}

/// The events that somebody reports.
pub fn external() -> u32 {
    EXTERNAL.load(SeqCst)
}

/// To be called in a forked child, which has only one thread.
pub fn forked() {
    INSIDE.iter().for_each(|inside| inside.store(0, SeqCst));
    CHANGING.store(false, SeqCst);
}

/// The right to change the list.
struct Change(());

impl Change {
    fn begin() -> Change {
        while CHANGING.swap(true, SeqCst) {
            std::thread::yield_now();
        }
        Change(())
    }

    fn list(&self) -> &[Entry] {
        // SAFETY: NULL, or the present list, which only who holds this frees.
        unsafe { LIST.load(SeqCst).as_ref() }.map_or(&[], Vec::as_slice)
    }

    fn publish(self, list: List) {
        let new = match list.is_empty() {
            true => core::ptr::null_mut(),
            false => Box::into_raw(Box::new(list)),
        };
        let old = LIST.swap(new, SeqCst);
        let parity = EPOCH.fetch_add(1, SeqCst) & 1;
        while INSIDE[parity].load(SeqCst) != 0 {
            std::thread::yield_now();
        }
        drop(self);
        if !old.is_null() {
            // SAFETY: from `Box::into_raw` above; nobody can reach it any more. Freeing may be an
            // event itself, hence only now.
            drop(unsafe { Box::from_raw(old) });
        }
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        CHANGING.store(false, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::events::{ALL, FLAG_NO_INSTALL, VM_MAPPED, VM_UNMAPPED};
    use super::*;
    use crate::ucm::event::Range;
    use parking_lot::Mutex;

    static ORDER: Mutex<String> = Mutex::new(String::new());

    unsafe extern "C" fn note(_: u32, data: *mut Event, arg: *mut c_void) {
        // SAFETY: the tests pass ranges only.
        if unsafe { (*data).range.size } == usize::MAX {
            ORDER.lock().push(char::from(arg as usize as u8));
        }
    }

    fn named(name: char) -> Handler {
        Handler {
            callback: note,
            arg: core::ptr::without_provenance_mut(name as usize),
        }
    }

    #[test]
    fn handlers_are_called_by_priority() {
        assert_eq!(add(!ALL, 0, named('x')), Err(Error::InvalidParam));
        for (priority, name) in [(5, 'a'), (-1, 'b'), (0, 'd'), (5, 'c')] {
            add(FLAG_NO_INSTALL | VM_MAPPED, priority, named(name)).expect("registered");
        }
        let pass = |event| {
            let mut data = Event {
                range: Range {
                    address: core::ptr::null_mut(),
                    size: usize::MAX,
                },
            };
            Pass::enter().around(event, &mut data, |_| ORDER.lock().push('-'));
            core::mem::take(&mut *ORDER.lock())
        };
        assert_eq!(pass(VM_MAPPED), "b-dac");
        remove(VM_MAPPED, named('a'));
        assert_eq!(pass(VM_MAPPED), "b-dc");
        assert_eq!(pass(VM_UNMAPPED), "-");
        for name in ['b', 'c', 'd'] {
            remove(ALL, named(name));
        }
        assert_eq!(pass(VM_MAPPED), "-");
    }

    #[test]
    fn who_left_is_not_called_any_more() {
        static REMOVED: [AtomicBool; 8] = [const { AtomicBool::new(false) }; 8];
        unsafe extern "C" fn check(_: u32, _: *mut Event, arg: *mut c_void) {
            let removed = REMOVED[arg as usize].load(SeqCst);
            assert!(!removed, "called after its removal");
        }
        let handler = |index: usize| Handler {
            callback: check,
            arg: core::ptr::without_provenance_mut(index),
        };
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !stop.load(SeqCst) {
                        let mut data = Event {
                            range: Range {
                                address: core::ptr::null_mut(),
                                size: 0,
                            },
                        };
                        Pass::enter().around(VM_MAPPED, &mut data, |_| {});
                        std::thread::yield_now();
                    }
                });
            }
            for round in 0..60 {
                let index = round % REMOVED.len();
                REMOVED[index].store(false, SeqCst);
                add(VM_MAPPED, 0, handler(index)).expect("registered");
                std::thread::yield_now();
                remove(VM_MAPPED, handler(index));
                REMOVED[index].store(true, SeqCst);
            }
            stop.store(true, SeqCst);
        });
    }
}
