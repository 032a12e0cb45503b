//! `ucs/vfs/base`.

pub mod vfs_cb;
pub mod vfs_obj;

pub use vfs_cb::*;
pub use vfs_obj::*;
