//! Memory that is lent to peers which read it behind its owner's back.
//!
//! A transport that copies straight from another process asks nobody there. So the owner of the
//! memory keeps a word beside it, which it changes before it takes the memory back; the reader
//! reads that word after the bytes, from a [`page`] that it maps or in the same call, and so knows
//! whether these were still what the owner had lent. The word's address and its expected content
//! make a key of 64 bits.

pub mod page;

use core::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::Arc;

use parking_lot::Mutex;

use page::Page;

/// Bits of the content; the rest of a key is the address, whose lowest three bits are 0.
const CONTENT_BITS: u32 = 20;
const CONTENT: u64 = (1 << CONTENT_BITS) - 1;

/// Words that are free. They stay where they are for the life of the process, each with the
/// content that it was given up with, so that an old key never becomes valid by chance.
static FREE: Mutex<Vec<&'static AtomicU64>> = Mutex::new(Vec::new());

/// Where a word is.
#[derive(Debug)]
enum Word {
    OnPage(Arc<Page>, usize),
    /// Nobody maps it.
    Own(&'static AtomicU64),
}

impl Word {
    fn new() -> Word {
        let page = Page::current();
        if let Some((page, offset)) = page.and_then(|page| page.take().map(|at| (page, at))) {
            return Word::OnPage(page, offset);
        }
        let free = FREE.lock().pop();
        Word::Own(free.unwrap_or_else(|| Box::leak(Box::new(AtomicU64::new(0)))))
    }

    fn get(&self) -> &AtomicU64 {
        match self {
            Word::OnPage(page, offset) => page.word(*offset),
            Word::Own(word) => word,
        }
    }

    /// False for what a child of fork has of its parent's.
    fn is_own(&self) -> bool {
        match self {
            Word::OnPage(page, _) => page.is_own(),
            Word::Own(_) => true,
        }
    }
}

/// Held as long as peers may read.
#[derive(Debug)]
pub struct Lease {
    word: Word,
    content: u64,
}

impl Lease {
    /// A new one, in force.
    pub fn new() -> Lease {
        let word = Word::new();
        let content = word.get().load(Ordering::Relaxed);
        Lease { word, content }
    }

    /// What a reader needs, or 0 if the word's address doesn't fit.
    pub fn key(&self) -> u64 {
        let address = core::ptr::from_ref(self.word.get()).expose_provenance() as u64;
        match address.leading_zeros() + 3 >= CONTENT_BITS {
            true => address >> 3 << CONTENT_BITS | self.content,
            false => 0,
        }
    }

    /// The memory is its owner's again, who may write to it after this call: who has read it
    /// without noticing has read what was there before.
    pub fn revoke(&self) {
        if !self.word.is_own() {
            return;
        }
        let next = (self.content + 1) & CONTENT;
        self.word.get().store(next, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }
}

impl Default for Lease {
    fn default() -> Self {
        Lease::new()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.revoke();
        match &self.word {
            Word::OnPage(page, offset) => page.give_back(*offset),
            Word::Own(word) => FREE.lock().push(word),
        }
    }
}

/// A key as its reader sees it.
#[derive(Clone, Copy, Debug)]
pub struct Term {
    /// Of the word, in the owner's process.
    pub address: u64,
    content: u64,
}

impl Term {
    /// `None` for the key 0: the memory is never taken back.
    pub fn of(key: u64) -> Option<Term> {
        (key != 0).then_some(Term {
            address: key >> CONTENT_BITS << 3,
            content: key & CONTENT,
        })
    }

    /// Whether the lease was in force when `word` was read.
    pub fn holds(self, word: u64) -> bool {
        word == self.content
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_until_it_is_revoked() {
        let lease = Lease::new();
        let term = Term::of(lease.key()).expect("a heap address fits");
        let word = lease.word.get();
        assert_eq!(term.address, core::ptr::from_ref(word).addr() as u64);
        assert!(term.holds(word.load(Ordering::SeqCst)));
        lease.revoke();
        assert!(!term.holds(word.load(Ordering::SeqCst)));
        assert!(Term::of(0).is_none());
    }

    #[test]
    fn no_two_share_a_key() {
        let mut seen = std::collections::HashSet::new();
        for _ in 0..1000 {
            let (a, b) = (Lease::new(), Lease::new());
            assert!(seen.insert(a.key()) && seen.insert(b.key()));
        }
    }
}
