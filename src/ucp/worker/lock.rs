//! The lock of a worker in thread mode multi; no other mode pays for it.

use parking_lot::{ReentrantMutex, ReentrantMutexGuard};

/// Recursive, since callbacks run under it and call back.
pub struct WorkerLock(Option<Box<ReentrantMutex<()>>>);

/// Held while a thread works on the worker.
pub struct WorkerGuard<'a> {
    _guard: Option<ReentrantMutexGuard<'a, ()>>,
}

impl WorkerLock {
    pub fn new(multi: bool) -> WorkerLock {
        WorkerLock(multi.then(Box::default))
    }

    #[inline]
    pub fn enter(&self) -> WorkerGuard<'_> {
        WorkerGuard {
            _guard: self.0.as_ref().map(|lock| lock.lock()),
        }
    }
}
