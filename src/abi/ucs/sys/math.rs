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
    let _ = index;
    0
}

/// Seeds the random numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_rand_seed_init() {}

/// A random number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_rand() -> c_int {
    0
}

/// A random number in a range, both ends included.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_rand_range(
    range_min: c_int,
    range_max: c_int,
    rand_val: *mut c_int,
) -> ucs_status_t {
    let _ = (range_min, range_max, rand_val);
    NOT_IMPLEMENTED
}
