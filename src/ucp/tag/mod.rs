//! Tag matching: posted receives, unexpected messages, and the messages that connect the two.

mod expected;
mod frags;
mod list;
pub mod recv;
pub mod send;
mod unexpected;

use core::cell::RefCell;

pub use expected::{Expected, MatchLink};
pub use frags::Fragments;
pub use unexpected::{AckTo, Body, Handle, Message, Partial, Unexpected};

use crate::ucp::dt::RecvBuf;
use crate::ucp::proto::rndv::ranges::Ranges;
use crate::ucp::wire::Origin;

/// The matching state of a worker. Each part is borrowed for single steps only, never across a
/// user's callback.
#[derive(Default)]
pub struct TagMatching {
    pub expected: RefCell<Expected>,
    pub unexpected: RefCell<Unexpected>,
    /// Where the next fragments of messages that are coming in go.
    pub fragments: RefCell<Fragments>,
}

impl TagMatching {
    /// Whether a message of this peer's endpoint has begun and not ended.
    pub fn has_part_from(&self, origin: Origin) -> bool {
        let fragments = self.fragments.borrow();
        !fragments.is_empty() && fragments.keys().any(|identity| identity.origin == origin)
    }
}

/// A receive: posted, or matched and still getting fragments.
pub struct TagRecv {
    pub buf: RecvBuf,
    /// What has come in so far.
    pub received: Ranges,
    /// A failure so far: truncation, or the user's own from unpacking.
    pub result: crate::ucs::status::Result<()>,
}

impl TagRecv {
    pub fn new(buf: RecvBuf) -> TagRecv {
        TagRecv {
            buf,
            received: Ranges::default(),
            result: Ok(()),
        }
    }
}
