//! Memory events (UCM): who wants to hear of memory that comes and goes, and what others report.
//!
//! No hooks are installed: events are those that go through the library's own calls
//! (`ucm_munmap`) and those that somebody else, who has hooks, reports (`ucm_vm_munmap`).
#![forbid(unsafe_code)]

pub mod events;
pub mod handlers;

pub use handlers::Handlers;
