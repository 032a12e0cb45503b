//! Ranges that were unmapped and that the cache has not looked at yet.
//!
//! They are noted by an event handler, which may not allocate and may not wait for the cache's
//! lock. Whoever looks something up compares two counters first, and comes by the slow way as long
//! as something is noted.

use super::span::Span;
use super::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering, ROOM, spin_loop, yield_now};
use crate::ucm::Watcher;

pub struct Pending {
    /// How often something was noted.
    noted: AtomicU64,
    /// How much of that has been seen to.
    applied: AtomicU64,
    /// Everything has to go: a range could not be noted.
    all: AtomicBool,
    /// Somebody reads or writes the ranges.
    busy: AtomicBool,
    count: AtomicUsize,
    ranges: [(AtomicUsize, AtomicUsize); ROOM],
    /// The addresses that the cache has something about.
    hull: (AtomicUsize, AtomicUsize),
}

/// What has to go.
#[derive(Debug, PartialEq, Eq)]
pub enum Noted {
    All,
    Spans(Vec<Span>),
}

impl Default for Pending {
    fn default() -> Self {
        Pending {
            noted: AtomicU64::new(0),
            applied: AtomicU64::new(0),
            all: AtomicBool::new(false),
            busy: AtomicBool::new(false),
            count: AtomicUsize::new(0),
            ranges: core::array::from_fn(|_| Default::default()),
            hull: (AtomicUsize::new(usize::MAX), AtomicUsize::new(0)),
        }
    }
}

impl Pending {
    /// Whether nothing is noted.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.noted.load(Ordering::Acquire) == self.applied.load(Ordering::Acquire)
    }

    /// From now on ranges in `span` are noted. Under the cache's lock.
    pub fn cover(&self, span: Span) {
        self.hull.0.fetch_min(span.start, Ordering::SeqCst);
        self.hull.1.fetch_max(span.end, Ordering::SeqCst);
    }

    /// Everything the cache has must go.
    pub fn note_all(&self) {
        self.all.store(true, Ordering::SeqCst);
        self.noted.fetch_add(1, Ordering::SeqCst);
    }

    /// Sees to what is noted. Under the cache's lock; `apply` must leave nothing of it to be found.
    pub fn apply(&self, mut apply: impl FnMut(Noted)) {
        loop {
            let noted = self.noted.load(Ordering::SeqCst);
            if noted == self.applied.load(Ordering::SeqCst) {
                return;
            }
            let all = self.all.swap(false, Ordering::SeqCst);
            // Room for the result comes before the lock: this may be an event.
            let mut spans = Vec::with_capacity(ROOM);
            while !self.lock() {
                yield_now();
            }
            let count = self.count.swap(0, Ordering::SeqCst).min(ROOM);
            for (start, end) in self.ranges.iter().take(count) {
                spans.push(Span {
                    start: start.load(Ordering::SeqCst),
                    end: end.load(Ordering::SeqCst),
                });
            }
            self.busy.store(false, Ordering::SeqCst);
            apply(if all { Noted::All } else { Noted::Spans(spans) });
            self.applied.store(noted, Ordering::SeqCst);
        }
    }

    /// Takes the ranges, unless that takes too long: whoever has them may be this very thread.
    fn lock(&self) -> bool {
        for _ in 0..100_000 {
            if !self.busy.swap(true, Ordering::SeqCst) {
                return true;
            }
            spin_loop();
        }
        false
    }

    fn note(&self, span: Span) {
        if !self.lock() {
            return self.note_all();
        }
        let count = self.count.load(Ordering::SeqCst);
        let at = count.min(ROOM - 1);
        let (start, end) = &self.ranges[at];
        if count < ROOM {
            start.store(span.start, Ordering::SeqCst);
            end.store(span.end, Ordering::SeqCst);
            self.count.store(count + 1, Ordering::SeqCst);
        } else {
            // No room: the last one grows.
            start.fetch_min(span.start, Ordering::SeqCst);
            end.fetch_max(span.end, Ordering::SeqCst);
        }
        self.busy.store(false, Ordering::SeqCst);
        self.noted.fetch_add(1, Ordering::SeqCst);
    }
}

impl Watcher for Pending {
    fn unmapped(&self, address: usize, len: usize) {
        let (low, high) = (
            self.hull.0.load(Ordering::SeqCst),
            self.hull.1.load(Ordering::SeqCst),
        );
        let end = address.saturating_add(len);
        if address < high && low < end && len != 0 {
            self.note(Span {
                start: address,
                end,
            });
        }
    }
}
