//! `ucs/sys/topo`.

pub mod base;

pub use base::*;
