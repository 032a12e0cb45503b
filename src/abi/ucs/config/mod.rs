//! `ucs/config`.

pub mod global_opts;
pub mod ini;
pub mod parser;
pub mod types;

pub use global_opts::*;
pub use ini::*;
pub use parser::*;
pub use types::*;
