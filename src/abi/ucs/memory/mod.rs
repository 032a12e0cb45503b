//! `ucs/memory`.

pub mod memory_type;
pub mod memtype_cache;
pub mod numa;
pub mod rcache;

pub use memory_type::*;
pub use memtype_cache::*;
pub use numa::*;
pub use rcache::*;
