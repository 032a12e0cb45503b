//! Stages, attempts, and the one driver that moves them on.
//!
//! ```text
//!            begin              done (by value)
//!   Stage ─────────▶ Attempt ─────────▶ the next stage
//!     ▲                 │ a lane failed
//!     │                 ▼
//!     └── none left ── Draining: what was posted on other lanes still points into it
//! ```
//!
//! A protocol sees its stage by reference only, so it can't let go of what the stage owns while
//! an attempt runs:
//!
//! ```compile_fail,E0507
//! use ucx::ucp::proto::key::Key;
//! struct Fetch { key: Key }
//! impl Fetch {
//!     fn progress(&self) {
//!         drop(self.key); // can't move out of a shared reference
//!     }
//! }
//! ```
//!
//! A stage that has moved on can't be started again:
//!
//! ```compile_fail,E0382
//! use ucx::ucp::proto::Flight;
//! use ucx::ucp::proto::rndv::Fetch;
//! fn again(fetch: Fetch) -> Flight<Fetch> {
//!     let ack = fetch.fetched(); // the key is let go here
//!     Flight::new(fetch)
//! }
//! ```
//!
//! and what it has become is no stage that reads:
//!
//! ```compile_fail,E0277
//! use ucx::ucp::proto::Flight;
//! use ucx::ucp::proto::rndv::Fetch;
//! fn again(fetch: Fetch) {
//!     let ack = fetch.fetched();
//!     Flight::new(ack);
//! }
//! ```
//!
//! Without the lines that are wrong there, all of it compiles:
//!
//! ```
//! use ucx::ucp::proto::Flight;
//! use ucx::ucp::proto::key::Key;
//! use ucx::ucp::proto::rndv::Fetch;
//! struct Holder { key: Key }
//! impl Holder {
//!     fn progress(&self) -> &Key {
//!         &self.key
//!     }
//! }
//! fn first(fetch: Fetch) -> Flight<Fetch> {
//!     Flight::new(fetch)
//! }
//! fn over(fetch: Fetch) {
//!     let ack = fetch.fetched();
//! }
//! ```

use std::rc::Rc;

use super::verdict::Verdict;
use crate::ucp::ep::Endpoint;
use crate::ucp::worker::tally::up;
use crate::ucs::status::{Error, Result};

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
    /// that these lanes can't serve the stage: it can't begin, or can't resume.
    fn begin(&self, ep: &Rc<Endpoint>, number: u32) -> Result<Self::Attempt>;

    /// Runs one step. An error is the failure of a lane operation; what it means is not the
    /// protocol's to decide.
    fn progress(&self, attempt: &mut Self::Attempt, ep: &Rc<Endpoint>) -> Result<Step>;

    /// The transition.
    fn done(self) -> Self::Next;

    /// Completions that are still to come for what the attempt has posted.
    fn outstanding(_attempt: &Self::Attempt) -> usize {
        0
    }

    /// One of them has come.
    fn ended(&self, _attempt: &mut Self::Attempt, _result: Result<()>) {}

    /// Something that the attempt had posted has failed with an error of the lane class: takes
    /// the lane out of use for this operation. Returns how many lanes are left that could carry
    /// on, be it by another protocol.
    fn lane_lost(&self, _attempt: &mut Self::Attempt, _ep: &Rc<Endpoint>) -> usize {
        0
    }
}

/// A failed attempt that completions of surviving lanes still point into. The next attempt, or the
/// operation's end, comes when none is outstanding.
struct Draining<A> {
    attempt: A,
    then: Verdict,
}

/// Where a flight is.
enum Life<A> {
    /// No attempt has begun since the last one was given up.
    Between,
    Running(A),
    Draining(Draining<A>),
}

/// A stage with its current attempt.
pub struct Flight<S: Stage> {
    stage: S,
    life: Life<S::Attempt>,
    number: u32,
}

/// What became of a flight.
pub enum Driven<S: Stage> {
    Blocked(Flight<S>),
    Waiting(Flight<S>),
    Next(S::Next),
    /// It failed for good, or its lanes can't serve it. The stage comes back, so that its owner
    /// can fall back or let go.
    Ended(S, Error),
}

/// Restarts that one operation may have.
const RESTART_BUDGET: u32 = 16;

impl<S: Stage> Flight<S> {
    pub fn new(stage: S) -> Flight<S> {
        Flight {
            stage,
            life: Life::Between,
            number: 0,
        }
    }

