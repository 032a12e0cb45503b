//! `uct/api/version.h`.

pub const UCT_VERNO_MAJOR: i32 = 1;
pub const UCT_VERNO_MINOR: i32 = 22;
pub const UCT_VERNO_PATCH: i32 = 0;
pub const UCT_VERNO_EXTRA: &str = "";
pub const UCT_VERNO_STRING: &str = "1.22.0";
pub const UCT_SCM_VERSION: &str = "8a6b06f";
pub const UCT_SCM_BRANCH: &str = "";
pub const UCT_MINOR_BIT: u64 = 1 << 4;
pub const UCT_MAJOR_BIT: u64 = 24;
pub const UCT_API: i64 = 18219008;
