//! `ucs/profile`.

pub mod profile_defs;

pub use profile_defs::*;
