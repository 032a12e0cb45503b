//! A driver that keeps books, and fails a test that closes what is not open.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::super::{Allocation, Cache, Interest, Opener, Pin, Place, Process, Unused};
use crate::ucs::status::{Error, Result};

#[derive(Default)]
pub struct Books {
    /// By the address here.
    open: BTreeMap<u64, (Place, Allocation)>,
    pub opens: usize,
    pub closes: usize,
}

/// Shared with the test.
#[derive(Clone, Default)]
pub struct Fake {
    pub books: Arc<Mutex<Books>>,
    /// What is open of an owner must not overlap, as some drivers want it.
    pub strict: Arc<AtomicBool>,
    /// The owner is dead: nothing can be opened.
    pub dead: Arc<AtomicBool>,
}

pub type FakeCache = Arc<Cache<Fake>>;
pub type FakePin = Pin<Fake>;
pub type Interests = Vec<Interest<Fake>>;

impl Opener for Fake {
    type Handle = ();
    type Open = u64;

    fn open(&self, place: Place, what: &Allocation, _: &()) -> Result<u64> {
        if self.dead.load(Ordering::SeqCst) {
            return Err(Error::InvalidParam);
        }
        let mut books = self.books.lock();
        let in_the_way = |(p, w): &(Place, Allocation)| {
            p.process == place.process && p.device == place.device && w.overlaps(what)
        };
        if self.strict.load(Ordering::SeqCst) && books.open.values().any(in_the_way) {
            return Err(Error::AlreadyExists);
        }
        books.opens += 1;
        let at = (books.opens as u64) << 32;
        books.open.insert(at, (place, *what));
        Ok(at)
    }

    fn address(&self, open: &u64) -> u64 {
        *open
    }

    fn close(&self, place: Place, what: &Allocation, open: u64) {
        let mut books = self.books.lock();
        books.closes += 1;
        assert_eq!(
            books.open.remove(&open),
            Some((place, *what)),
            "closed what is not open"
        );
    }
}

impl Fake {
    pub fn cache(&self) -> FakeCache {
        Cache::new(self.clone())
    }

    /// What is at an address here.
    pub fn at(&self, address: u64) -> Option<(Place, Allocation)> {
        self.books.lock().open.get(&address).copied()
    }

    pub fn is_open(&self, place: Place, what: Allocation) -> bool {
        self.books
            .lock()
            .open
            .values()
            .any(|open| *open == (place, what))
    }

    /// Opens and closes.
    pub fn counts(&self) -> (usize, usize) {
        let books = self.books.lock();
        (books.opens, books.closes)
    }
}

pub const fn place(pid: i32, device: i32) -> Place {
    let process = Process { pid, pid_ns: 0 };
    Place { process, device }
}

pub const fn memory(base: u64, len: u64, buffer_id: u64) -> Allocation {
    Allocation {
        base,
        len,
        buffer_id,
    }
}

/// A key as its users have it.
#[derive(Default)]
pub struct Key {
    pub what: Option<Allocation>,
    pub interests: Interests,
}

impl Key {
    pub fn of(what: Allocation) -> Key {
        Key {
            what: Some(what),
            interests: Vec::new(),
        }
    }

    pub fn map(&mut self, cache: &FakeCache, place: Place) -> Result<FakePin> {
        let what = self.what.expect("a key of something");
        cache.map(place, &what, &(), Some(&mut self.interests), Unused::Stays)
    }

    pub fn destroy(self, unused: Unused) {
        for interest in self.interests {
            interest.release(unused);
        }
    }
}
