//! `ucs/arch`.

pub mod global_opts;
pub mod x86_64;

pub use global_opts::*;
pub use x86_64::*;
