//! The host's side of communication that code on a device starts: lists of memory, which the device
//! reads, and counters, which others increment.
#![forbid(unsafe_code)]

pub mod counter;
mod list;

pub use list::{Remote, length, local, release, remote};
