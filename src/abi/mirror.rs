//! Exported data objects.

use core::cell::UnsafeCell;

/// A data object that C programs read, and may write, under its exported name.
///
/// Executables may carry a copy of it (a copy relocation) with the size of the headers they were
/// built with, so what we export has the smallest size among the versions served, and nothing of
/// ours depends on what it holds: the real state is a private Rust value.
#[repr(transparent)]
pub struct Mirror<T>(UnsafeCell<T>);

// SAFETY: all access goes through the raw pointer of `get`; whoever uses it answers for races, as
// C code does that touches the object.
unsafe impl<T> Sync for Mirror<T> {}

impl<T> Mirror<T> {
    pub const fn new(value: T) -> Self {
        Mirror(UnsafeCell::new(value))
    }

    /// The object's address.
    pub const fn get(&self) -> *mut T {
        self.0.get()
    }
}
