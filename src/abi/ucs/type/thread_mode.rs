//! `ucs/type/thread_mode.h`.

pub type ucs_thread_mode_t = u32;
pub const UCS_THREAD_MODE_SINGLE: ucs_thread_mode_t = 0;
pub const UCS_THREAD_MODE_SERIALIZED: ucs_thread_mode_t = 1;
pub const UCS_THREAD_MODE_MULTI: ucs_thread_mode_t = 2;
pub const UCS_THREAD_MODE_LAST: ucs_thread_mode_t = 3;
