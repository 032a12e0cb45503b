//! `uct/v2`.

pub mod uct_v2;

pub use uct_v2::*;
