//! `ucs/datastruct/callbackq_compat.h`.

pub type ucs_callbackq_flags = u64;
pub const UCS_CALLBACKQ_FLAG_FAST: ucs_callbackq_flags = 1 << 0;
pub const UCS_CALLBACKQ_FLAG_ONESHOT: ucs_callbackq_flags = 1 << 1;
