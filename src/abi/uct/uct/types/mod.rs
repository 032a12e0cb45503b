//! `uct/uct/types`.

pub mod cm;
pub mod component;
pub mod ep;
pub mod iface;
pub mod md;

pub use cm::*;
pub use component::*;
pub use ep::*;
pub use iface::*;
pub use md::*;
