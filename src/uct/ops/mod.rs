//! What the C interface of transports needs beside the traits: access to memory that is mapped
//! here, packed keys of such memory, and memory allocated without a memory domain.

pub mod alloc;
pub mod direct;
pub mod key;
