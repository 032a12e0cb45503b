//! `ucm/`: memory events.

pub mod data;
pub mod ucm;

pub use data::*;
pub use ucm::*;
