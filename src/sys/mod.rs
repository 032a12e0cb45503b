//! System calls and raw memory: the only place, beside `abi` and a few named modules of the
//! transports, where `unsafe` meets the operating system.

pub mod cpu;
#[allow(unsafe_code)]
pub mod event;
pub mod image;
pub mod map;
pub mod peek;
pub mod process;
pub mod stdio;

pub mod epoll;
pub mod net;
pub mod netdev;
pub mod netlink;
pub mod symbols;
pub mod usermem;
