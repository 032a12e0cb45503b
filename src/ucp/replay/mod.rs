//! Exactly once over lanes that die: a pure state machine, no I/O and no clock.
//!
//! Between two endpoints run two *channels*, each numbered from 1: one whose messages are delivered
//! in order, and one for the pieces of large transfers, which say themselves where they belong and
//! are delivered as they come. A message keeps its number for life; the lane it travels on is a
//! matter of the moment.
//!
//! The sender keeps every message until the receiver has acknowledged it, in a bounded [`Sender`];
//! the receiver marks a message delivered before anybody sees it, in a bounded [`Receiver`], and
//! acknowledges cumulatively ([`Acks`] says when).
//!
//! *Lane death is a handshake* ([`Lanes`]), in each direction by itself, since each side numbers
//! its own lanes. The sender stops using a lane and announces [`LaneDown`] on a survivor; the
//! receiver discards from then on what comes by that lane in that epoch and answers with
//! [`LaneStopped`], which says what has arrived; then the rest is sent again. So bytes in a dead
//! lane's buffers never land after their replay. Both messages may be lost with another lane: each
//! side says again what it has said whenever one of its lanes dies, and hearing it twice does no
//! harm. What is said of one life of a lane holds for all before it, so a lane may die, live and die
//! again however often before an answer comes: there may be no lane for it to come by.
//!
//! [`Link`] puts this together for one endpoint; [`Pair`] tells which link of the peer's goes with it.
#![forbid(unsafe_code)]

mod acks;
mod lanes;
mod link;
#[cfg(test)]
mod model;
mod pair;
mod receiver;
mod sender;

pub use acks::Acks;
pub use lanes::Lanes;
pub use link::{Counts, Incoming, Link, Posted};
pub use pair::{Hearing, Pair, Refusal};
pub use receiver::{Arrival, Receiver};
pub use sender::{Limits, Sender};

use smallvec::SmallVec;

/// Number of a message on its channel; the first is 1.
pub type Seq = u64;

/// Most lanes of an endpoint.
pub const MAX_LANES: usize = 16;

/// How far ahead of what is complete a message may be.
pub const WINDOW: u64 = 4096;

/// Ranges that one message names at most. What more there are is sent again, and dropped.
pub const MAX_RANGES: usize = 16;

/// A lane of the sender's, in one of its lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaneId {
    pub lane: u8,
    /// Counts the lives of a lane from 1.
    pub epoch: u16,
}

/// Which of the two sequences a message is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Channel {
    /// Delivered in the order of sending.
    Ordered = 0,
    /// Delivered as it comes.
    Bulk = 1,
}

impl Channel {
    pub const ALL: [Channel; 2] = [Channel::Ordered, Channel::Bulk];
}

/// What has arrived on one channel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Arrived {
    /// Everything up to this.
    pub upto: Seq,
    /// And these, first and last of each range, in order.
    pub ranges: SmallVec<[(Seq, Seq); 4]>,
}

/// What has arrived on both.
pub type State = [Arrived; 2];

/// "I don't use this lane any more." Tells what has arrived here by the way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaneDown {
    pub lane: LaneId,
    pub state: State,
}

/// "Nothing that comes by this lane of yours counts any more; this is what has come."
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaneStopped {
    pub lane: LaneId,
    pub state: State,
}
