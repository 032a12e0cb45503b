//! A stream of a context for one pair of memory types, and the copies in it.

use std::collections::VecDeque;

use crate::ucs::memory::MemoryType;
use crate::ucs::status::Result;
use crate::uct::cuda::context::Held;
use crate::uct::cuda::driver::{Driver, Event, Stream};

/// What a stream is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pair {
    /// The context's number.
    pub context: u64,
    pub from: MemoryType,
    pub to: MemoryType,
}

/// A copy under way.
pub struct Copy {
    pub seq: u64,
    pub token: u64,
    event: Event<'static>,
}

/// See the module. What it holds is given back in this order.
pub struct Lane {
    pub pair: Pair,
    queue: VecDeque<Copy>,
    /// Events of ended copies.
    spare: Vec<Event<'static>>,
    pub stream: Stream<'static>,
    _held: Held,
}

impl Lane {
    /// The context is current.
    pub fn new(driver: &'static Driver, pair: Pair, held: Held) -> Result<Lane> {
        Ok(Lane {
            pair,
            queue: VecDeque::new(),
            spare: Vec::new(),
            stream: driver.stream()?,
            _held: held,
        })
    }

    pub fn event(&mut self, driver: &'static Driver) -> Result<Event<'static>> {
        self.spare.pop().map_or_else(|| driver.event(), Ok)
    }

    pub fn push(&mut self, seq: u64, token: u64, event: Event<'static>) {
        self.queue.push_back(Copy { seq, token, event });
    }

    /// Copies under way.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// The oldest copy's number, if any is under way.
    pub fn oldest(&self) -> Option<u64> {
        self.queue.front().map(|copy| copy.seq)
    }

    /// The token of a copy that has ended, with how.
    pub fn ended(&mut self) -> Option<(u64, Result<()>)> {
        let result = match self.queue.front()?.event.is_done() {
            Ok(false) => return None,
            Ok(true) => Ok(()),
            // It may still be running: its memory is not given back before it is over.
            Err(error) => self.stream.settle().and(Err(error)),
        };
        let copy = self.queue.pop_front()?;
        if result.is_ok() {
            self.spare.push(copy.event);
        }
        Some((copy.token, result))
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        if !self.queue.is_empty() {
            let _ = self.stream.settle();
        }
    }
}
