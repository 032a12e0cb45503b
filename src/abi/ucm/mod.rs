//! `ucm/`: memory events.

pub mod data;
pub(crate) mod dispatch;
pub mod ucm;

pub use data::*;
pub use ucm::*;
