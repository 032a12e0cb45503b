//! Asynchronous contexts: 80 bytes of which the first 40 are a lock that macros in the tools take
//! themselves, to keep handlers from being called meanwhile.
//!
//! cbindgen:ignore

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::abi::prelude::*;
use crate::abi::ucs::sys::event_set;
use crate::ucs::async_handlers::{self, Target};

/// The first words of a context whose lock is a recursive spin lock.
#[repr(C)]
pub(super) struct Spin {
    lock: libc::pthread_spinlock_t,
    count: AtomicU32,
    owner: AtomicU64,
}

/// Where the mode lies, in words.
const MODE: usize = 5;

/// # Safety
/// `storage` is writable.
pub(crate) unsafe fn init(storage: *mut ucs_async_context_storage, mode: ucs_async_mode_t) {
    // SAFETY: storage of the caller's, large enough for either lock.
    unsafe {
        storage.write(ucs_async_context_storage { opaque: [0; 10] });
        (*storage).opaque[MODE] = u64::from(mode);
        match mode {
            UCS_ASYNC_MODE_THREAD_SPINLOCK => {
                let spin = storage.cast::<Spin>();
                libc::pthread_spin_init(&raw mut (*spin).lock, libc::PTHREAD_PROCESS_PRIVATE);
                (*spin)
                    .owner
                    .store(UCS_ASYNC_PTHREAD_ID_NULL, Ordering::Relaxed);
            }
            UCS_ASYNC_MODE_THREAD_MUTEX => {
                let mut kind: libc::pthread_mutexattr_t = core::mem::zeroed();
                libc::pthread_mutexattr_init(&mut kind);
                libc::pthread_mutexattr_settype(&mut kind, libc::PTHREAD_MUTEX_RECURSIVE);
                libc::pthread_mutex_init(storage.cast(), &kind);
                libc::pthread_mutexattr_destroy(&mut kind);
            }
            _ => {}
        }
    }
}

/// # Safety
/// `storage` was initialised and isn't used any more.
pub(crate) unsafe fn clean_up(storage: *mut ucs_async_context_storage) {
    let left = async_handlers::count(storage as usize);
    if left != 0 {
        crate::ucs_warn!("an asynchronous context goes with {left} handlers left");
    }
    // SAFETY: as the caller promises.
    unsafe {
        match (*storage).opaque[MODE] as ucs_async_mode_t {
            UCS_ASYNC_MODE_THREAD_SPINLOCK => {
                libc::pthread_spin_destroy(&raw mut (*storage.cast::<Spin>()).lock);
            }
            UCS_ASYNC_MODE_THREAD_MUTEX => {
                libc::pthread_mutex_destroy(storage.cast());
            }
            _ => {}
        }
    }
}

/// The mode of a context.
///
/// # Safety
/// `storage` was initialised.
pub(super) unsafe fn mode(storage: *const ucs_async_context_storage) -> ucs_async_mode_t {
    // SAFETY: as the caller promises.
    unsafe { (*storage).opaque[MODE] as ucs_async_mode_t }
}

/// A C function with what it is called with.
pub(super) struct Called {
    pub function: unsafe extern "C" fn(c_int, ucs_event_set_types_t, *mut c_void),
    pub arg: *mut c_void,
    /// NULL: nothing keeps it from being called.
    pub context: *mut ucs_async_context_storage,
}

// SAFETY: by the API, handlers are called from other threads; the context is only used by its lock.
unsafe impl Send for Called {}
// SAFETY: as above.
unsafe impl Sync for Called {}

impl Target for Called {
    fn call(&self, id: i32, events: u32) -> bool {
        // SAFETY: a context outlives its handlers; whoever set the handler promised the signature.
        unsafe {
            if self.context.is_null() {
                (self.function)(id, events as ucs_event_set_types_t, self.arg);
                return true;
            }
            if !try_block(self.context) {
                return false;
            }
            (self.function)(id, events as ucs_event_set_types_t, self.arg);
            unblock(self.context);
        }
        true
    }

    fn wanted(&self, events: u32) -> u32 {
        event_set::to_epoll(events as ucs_event_set_types_t)
    }

    fn seen(&self, events: u32) -> u32 {
        u32::from(event_set::from_epoll(events))
    }
}

/// # Safety
/// `storage` was initialised.
unsafe fn try_block(storage: *mut ucs_async_context_storage) -> bool {
    // SAFETY: as the caller promises; the lock is of the context's mode.
    unsafe {
        match mode(storage) {
            UCS_ASYNC_MODE_THREAD_SPINLOCK => {
                let spin = storage.cast::<Spin>();
                let this = libc::pthread_self() as u64;
                if (*spin).owner.load(Ordering::Acquire) != this {
                    if libc::pthread_spin_trylock(&raw mut (*spin).lock) != 0 {
                        return false;
                    }
                    (*spin).owner.store(this, Ordering::Release);
                }
                (*spin).count.fetch_add(1, Ordering::Relaxed);
                true
            }
            UCS_ASYNC_MODE_THREAD_MUTEX => libc::pthread_mutex_trylock(storage.cast()) == 0,
            // The number of blocks; only its own thread polls.
            UCS_ASYNC_MODE_POLL => storage.cast::<c_int>().read_volatile() == 0,
            _ => true,
        }
    }
}

/// # Safety
/// After a successful [`try_block`], in the same thread.
unsafe fn unblock(storage: *mut ucs_async_context_storage) {
    // SAFETY: as the caller promises.
    unsafe {
        match mode(storage) {
            UCS_ASYNC_MODE_THREAD_SPINLOCK => {
                let spin = storage.cast::<Spin>();
                if (*spin).count.fetch_sub(1, Ordering::Relaxed) == 1 {
                    (*spin)
                        .owner
                        .store(UCS_ASYNC_PTHREAD_ID_NULL, Ordering::Release);
                    libc::pthread_spin_unlock(&raw mut (*spin).lock);
                }
            }
            UCS_ASYNC_MODE_THREAD_MUTEX => {
                libc::pthread_mutex_unlock(storage.cast());
            }
            _ => {}
        }
    }
}
