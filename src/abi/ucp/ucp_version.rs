//! `ucp/api/ucp_version.h`.

pub const UCP_VERSION_MAJOR_SHIFT: i32 = 24;
pub const UCP_VERSION_MINOR_SHIFT: i32 = 16;
pub const UCP_API_MAJOR: i32 = 1;
pub const UCP_API_MINOR: i32 = 22;
pub const UCP_API_VERSION: i32 = 0x1160000;
