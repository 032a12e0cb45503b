//! Types of `ucs/datastruct/khash.h`, a hash table made of macros.

use crate::abi::prelude::*;

/// What putting a key into a table did: failed, found it there, took an empty place, took the place
/// of a deleted key.
pub const UCS_KH_PUT_FAILED: i32 = -1;
pub const UCS_KH_PUT_KEY_PRESENT: i32 = 0;
pub const UCS_KH_PUT_BUCKET_EMPTY: i32 = 1;
pub const UCS_KH_PUT_BUCKET_CLEAR: i32 = 2;

pub type khint32_t = c_uint;
pub type khint64_t = c_ulong;
pub type khint_t = khint32_t;
pub type khiter_t = khint_t;
pub type kh_cstr_t = *const c_char;
