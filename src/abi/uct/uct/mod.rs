//! `uct/uct`.

pub mod cm;
pub mod component;
pub mod ep;
pub mod iface;
pub mod md;
pub mod types;
pub mod worker;

pub use cm::*;
pub use component::*;
pub use ep::*;
pub use iface::*;
pub use md::*;
pub use types::*;
pub use worker::*;
