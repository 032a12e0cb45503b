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
pub mod pieces;
pub mod rma;
pub mod rndv;
pub mod stream;
pub mod verdict;

use std::rc::Rc;

use crate::ucp::ep::Endpoint;
use crate::ucp::ep::flush::Flush;
use crate::ucp::tag::TagRecv;
use crate::ucs::status::{Error, Result};

use eager::{Eager, EagerZcopy};
use rndv::{Announce, Fetch, Offered, Receive, Stream};
use verdict::Verdict;

/// How far one step of an attempt came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The stage's work is done: the driver moves it on.
    Done,
    /// The lane took no more: try again after progress.
    Blocked,
    /// All is posted; a completion or a message will go on.
    Waiting,
}

/// Part of the life of an operation.
pub trait Stage: Sized {
    /// What a restart makes anew.
    type Attempt;
    /// What the stage becomes when its work is done.
    type Next;

    /// Prepares attempt `number` (0 is the first) on the endpoint's live lanes. An error means
    /// that these lanes can't serve the stage.
    fn begin(&self, ep: &Rc<Endpoint>, number: u32) -> Result<Self::Attempt>;

    /// Runs one step. An error is the failure of a lane operation; what it means is not the
    /// protocol's to decide.
    fn progress(&self, attempt: &mut Self::Attempt, ep: &Rc<Endpoint>) -> Result<Step>;

    /// The transition.
    fn done(self) -> Self::Next;
}

/// A stage with its current attempt.
pub struct Flight<S: Stage> {
    stage: S,
    attempt: Option<S::Attempt>,
    number: u32,
}

/// What became of a flight.
pub enum Driven<S: Stage> {
    Blocked(Flight<S>),
    Waiting(Flight<S>),
    Next(S::Next),
    /// It failed for good. The stage comes back, so that its owner can fall back or let go.
    Ended(S, Error),
}

/// Restarts that one operation may have.
const RESTART_BUDGET: u32 = 16;

impl<S: Stage> Flight<S> {
    pub fn new(stage: S) -> Flight<S> {
        Flight {
            stage,
            attempt: None,
            number: 0,
        }
    }

    /// For looking, never for taking.
    pub fn stage(&self) -> &S {
        &self.stage
    }

    /// Accounts for a completion of what the attempt had posted.
    pub fn account(&mut self, f: impl FnOnce(&S, &mut S::Attempt)) {
        if let Some(attempt) = self.attempt.as_mut() {
            f(&self.stage, attempt);
        }
    }

    /// Ends the flight: the stage goes back to its owner, the attempt is given up.
    pub fn end(self) -> S {
        self.stage
    }

    /// Something that the attempt had posted has failed.
    pub fn lane_failed(mut self, error: Error, ep: &Rc<Endpoint>) -> Driven<S> {
        match ep.verdict(error, RESTART_BUDGET.saturating_sub(self.number)) {
            Verdict::Restart => {
                self.attempt = None;
                self.number += 1;
                self.drive(ep)
            }
            Verdict::Complete(error) => Driven::Ended(self.stage, error),
        }
    }

    /// Runs steps as far as they go.
    pub fn drive(mut self, ep: &Rc<Endpoint>) -> Driven<S> {
        loop {
            let step = match self.attempt.as_mut() {
                Some(attempt) => self.stage.progress(attempt, ep),
                None => match self.stage.begin(ep, self.number) {
                    Ok(attempt) => {
                        self.attempt = Some(attempt);
                        continue;
                    }
                    Err(error) => return Driven::Ended(self.stage, error),
                },
            };
            match step {
                Ok(Step::Done) => return Driven::Next(self.stage.done()),
                Ok(Step::Blocked) => return Driven::Blocked(self),
                Ok(Step::Waiting) => return Driven::Waiting(self),
                Err(error) => return self.lane_failed(error, ep),
            }
        }
    }
}

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
    Fetch(Flight<Fetch>),
    Receive(Receive),
    StreamSend(Flight<stream::StreamSend>),
    StreamRecv(crate::ucp::stream::StreamRecv),
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
