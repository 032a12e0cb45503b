//! `uct/`: transports.

pub mod data;
pub mod device;
pub mod tl;
pub mod uct;
pub mod uct_def;
pub mod v2;
pub mod version;

pub use data::*;
pub use device::*;
pub use tl::*;
pub use uct::*;
pub use uct_def::*;
pub use v2::*;
pub use version::*;
