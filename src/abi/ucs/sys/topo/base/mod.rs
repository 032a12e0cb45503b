//! `ucs/sys/topo/base`.

pub mod topo;

pub use topo::*;
