//! `ucs/arch/x86_64`.

pub mod global_opts;

pub use global_opts::*;
