//! UCX in Rust. One crate holds UCX's four layers; each knows only those below it:
//!
//! ```text
//! abi    the C boundary: names, layouts, argument checks; no logic
//! ucp    protocols: endpoints, matching, rendezvous; no system calls
//! uct    transports: one folder each, all behind one set of traits; they do the I/O
//! ucs    services (configuration, log, topology)      ucm   memory events
//! sys    system calls and raw memory
//! ```

#[allow(unsafe_code)]
pub mod abi;
pub mod tools;
pub mod ucm;
pub mod ucp;
pub mod ucs;
pub mod uct;

/// System calls and raw memory.
#[allow(unsafe_code)]
pub mod sys;
