//! `ucs/stats`.

pub mod libstats;
pub mod stats_fwd;

pub use libstats::*;
pub use stats_fwd::*;
