//! The registration cache's lookup without a lock, with threads that meet in every order that the
//! memory model allows: the cache's own sources over loom's atomic words.
#![allow(unsafe_code, dead_code)]

/// What the sources take from the rest of the crate.
mod ucs {
    pub mod status {
        #[derive(Debug)]
        pub enum Error {
            InvalidParam,
        }
        pub type Result<T> = core::result::Result<T, Error>;
    }
}

mod ucm {
    pub trait Watcher {
        fn unmapped(&self, address: usize, len: usize);
    }
}

mod rcache;

use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

use rcache::pending::{Noted, Pending};
use rcache::slots::{Acquired, SlotRef, Slots};
use rcache::span::{Access, Span};
use ucm::Watcher;

const ANY: Access = Access(1);
const FIRST: Span = Span { start: 16, end: 32 };
const SECOND: Span = Span { start: 48, end: 64 };

/// What the cache is, without its table: one slot, with what was registered for it last.
struct Cache {
    pending: Pending,
    /// Who changes what can be found holds it.
    slots: Mutex<Slots<Span>>,
    slot: SlotRef<Span>,
    /// Deregistrations.
    gone: AtomicUsize,
}

impl Cache {
    /// With a registration of `FIRST` that nobody uses.
    fn new() -> Arc<Cache> {
        let mut slots = Slots::default();
        let slot = slots.get();
        let cache = Cache {
            pending: Pending::default(),
            slots: Mutex::new(slots),
            slot,
            gone: AtomicUsize::new(0),
        };
        cache.fill(FIRST);
        Arc::new(cache)
    }

    fn fill(&self, span: Span) {
        self.pending.cover(span);
        // SAFETY: taken out of the free slots.
        unsafe { self.slot.fill(span, ANY, 1, span) };
        assert!(!self.slot.release(), "it can be found");
    }

    /// As a lookup does: what was found is as it was registered, and stays so until it is given back.
    fn look_up(&self, span: Span) -> bool {
        if !self.pending.is_empty() {
            return false;
        }
        let found = self.slot.acquire(span, ANY);
        if found == Acquired::Yes {
            // SAFETY: a reference is held.
            assert_eq!(unsafe { *self.slot.handle() }, span);
        }
        if found != Acquired::No && self.slot.release() {
            self.take();
        }
        found == Acquired::Yes
    }

    /// Deregisters; the slot is free then.
    fn take(&self) {
        // SAFETY: told by `release` or `invalidate`.
        let _ = unsafe { self.slot.take() };
        self.gone.fetch_add(1, Ordering::Relaxed);
        self.slots.lock().expect("no panic").put(self.slot);
    }

    /// As every change of the cache begins: what is noted as unmapped is taken out.
    fn collect(&self) {
        let slots = self.slots.lock().expect("no panic");
        let mut dead = false;
        self.pending.apply(|noted| {
            let gone = match noted {
                Noted::All => true,
                Noted::Spans(spans) => spans.iter().any(|span| span.overlaps(self.slot.span())),
            };
            dead |= gone && self.slot.invalidate();
        });
        drop(slots);
        if dead {
            self.take();
        }
    }
}

#[test]
fn memory_that_is_gone_is_not_found() {
    loom::model(|| {
        let cache = Cache::new();
        let gone = Arc::new(AtomicBool::new(false));
        let unmapping = {
            let (cache, gone) = (cache.clone(), gone.clone());
            thread::spawn(move || {
                cache.pending.unmapped(FIRST.start, 1);
                gone.store(true, Ordering::Release);
            })
        };
        let collecting = {
            let cache = cache.clone();
            thread::spawn(move || cache.collect())
        };
        let was_gone = gone.load(Ordering::Acquire);
        let found = cache.look_up(FIRST);
        assert!(!(was_gone && found), "a stale registration");
        unmapping.join().expect("ends");
        collecting.join().expect("ends");
        cache.collect();
        assert!(!cache.look_up(FIRST));
        assert_eq!(cache.gone.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_slot_that_is_filled_anew_is_noticed() {
    loom::model(|| {
        let cache = Cache::new();
        let other = cache.clone();
        let changing = thread::spawn(move || {
            if other.slot.invalidate() {
                // SAFETY: told by `invalidate`.
                let _ = unsafe { other.slot.take() };
                other.fill(SECOND);
                return true;
            }
            false
        });
        cache.look_up(FIRST);
        cache.look_up(SECOND);
        let filled = changing.join().expect("ends");
        assert_eq!(cache.look_up(SECOND), filled);
        // One or the other: the last reference, or who invalidated.
        assert_eq!(cache.gone.load(Ordering::Relaxed) == 0, filled);
    });
}

#[test]
fn it_is_taken_out_once_however_many_use_it() {
    loom::model(|| {
        let cache = Cache::new();
        let users: Vec<_> = (0..2)
            .map(|_| {
                let cache = cache.clone();
                thread::spawn(move || cache.look_up(FIRST))
            })
            .collect();
        if cache.slot.invalidate() {
            cache.take();
        }
        for user in users {
            user.join().expect("ends");
        }
        assert_eq!(cache.gone.load(Ordering::Relaxed), 1);
        assert!(!cache.look_up(FIRST));
    });
}
