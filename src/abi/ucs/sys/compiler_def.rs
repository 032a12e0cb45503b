//! `ucs/sys/compiler_def.h`.

pub const UCS_ALLOCA_MAX_SIZE: i32 = 1200;
