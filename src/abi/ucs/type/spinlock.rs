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
    let _ = lock;
}

/// Destroys a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_recursive_spinlock_destroy(lock: *mut ucs_recursive_spinlock_t) {
    let _ = lock;
}

/// 1 if somebody holds the lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_spinlock_is_held(lock: *mut ucs_spinlock_t) -> c_int {
    let _ = lock;
    0
}

/// 1 if somebody holds the lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_recursive_spinlock_is_held(
    lock: *const ucs_recursive_spinlock_t,
) -> c_int {
    let _ = lock;
    0
}
