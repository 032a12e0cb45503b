//! Operations in flight.
//!
//! An operation is a [`Stage`], which owns what can't be had again (the user's buffer and
//! request, the message's identity, the peer's op), and an [`Stage::Attempt`], which owns what a
//! restart can rebuild (offsets on a lane, posted work). Together they are a [`Flight`]; only
//! its driver moves a stage on, by value, and only the driver decides about a restart. A
//! protocol sees its stage by reference: it can't let go of it, nor restart once it has moved on.

pub mod am;
pub mod amo;
pub mod eager;
mod flight;
pub mod key;
pub mod pieces;
pub mod rma;
pub mod rndv;
pub mod spread;
pub mod stream;
pub mod verdict;

pub use flight::{Driven, Flight, Stage, Step};

use crate::ucp::ep::flush::Flush;
use crate::ucp::tag::TagRecv;

use eager::{Eager, EagerZcopy};
use rndv::{Announce, Drain, Fetch, Load, Offered, Ppln, Receive, Stream};

/// What a request is doing.
#[derive(Default)]
pub enum Op {
    #[default]
    None,
    /// A receive: posted, or getting eager fragments.
    Recv(TagRecv),
    /// An eager send that is not out yet.
    Eager(Flight<Eager>),
    /// An eager send straight from the user's memory.
    EagerZcopy(Flight<EagerZcopy>),
    /// A synchronous eager send that waits for its acknowledgement.
    SyncWait,
    /// An active message of the user that is not out yet.
    AmEager(Flight<am::AmEager>),
    Announce(Flight<Announce>),
    Offered(Offered),
    Stream(Flight<Stream>),
    /// A rendezvous whose bytes this side writes to the receiver's memory.
    RndvPut(Flight<rndv::Put>),
    /// A sender that was stopped while lanes were still reading its memory.
    Drain(Drain),
    Fetch(Flight<Fetch>),
    /// A receive from memory of the sender that is mapped here.
    Load(Flight<Load>),
    /// A receive by fragments.
    Ppln(Ppln),
    Receive(Receive),
    StreamSend(Flight<stream::StreamSend>),
    /// A put that has not left this side.
    Put(Flight<rma::Put>),
    /// A get that is being read, or not asked for yet.
    Get(Flight<rma::Get>),
    /// A get whose bytes the target sends.
    Asked(rma::Asked),
    /// An atomic operation that is not sent yet.
    Atomic(Flight<amo::Atomic>),
    /// One whose result is to come.
    AtomicWait(amo::Wait),
    /// What is held behind a fence waits for this.
    Fence(crate::ucp::rma::order::InFlight),
    Flush(Flush),
    WorkerFlush(crate::ucp::worker::WorkerFlush),
}
