//! System calls and raw memory: the only place, beside `abi` and a few named modules of the
//! transports, where `unsafe` meets the operating system.

pub mod atomic;
pub mod barrier;
pub mod cache;
pub mod cpu;
pub mod dl;
pub mod doorbell;
#[allow(unsafe_code)]
pub mod event;
pub mod fork;
pub mod hostid;
pub mod image;
pub mod map;
pub mod peek;
pub mod pidfd;
#[cfg(test)]
pub mod poll;
pub mod process;
pub mod shm;
pub mod sockbuf;
pub mod stdio;
pub mod strcopy;
pub mod vmcopy;

pub mod epoll;
pub mod net;
pub mod netdev;
pub mod netlink;
pub mod symbols;
pub mod sysv;
pub mod usermem;
