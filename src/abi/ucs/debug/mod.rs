//! `ucs/debug`.

pub mod debug;
pub mod log_def;
pub mod memtrack;

pub use debug::*;
pub use log_def::*;
pub use memtrack::*;
