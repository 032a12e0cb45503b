//! `ucs/async`.

pub mod async_fwd;

pub use async_fwd::*;
