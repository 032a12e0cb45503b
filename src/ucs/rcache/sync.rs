//! What the parts of the cache that take no lock are made of. `abi-tests/loom` compiles those parts
//! over another module of this name, in which threads meet in every order.

pub use core::hint::spin_loop;
pub use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
pub use std::thread::yield_now;

use core::cell::UnsafeCell;

/// Slots that are made at a time.
pub const CHUNK: usize = 64;

/// Ranges that are noted one by one.
pub const ROOM: usize = 64;

/// A value that threads share by rules of their own.
pub struct Place<T>(UnsafeCell<T>);

impl<T> Place<T> {
    pub const fn new(value: T) -> Place<T> {
        Place(UnsafeCell::new(value))
    }

    /// Calls with where it is, to read.
    #[inline]
    pub fn with<O>(&self, call: impl FnOnce(*const T) -> O) -> O {
        call(self.0.get())
    }

    /// Calls with where it is, to write.
    #[inline]
    pub fn with_mut<O>(&self, call: impl FnOnce(*mut T) -> O) -> O {
        call(self.0.get())
    }
}
