//! `uct/v2/uct_v2`.

pub mod ep;
pub mod iface;
pub mod md;
pub mod outstanding;
pub mod perf;
pub mod types;

pub use ep::*;
pub use iface::*;
pub use md::*;
pub use outstanding::*;
pub use perf::*;
pub use types::*;
