//! `ucp/device`.

pub mod ucp_device_types;
pub mod ucp_host;

pub use ucp_device_types::*;
pub use ucp_host::*;
