//! `ucs/sys/math.h`.

use crate::abi::prelude::*;

pub const UCS_KBYTE: u64 = 1 << 10;
pub const UCS_MBYTE: u64 = 1 << 20;
pub const UCS_GBYTE: u64 = 1 << 30;
pub const UCS_TBYTE: u64 = 1 << 40;
pub const UCS_PBYTE: u64 = 1 << 50;

/// Prime number of an index.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_get_prime(index: c_uint) -> u64 {
    crate::ucs::math::prime(index as usize)
}

/// Seeds the random numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_rand_seed_init() {
    // SAFETY: takes no pointers.
    unsafe { libc::srand(crate::sys::event::random_u64() as c_uint) };
}

/// A random number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_rand() -> c_int {
    // SAFETY: takes no pointers. As in C, numbers from 0 to RAND_MAX.
    unsafe { libc::rand() }
}

/// A random number in a range, both ends included.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_rand_range(
    range_min: c_int,
    range_max: c_int,
    rand_val: *mut c_int,
) -> ucs_status_t {
    if rand_val.is_null() {
        return Error::InvalidParam.into();
    }
    if range_min > range_max {
        crate::ucs_error!("invalid range of random numbers: {range_min} to {range_max}");
        return Error::InvalidParam.into();
    }
    let span = (i64::from(range_max) - i64::from(range_min) + 1).unsigned_abs();
    // SAFETY: takes no pointers.
    let number = (unsafe { ucs_rand() }).unsigned_abs();
    let offset = u64::from(number) % span;
    let value = i64::from(range_min).saturating_add_unsigned(offset);
    // SAFETY: not NULL. Below `range_max`, so it fits.
    unsafe { rand_val.write(value as c_int) };
    Status::OK
}
