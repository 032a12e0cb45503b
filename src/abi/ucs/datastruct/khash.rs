//! Types of `ucs/datastruct/khash.h`, a hash table made of macros.

use crate::abi::prelude::*;

pub type khint32_t = c_uint;
pub type khint64_t = c_ulong;
pub type khint_t = khint32_t;
pub type khiter_t = khint_t;
pub type kh_cstr_t = *const c_char;
