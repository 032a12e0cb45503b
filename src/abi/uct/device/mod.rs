//! `uct/device`.

pub mod uct_device_types;

pub use uct_device_types::*;
