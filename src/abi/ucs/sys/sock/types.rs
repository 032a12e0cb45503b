//! Constants of `ucs/sys/sock.h`.

pub const UCS_IPV4_ADDR_LEN: u64 = 1 << 2;
pub const UCS_IPV6_ADDR_LEN: u64 = 1 << 4;
pub const UCS_IPV4_SOCKADDR_LEN: u64 = 1 << 4;
pub const UCS_IPV6_SOCKADDR_LEN: u64 = 28;
pub const UCS_SOCKADDR_STRING_LEN: i32 = 60;
