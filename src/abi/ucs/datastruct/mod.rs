//! `ucs/datastruct`.

pub mod array;
pub mod callbackq;
pub mod callbackq_compat;
pub mod hlist;
pub mod khash;
pub mod linear_func;
pub mod list;
pub mod mpool;
pub mod mpool_set;
pub mod pgtable;
pub mod piecewise_func;
pub mod queue_types;
pub mod strided_alloc;
pub mod string_buffer;
pub mod string_set;

pub use array::*;
pub use callbackq::*;
pub use callbackq_compat::*;
pub use hlist::*;
pub use khash::*;
pub use linear_func::*;
pub use list::*;
pub use mpool::*;
pub use mpool_set::*;
pub use pgtable::*;
pub use piecewise_func::*;
pub use queue_types::*;
pub use strided_alloc::*;
pub use string_buffer::*;
pub use string_set::*;
