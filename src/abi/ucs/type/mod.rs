//! `ucs/type`.

pub mod class;
pub mod cpu_set;
pub mod init_once;
pub mod spinlock;
pub mod status;
pub mod thread_mode;

pub use class::*;
pub use cpu_set::*;
pub use init_once::*;
pub use spinlock::*;
pub use status::*;
pub use thread_mode::*;
