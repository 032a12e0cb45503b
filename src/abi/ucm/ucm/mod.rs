//! `ucm/api/ucm.h`.

pub mod calls;
pub mod handlers;
pub mod orig;
pub mod types;

pub use calls::*;
pub use handlers::*;
pub use orig::*;
pub use types::*;
