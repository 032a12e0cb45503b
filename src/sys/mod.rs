//! System calls and raw memory: the only place, beside `abi` and a few named modules of the
//! transports, where `unsafe` meets the operating system.

pub mod cpu;
pub mod image;
pub mod stdio;

pub mod epoll;
pub mod net;
pub mod netdev;
pub mod netlink;
