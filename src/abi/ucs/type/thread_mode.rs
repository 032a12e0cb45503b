//! `ucs/type/thread_mode.h`.

/// How threads use an object.
pub type ucs_thread_mode_t = u32;
/// One thread only.
pub const UCS_THREAD_MODE_SINGLE: ucs_thread_mode_t = 0;
/// Several threads, never at once.
pub const UCS_THREAD_MODE_SERIALIZED: ucs_thread_mode_t = 1;
/// Several threads at once.
pub const UCS_THREAD_MODE_MULTI: ucs_thread_mode_t = 2;
pub const UCS_THREAD_MODE_LAST: ucs_thread_mode_t = 3;
