//! CUDA: the driver as we see it, and the transports over it.
//!
//! Nobody's current context is needed, and none is changed: what needs a context finds that of the
//! memory ([`memtype`]) and has it current for the time of the call ([`context`]).

pub mod context;
pub mod copy;
#[allow(unsafe_code)]
pub mod driver;
pub mod ipc;
#[allow(unsafe_code)]
pub mod memory;
pub mod memtype;
#[allow(unsafe_code)]
pub mod mover;
