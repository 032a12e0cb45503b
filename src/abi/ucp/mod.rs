//! `ucp/`: protocols.

pub mod convert;
pub mod device;
pub mod own;
pub mod ucp;
pub mod ucp_compat;
pub mod ucp_def;
pub mod ucp_version;

pub use device::*;
pub use own::*;
pub use ucp::*;
pub use ucp_compat::*;
pub use ucp_def::*;
pub use ucp_version::*;
