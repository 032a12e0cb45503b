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

/// A number that processors change atomically.
pub trait Word: Copy {
    /// Changes a word and returns what it was; `None` if it is not aligned.
    ///
    /// # Safety
    /// `at` points to a word that may be read and written by several processes at once.
    unsafe fn fetch(at: *mut u8, change: Change, value: Self) -> Option<Self>;

    /// Puts `new` in the place of `expected`, and returns what was there; `None` if the word is
    /// not aligned.
    ///
    /// # Safety
    /// As for the other operations.
    unsafe fn compare(at: *mut u8, expected: Self, new: Self) -> Option<Self>;
}

macro_rules! word {
    ($word:ty, $atomic:ty) => {
        impl Word for $word {
            #[inline]
            unsafe fn fetch(at: *mut u8, change: Change, value: $word) -> Option<$word> {
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

            #[inline]
            unsafe fn compare(at: *mut u8, expected: $word, new: $word) -> Option<$word> {
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
        }
    };
}

word!(u32, AtomicU32);
word!(u64, AtomicU64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_change() {
        let mut word = 0b1100u64;
        let at = (&raw mut word).cast::<u8>();
        // SAFETY: a live word of this test.
        unsafe {
            assert_eq!(u64::fetch(at, Change::Add, 1), Some(0b1100));
            assert_eq!(u64::fetch(at, Change::And, 0b0101), Some(0b1101));
            assert_eq!(u64::fetch(at, Change::Or, 0b0010), Some(0b0101));
            assert_eq!(u64::fetch(at, Change::Xor, 0b1111), Some(0b0111));
            assert_eq!(u64::fetch(at, Change::Swap, 7), Some(0b1000));
            assert_eq!(u64::compare(at, 8, 9), Some(7));
            assert_eq!(u64::compare(at, 7, 9), Some(7));
            assert_eq!(u32::fetch(at, Change::Add, u32::MAX), Some(9));
            assert_eq!(u32::compare(at, 8, 5), Some(8));
            assert_eq!(u64::fetch(at.add(1), Change::Add, 1), None);
            assert_eq!(u32::compare(at.add(2), 0, 1), None);
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
