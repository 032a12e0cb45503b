//! `ucs/type/spinlock.h`.

use crate::abi::prelude::*;

pub type ucs_spinlock_flag_shared_enum = u64;
pub const UCS_SPINLOCK_FLAG_SHARED: ucs_spinlock_flag_shared_enum = 1 << 0;

pub type ucs_spinlock_t = ucs_spinlock;
pub type ucs_recursive_spinlock_t = ucs_recursive_spinlock;

#[repr(C)]
pub struct ucs_spinlock {
    pub lock: pthread_spinlock_t,
}

#[repr(C)]
pub struct ucs_recursive_spinlock {
    pub super_: ucs_spinlock_t,
    pub count: c_int,
    pub owner: pthread_t,
}

/// Destroys a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_spinlock_destroy(lock: *mut ucs_spinlock_t) {
    if !lock.is_null() {
        // SAFETY: not NULL, so an initialised lock that nobody holds.
        unsafe { libc::pthread_spin_destroy(&raw mut (*lock).lock) };
    }
}

/// Destroys a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_recursive_spinlock_destroy(lock: *mut ucs_recursive_spinlock_t) {
    if !lock.is_null() {
        // SAFETY: not NULL, so an initialised lock that nobody holds.
        unsafe { ucs_spinlock_destroy(&raw mut (*lock).super_) };
    }
}

/// 1 if somebody holds the lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_spinlock_is_held(lock: *mut ucs_spinlock_t) -> c_int {
    if lock.is_null() {
        return 0;
    }
    // SAFETY: not NULL, so an initialised lock, which is given back when it could be taken.
    unsafe {
        let lock = &raw mut (*lock).lock;
        if libc::pthread_spin_trylock(lock) != 0 {
            return 1;
        }
        libc::pthread_spin_unlock(lock);
    }
    0
}

/// 1 if somebody holds the lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_recursive_spinlock_is_held(
    lock: *const ucs_recursive_spinlock_t,
) -> c_int {
    // SAFETY: NULL or an initialised lock, whose count others may change meanwhile.
    let count = unsafe { lock.as_ref() }.map_or(0, |lock| {
        // SAFETY: an aligned word of the lock.
        unsafe { (&raw const lock.count).read_volatile() }
    });
    c_int::from(count != 0)
}