    /// With its first attempt under way.
    pub fn running(stage: S, attempt: S::Attempt) -> Flight<S> {
        Flight {
            stage,
            life: Life::Running(attempt),
            number: 0,
        }
    }

    /// For looking, never for taking.
    pub fn stage(&self) -> &S {
        &self.stage
    }

    /// Begins the first attempt without a step of it: an operation that has to wait for its turn
    /// counts already. What prevents it is told when its turn comes.
    pub fn prepare(&mut self, ep: &Rc<Endpoint>) {
        if let Life::Between = self.life
            && let Ok(attempt) = self.stage.begin(ep, self.number)
        {
            self.life = Life::Running(attempt);
        }
    }

    /// The number of the current attempt.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Accounts for a completion of what the attempt had posted.
    pub fn account(&mut self, f: impl FnOnce(&S, &mut S::Attempt)) {
        if let Life::Running(attempt) = &mut self.life {
            f(&self.stage, attempt);
        }
    }

    /// Completions that are still to come.
    pub fn outstanding(&self) -> usize {
        match &self.life {
            Life::Between => 0,
            Life::Running(attempt) => S::outstanding(attempt),
            Life::Draining(draining) => S::outstanding(&draining.attempt),
        }
    }

    /// Something that was posted has ended, and nothing follows from it now.
    pub fn ended(&mut self, result: Result<()>) {
        match &mut self.life {
            Life::Between => {}
            Life::Running(attempt) => self.stage.ended(attempt, result),
            Life::Draining(draining) => self.stage.ended(&mut draining.attempt, result),
        }
    }

    /// Ends the flight: the stage goes back to its owner, the attempt is given up.
    pub fn end(self) -> S {
        self.stage
    }

    /// Something that the attempt had posted has ended.
    pub fn completed(mut self, result: Result<()>, ep: &Rc<Endpoint>) -> Driven<S> {
        match &mut self.life {
            Life::Between => self.drive(ep),
            Life::Running(attempt) => {
                self.stage.ended(attempt, result);
                match result {
                    Ok(()) => self.drive(ep),
                    Err(error) => self.lane_failed(error, ep),
                }
            }
            Life::Draining(draining) => {
                self.stage.ended(&mut draining.attempt, result);
                self.drive(ep)
            }
        }
    }

    /// Something that the attempt had posted has failed.
    pub fn lane_failed(mut self, error: Error, ep: &Rc<Endpoint>) -> Driven<S> {
        let Life::Running(mut attempt) = core::mem::replace(&mut self.life, Life::Between) else {
            return Driven::Ended(self.stage, error);
        };
        let survivors = match super::verdict::is_lane_class(error) {
            true => self.stage.lane_lost(&mut attempt, ep),
            false => 0,
        };
        let budget = RESTART_BUDGET.saturating_sub(self.number);
        let then = ep.verdict(error, survivors, budget);
        self.life = Life::Draining(Draining { attempt, then });
        self.drive(ep)
    }

    /// What follows a failed attempt, once nothing points into it any more. Seldom called; inlined
    /// into `drive` its look at a field that only a draining flight has would be moved out of the
    /// loop, before the look at which it is: harmless, but memory checkers complain.
    #[cold]
    #[inline(never)]
    fn drained(&mut self) -> Option<Verdict> {
        let Life::Draining(draining) = &self.life else {
            return None;
        };
        if S::outstanding(&draining.attempt) != 0 {
            return None;
        }
        let then = draining.then;
        self.life = Life::Between;
        Some(then)
    }

    /// Runs steps as far as they go.
    pub fn drive(mut self, ep: &Rc<Endpoint>) -> Driven<S> {
        loop {
            let step = match &mut self.life {
                Life::Running(attempt) => self.stage.progress(attempt, ep),
                Life::Between => match self.stage.begin(ep, self.number) {
                    Ok(attempt) => {
                        self.life = Life::Running(attempt);
                        continue;
                    }
                    Err(error) => return Driven::Ended(self.stage, error),
                },
                Life::Draining(_) => match self.drained() {
                    None => return Driven::Waiting(self),
                    Some(Verdict::Restart) => {
                        self.number += 1;
                        up(&ep.worker().tally.restarts);
                        continue;
                    }
                    Some(Verdict::Complete(error)) => return Driven::Ended(self.stage, error),
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
