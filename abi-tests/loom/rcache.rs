//! The parts of the registration cache that take no lock.

#[path = "../../src/ucs/rcache/pending.rs"]
pub mod pending;
#[path = "../../src/ucs/rcache/slots.rs"]
pub mod slots;
#[path = "../../src/ucs/rcache/span.rs"]
pub mod span;

/// What they are made of.
pub mod sync {
    pub use loom::hint::spin_loop;
    pub use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
    pub use loom::thread::yield_now;

    pub type Place<T> = loom::cell::UnsafeCell<T>;

    pub const CHUNK: usize = 1;
    pub const ROOM: usize = 2;
}
