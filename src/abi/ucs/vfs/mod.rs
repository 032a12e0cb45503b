//! `ucs/vfs`.

pub mod base;

pub use base::*;
