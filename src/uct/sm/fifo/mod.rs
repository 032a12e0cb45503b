//! The receive queue: rings of slots in a shared segment that the receiver makes.
//!
//! A slot has a control word and room for a short message, in one or two cache lines; longer
//! messages lie in the ring's data area, in as many lines as they need. The control word carries
//! id, length, place and a parity bit that alternates with each round, and is written last: one
//! release store publishes a message, and the receiver writes nothing per message. It tells
//! senders of free room once in a while, through a word of its own.
//!
//! Most rings have one sender, which needs no atomic read-modify-write to take a place. A sender
//! claims one when it attaches; when all are taken, it uses ring 0, where places are taken under a
//! lock, see [`share`]. An idle receiver reads one word per ring in use, and these stay in its cache.

pub mod area;
#[forbid(unsafe_code)]
pub mod layout;
pub mod rx;
mod share;
pub mod tx;
