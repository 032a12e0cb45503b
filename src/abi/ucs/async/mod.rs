//! `ucs/async`.

pub mod async_fwd;
pub(crate) mod context;

pub use async_fwd::*;
