//! Writing to the peer's memory by several lanes at once.

use smallvec::SmallVec;

use super::Step;
use crate::ucp::ep::{Rail, first_done};
use crate::ucs::status::{Error, Result};
use crate::uct::{IoVec, Post, Which};

/// Puts that are shared among rails are not shorter than this.
pub const SHORTEST: usize = 64 << 10;

/// Pieces of memory, and how many bytes they hold.
pub type Held = (SmallVec<[IoVec; 4]>, usize);

/// What is written.
#[derive(Clone, Copy)]
pub struct Where {
    /// Of its first byte.
    pub address: u64,
    /// The peer's key.
    pub key: u64,
    /// Bytes.
    pub len: usize,
}

/// How far it has come. The lanes stop writing when this is let go.
pub struct Spread {
    rails: SmallVec<[Rail; 1]>,
    token: u64,
    /// Bytes that the lanes have taken.
    at: usize,
    /// Bytes that each rail has taken.
    loads: SmallVec<[usize; 1]>,
    /// Puts, or flushes, whose completion is to come.
    outstanding: usize,
    /// Rails that were asked whether all is in place, from the first on.
    asked: usize,
}

impl Spread {
    /// `token`: of the completions. Begins at byte `at`.
    pub fn new(rails: SmallVec<[Rail; 1]>, token: u64, at: usize) -> Spread {
        Spread {
            loads: rails.iter().map(|_| 0).collect(),
            rails,
            token,
            at,
            outstanding: 0,
            asked: 0,
        }
    }

    /// One lane has taken everything, and is at it.
    pub fn posted(rail: Rail, len: usize, token: u64) -> Spread {
        Spread {
            rails: core::iter::once(rail).collect(),
            token,
            at: len,
            loads: core::iter::once(len).collect(),
            outstanding: 1,
            asked: 0,
        }
    }

    /// Bytes that the lanes have taken, those before the beginning counted.
    pub fn at(&self) -> usize {
        self.at
    }

    /// These bytes go another way.
    pub fn skip(&mut self, n: usize) {
        self.at += n;
    }

    /// Puts, or flushes, whose completion is to come.
    pub fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// One of them has come.
    pub fn ended(&mut self) {
        self.outstanding = self.outstanding.saturating_sub(1);
    }

    /// The best rail.
    pub fn first(&self) -> Option<&Rail> {
        self.rails.first()
    }

    /// All lanes write by themselves: what has completed is in place.
    pub fn is_direct(&self) -> bool {
        self.rails.iter().all(|rail| !rail.keyed)
    }

    /// All rails were asked whether all is in place.
    pub fn is_asked(&self) -> bool {
        self.asked != 0 && self.asked == self.rails.len()
    }

    /// The longest put by each rail, by its part of the bandwidth.
    fn longest(&self, len: usize) -> SmallVec<[usize; 4]> {
        let sum: f64 = self.rails.iter().map(|rail| rail.bandwidth).sum();
        let longest = |rail: &Rail| match self.rails.len() {
            1 => rail.max_len,
            _ => {
                let share = len as f64 * rail.bandwidth / sum.max(1.0);
                (share.ceil() as usize).max(SHORTEST).min(rail.max_len)
            }
        };
        self.rails.iter().map(longest).collect()
    }

    /// Posts one put, by the rail that is done with it first. `most`: bytes of it at most;
    /// `pieces`: of the memory at an offset, so many bytes in so many pieces at most. False if no
    /// rail has room.
    pub fn piece(
        &mut self,
        to: &Where,
        most: usize,
        mut pieces: impl FnMut(usize, usize, usize) -> Result<Option<Held>>,
    ) -> Result<bool> {
        if self.rails.is_empty() {
            return Err(Error::Unreachable);
        }
        let longest = self.longest(to.len);
        let left = to.len.saturating_sub(self.at).min(most);
        let end = |i: usize| {
            let piece = left.min(*longest.get(i)?);
            let bytes = *self.loads.get(i)? + piece;
            Some(bytes as f64 / self.rails.get(i)?.bandwidth.max(1.0))
        };
        for index in first_done(self.rails.len(), end) {
            let (Some(rail), Some(longest)) = (self.rails.get(index), longest.get(index)) else {
                continue;
            };
            let held = pieces(self.at, left.min(*longest), rail.max_iov)?;
            let (pieces, n) = held.filter(|(_, n)| *n != 0).ok_or(Error::Unsupported)?;
            let remote = to.address.wrapping_add(self.at as u64);
            match rail.lane.put_zcopy(&pieces, remote, to.key, self.token)? {
                Post::NoResource => continue,
                Post::Done => {}
                Post::Pending => self.outstanding += 1,
            }
            self.at += n;
            if let Some(load) = self.loads.get_mut(index) {
                *load += n;
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Asks the rails that were used, and that `must` says so of, whether all is in place.
    pub fn flush(&mut self, must: impl Fn(&Rail) -> bool) -> Result<Step> {
        while let Some(rail) = self.rails.get(self.asked) {
            let used = self.loads.get(self.asked).is_some_and(|load| *load != 0);
            if used && must(rail) {
                match rail.lane.flush(self.token)? {
                    Post::Done => {}
                    Post::NoResource => return Ok(Step::Blocked),
                    Post::Pending => self.outstanding += 1,
                }
            }
            self.asked += 1;
        }
        Ok(match self.outstanding {
            0 => Step::Done,
            _ => Step::Waiting,
        })
    }

    /// Stops the lanes, where that is possible.
    pub fn cancel(&mut self) {
        if self.outstanding == 0 {
            return;
        }
        let which = Which::One(self.token);
        let stopped = self.rails.iter().filter(|rail| rail.lane.let_go(which));
        if stopped.count() != 0 {
            self.outstanding = 0;
        }
    }
}

impl Drop for Spread {
    fn drop(&mut self) {
        self.cancel();
    }
}
