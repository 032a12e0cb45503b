//! The page that lease words are on. Readers map it: a look at a word is a load then, and no part of
//! a call into the kernel, which takes a fifth of a microsecond for it.
//!
//! A reader finds the page by the word's address: in front of the words it says how it is opened.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::sys::event::random_u64;
use crate::sys::fork;
use crate::sys::hostid::start_time;
use crate::sys::shm::{Mapping, file_of_process, memory_file};

const MAGIC: u64 = u64::from_le_bytes(*b"ucxlend1");
const LEN: usize = 4096;
const WORD: usize = size_of::<u64>();
/// Where the words begin; before that is the head, whose first word is 0 once the page is gone.
const FIRST: usize = 64;
/// Words of the head that a reader needs.
pub const HEAD: usize = 6;

/// That of this process, as long as anybody holds it.
static PAGE: Mutex<Weak<Page>> = Mutex::new(Weak::new());

/// Words of this process.
#[derive(Debug)]
pub struct Page {
    map: Mapping,
    _file: File,
    /// A child of fork has the page too, but must leave it alone.
    births: u32,
    /// Offsets of the words that nobody has.
    free: Mutex<Vec<usize>>,
}

impl Page {
    /// That of this process, made if there is none.
    ///
    /// # Errors
    /// The kernel's: leases do without then.
    pub fn open() -> io::Result<Arc<Page>> {
        let mut page = PAGE.lock();
        if let Some(page) = page.upgrade().filter(|page| page.is_own()) {
            return Ok(page);
        }
        let new = Arc::new(Page::new()?);
        *page = Arc::downgrade(&new);
        Ok(new)
    }

    /// That of this process, if there is one.
    pub fn current() -> Option<Arc<Page>> {
        PAGE.lock().upgrade().filter(|page| page.is_own())
    }

    fn new() -> io::Result<Page> {
        fork::watch()?;
        let file = memory_file(LEN)?;
        let map = Mapping::of_file(&file, LEN)?;
        let (pid, base) = (std::process::id(), map.as_ptr().as_ptr());
        // Words don't begin with the same content on the next page, which may lie where this one did.
        let nonce = random_u64();
        for offset in (FIRST..LEN).step_by(WORD) {
            let word = map.word64(offset);
            word.store(nonce & super::CONTENT, Ordering::Relaxed);
        }
        let head: [u64; HEAD] = [
            MAGIC,
            u64::from(pid),
            start_time(pid).unwrap_or(0),
            file.as_raw_fd() as u64,
            base.expose_provenance() as u64,
            nonce,
        ];
        for (i, value) in head.into_iter().enumerate() {
            map.word64(i * WORD).store(value, Ordering::Relaxed);
        }
        Ok(Page {
            map,
            _file: file,
            births: fork::births(),
            free: Mutex::new((FIRST..LEN).step_by(WORD).rev().collect()),
        })
    }

    /// Whether it is not the parent's.
    #[inline]
    pub fn is_own(&self) -> bool {
        self.births == fork::births()
    }

    /// A word that nobody has: its offset.
    pub fn take(&self) -> Option<usize> {
        self.free.lock().pop()
    }

    pub fn give_back(&self, offset: usize) {
        self.free.lock().push(offset);
    }

    pub fn word(&self, offset: usize) -> &AtomicU64 {
        self.map.word64(offset)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        if self.is_own() {
            self.map.word64(0).store(0, Ordering::SeqCst);
        }
    }
}

/// A peer's page.
#[derive(Debug)]
pub struct View {
    base: u64,
    map: Mapping,
}

impl View {
    /// Where the page of the word at `address` begins, if it is on one.
    pub fn base(address: u64) -> u64 {
        address & !(LEN as u64 - 1)
    }

    /// The page that begins at `base` with `head` in process `pid`, if that is one.
    pub fn open(pid: u32, start_time: u64, base: u64, head: [u64; HEAD]) -> Option<View> {
        let [magic, its_pid, its_start, fd, its_base, _] = head;
        if [magic, its_pid, its_start, its_base] != [MAGIC, u64::from(pid), start_time, base] {
            return None;
        }
        let file = file_of_process(pid, i32::try_from(fd).ok()?).ok()?;
        if file.metadata().ok()?.len() != LEN as u64 {
            return None;
        }
        let map = Mapping::of_file(&file, LEN).ok()?;
        let same = |(i, value): (usize, u64)| map.word64(i * WORD).load(Ordering::Relaxed) == value;
        let is_it = head.into_iter().enumerate().all(same);
        is_it.then_some(View { base, map })
    }

    /// What the word at `address` says now, after all that was read before; `None` if it is not
    /// here, or not any more.
    #[inline]
    pub fn word(&self, address: u64) -> Option<u64> {
        let offset = usize::try_from(address.checked_sub(self.base)?).ok()?;
        if !(FIRST..LEN).contains(&offset) {
            return None;
        }
        fence(Ordering::Acquire);
        let word = self.map.word64(offset).load(Ordering::Acquire);
        (self.map.word64(0).load(Ordering::Relaxed) == MAGIC).then_some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(page: &Page) -> [u64; HEAD] {
        core::array::from_fn(|i| page.word(i * WORD).load(Ordering::Relaxed))
    }

    #[test]
    fn a_peer_finds_its_words() {
        let page = Page::new().expect("memory");
        let (pid, base) = (std::process::id(), page.map.as_ptr().as_ptr() as u64);
        let start = start_time(pid).expect("own");
        let offset = page.take().expect("a word");
        let address = base + offset as u64;
        assert_eq!(View::base(address), base);
        let view = View::open(pid, start, base, head(&page)).expect("there");
        let content = page.word(offset).load(Ordering::Relaxed);
        assert_eq!(view.word(address), Some(content));
        page.word(offset).store(content + 1, Ordering::SeqCst);
        assert_eq!(view.word(address), Some(content + 1));
        assert_eq!(view.word(base), None);
        assert_eq!(view.word(base + LEN as u64), None);
        assert_eq!(view.word(base - 8), None);
        assert!(View::open(pid, start + 1, base, head(&page)).is_none());
        assert!(View::open(pid, start, base + 4096, head(&page)).is_none());
        assert!(View::open(pid, start, base, [0; HEAD]).is_none());
        // Another with the same descriptor.
        let mut other = head(&page);
        other[HEAD - 1] ^= 1;
        assert!(View::open(pid, start, base, other).is_none());
        drop(page);
        assert_eq!(view.word(address), None);
    }

    #[test]
    fn words_are_given_once() {
        let page = Page::new().expect("memory");
        let taken: std::collections::HashSet<_> = core::iter::from_fn(|| page.take()).collect();
        assert_eq!(taken.len(), (LEN - FIRST) / WORD);
        page.give_back(FIRST);
        assert_eq!(page.take(), Some(FIRST));
    }
}
