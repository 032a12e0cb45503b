//! Memory that the processor reaches by itself: atomic operations on it.
//!
//! Keys of such memory are the distance from the owner's address to ours.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What an atomic operation makes of a value in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    Add,
    And,
    Or,
    Xor,
    Swap,
}

/// Where memory of a peer is in this process.
#[inline(always)]
pub fn local(remote: u64, key: usize) -> *mut u8 {
    core::ptr::with_exposed_provenance_mut((remote as usize).wrapping_add(key))
}

macro_rules! atomics {
    ($fetch:ident, $compare:ident, $word:ty, $atomic:ty) => {
        /// Changes a word and returns what it was; `None` if it is not aligned.
        ///
        /// # Safety
        /// `at` points to a word that may be read and written by several processes at once.
        pub unsafe fn $fetch(at: *mut u8, change: Change, value: $word) -> Option<$word> {
            let at: *mut $word = at.cast();
            if !at.is_aligned() {
                return None;
            }
            // SAFETY: aligned, and valid as the caller says.
            let word = unsafe { <$atomic>::from_ptr(at) };
            Some(match change {
                Change::Add => word.fetch_add(value, Ordering::SeqCst),
                Change::And => word.fetch_and(value, Ordering::SeqCst),
                Change::Or => word.fetch_or(value, Ordering::SeqCst),
                Change::Xor => word.fetch_xor(value, Ordering::SeqCst),
                Change::Swap => word.swap(value, Ordering::SeqCst),
            })
        }

        /// Puts `new` in the place of `expected`, and returns what was there; `None` if the word
        /// is not aligned.
        ///
        /// # Safety
        /// As for the other operations.
        pub unsafe fn $compare(at: *mut u8, expected: $word, new: $word) -> Option<$word> {
            let at: *mut $word = at.cast();
            if !at.is_aligned() {
                return None;
            }
            // SAFETY: aligned, and valid as the caller says.
            let word = unsafe { <$atomic>::from_ptr(at) };
            let order = Ordering::SeqCst;
            match word.compare_exchange(expected, new, order, order) {
                Ok(before) | Err(before) => Some(before),
            }
        }
    };
}

atomics!(fetch32, compare32, u32, AtomicU32);
atomics!(fetch64, compare64, u64, AtomicU64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_change() {
        let mut word = 0b1100u64;
        let at = (&raw mut word).cast::<u8>();
        // SAFETY: a live word of this test.
        unsafe {
            assert_eq!(fetch64(at, Change::Add, 1), Some(0b1100));
            assert_eq!(fetch64(at, Change::And, 0b0101), Some(0b1101));
            assert_eq!(fetch64(at, Change::Or, 0b0010), Some(0b0101));
            assert_eq!(fetch64(at, Change::Xor, 0b1111), Some(0b0111));
            assert_eq!(fetch64(at, Change::Swap, 7), Some(0b1000));
            assert_eq!(compare64(at, 8, 9), Some(7));
            assert_eq!(compare64(at, 7, 9), Some(7));
            assert_eq!(fetch32(at, Change::Add, u32::MAX), Some(9));
            assert_eq!(compare32(at, 8, 5), Some(8));
            assert_eq!(fetch64(at.add(1), Change::Add, 1), None);
            assert_eq!(compare32(at.add(2), 0, 1), None);
        }
        assert_eq!(word, 5);
    }

    #[test]
    fn keys_are_distances() {
        let here = 5u32;
        let address = (&raw const here).expose_provenance();
        let theirs = 0x1000u64;
        let key = address.wrapping_sub(theirs as usize);
        assert_eq!(local(theirs, key).addr(), address);
    }
}
