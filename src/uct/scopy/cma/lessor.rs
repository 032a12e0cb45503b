//! What a peer lends, as far as this process can see it without the kernel.

use std::cell::{Cell, RefCell};

use crate::sys::vmcopy::{Direction, Piece};
use crate::uct::lease::Term;
use crate::uct::lease::page::{HEAD, View};

use super::queue::transfer;

/// Failures to find the peer's page; after that the kernel reads its words.
const TRIES: u32 = 4;

/// The page that the peer's lease words are on.
pub struct Lessor {
    pid: u32,
    start_time: u64,
    view: RefCell<Option<View>>,
    failures: Cell<u32>,
}

impl Lessor {
    pub fn new(pid: u32, start_time: u64) -> Lessor {
        Lessor {
            pid,
            start_time,
            view: RefCell::default(),
            failures: Cell::new(0),
        }
    }

    /// The word, if it can be looked at.
    #[inline]
    fn word(&self, term: Term) -> Option<u64> {
        self.view.borrow().as_ref()?.word(term.address)
    }

    /// Whether the word can be looked at, from now on at the latest.
    #[inline]
    pub fn shows(&self, term: Term) -> bool {
        self.word(term).is_some() || self.attach(term)
    }

    #[cold]
    fn attach(&self, term: Term) -> bool {
        if self.failures.get() >= TRIES {
            return false;
        }
        let base = View::base(term.address);
        let view = self
            .read::<HEAD>(base)
            .and_then(|head| View::open(self.pid, self.start_time, base, head));
        let found = view.is_some();
        self.failures.set(match found {
            true => 0,
            false => self.failures.get() + 1,
        });
        self.view.replace(view);
        found && self.word(term).is_some()
    }

    /// Whether the memory has not been taken back by now, after all that was read of it before.
    #[inline]
    pub fn lends(&self, term: Term) -> bool {
        self.word(term).is_some_and(|word| term.holds(word)) || self.lends_after_all(term)
    }

    /// The kernel knows the word itself, wherever it is.
    #[cold]
    fn lends_after_all(&self, term: Term) -> bool {
        let holds = self
            .read::<1>(term.address)
            .is_some_and(|[word]| term.holds(word));
        if holds {
            // What is mapped is not the peer's page any more.
            self.view.replace(None);
        }
        holds
    }

    fn read<const N: usize>(&self, address: u64) -> Option<[u64; N]> {
        let mut words = [0u64; N];
        let len = size_of::<[u64; N]>();
        let to = [Piece {
            address: words.as_mut_ptr().expose_provenance() as u64,
            len,
        }];
        let from = [Piece { address, len }];
        let read = transfer(Direction::Read, self.pid, &to, &from);
        read.is_ok_and(|n| n == len).then_some(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::hostid::start_time;
    use crate::uct::Lease;
    use crate::uct::lease::page::Page;

    fn lessor() -> Lessor {
        let pid = std::process::id();
        Lessor::new(pid, start_time(pid).expect("own"))
    }

    #[test]
    fn a_word_on_a_page_is_seen() {
        let page = Page::open().expect("memory");
        let lease = Lease::new();
        let term = Term::of(lease.key()).expect("fits");
        let lessor = lessor();
        assert!(lessor.shows(term) && lessor.lends(term));
        lease.revoke();
        assert!(lessor.shows(term) && !lessor.lends(term));
        drop(page);
        let lease = Lease::new();
        let term = Term::of(lease.key()).expect("fits");
        assert!(lessor.lends(term));
    }

    #[test]
    fn a_word_of_its_own_is_read_by_the_kernel() {
        let word = Box::new([0u64; 2048]);
        let key = (core::ptr::from_ref(&word[1024]).addr() as u64) >> 3 << 20;
        let term = Term::of(key).expect("not 0");
        let lessor = lessor();
        for _ in 0..2 * TRIES {
            assert!(!lessor.shows(term));
            assert!(lessor.lends(term));
        }
        let wrong = Term::of(key + 1).expect("not 0");
        assert!(!lessor.lends(wrong));
    }
}
