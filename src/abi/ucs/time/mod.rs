//! `ucs/time`.

pub mod time_def;

pub use time_def::*;
