//! Copies that both processes work at.
//!
//! One processor reading another's memory leaves the other idle, though both could copy: a large
//! copy is twice as fast when each side takes a part. So an interface has a [`Board`], a page of
//! memory that peers can map. Whoever has a large copy to do writes it on the board of the process
//! it copies from (or to), and begins at the front, chunk by chunk. That process, if it happens to
//! progress its interface, sees the [`Job`] and copies chunks from the back ([`help`]). Chunks are
//! claimed in one word, see [`word`], so that nobody waits for a peer that doesn't progress: at
//! most for the end of one chunk that it has begun.
//!
//! A board is only there where the kernel lets processes of one user into each other's memory
//! anyway: a helper copies what it is told.

mod board;
mod help;
mod job;
#[forbid(unsafe_code)]
mod word;

pub use board::{Board, allowed};
pub use job::{Claim, Helper, Job};

#[cfg(test)]
mod tests;
