//! The lock of a worker in thread mode multi; no other mode pays for it.

use parking_lot::{ReentrantMutex, ReentrantMutexGuard};

/// Recursive, since callbacks run under it and call back.
pub struct WorkerLock(Option<Box<ReentrantMutex<()>>>);

/// Held while a thread works on the worker.
pub struct WorkerGuard<'a>(Option<ReentrantMutexGuard<'a, ()>>);

impl WorkerLock {
    pub fn new(multi: bool) -> WorkerLock {
        WorkerLock(multi.then(Box::default))
    }

    #[inline(always)]
    pub fn enter(&self) -> WorkerGuard<'_> {
        WorkerGuard(self.0.as_deref().map(acquire))
    }
}

impl Drop for WorkerGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(guard) = self.0.take() {
            release(guard);
        }
    }
}

// Calls of their own, so that the modes without a lock carry nothing but a test.

#[cold]
fn acquire(lock: &ReentrantMutex<()>) -> ReentrantMutexGuard<'_, ()> {
    lock.lock()
}

#[cold]
fn release(guard: ReentrantMutexGuard<'_, ()>) {
    drop(guard);
}
