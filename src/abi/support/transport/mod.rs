//! Handles of the `uct/` headers: what is behind the pointers that C holds.

pub mod alloc;
pub mod cm;
pub mod component;
pub mod config;
pub mod create;
pub mod desc;
pub mod ep;
pub mod iface;
pub mod lists;
pub mod md;
pub mod memory;
pub mod ops;
pub mod query;
pub mod reach;
pub mod stub;
pub mod worker;
