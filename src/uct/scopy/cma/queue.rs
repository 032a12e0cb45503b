//! Copies that are under way.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

use smallvec::SmallVec;

use crate::sys::vmcopy::{self, Direction, Piece};
use crate::ucs::status::{Error, Result};
use crate::uct::ep::Which;
use crate::uct::lease::Term;

use super::ep::Peer;
use super::share::{Claim, Job};

/// Copies that go on at each progress, in the order in which they were posted.
pub struct Queue {
    copies: RefCell<VecDeque<Copy>>,
    /// How many: for a look without a borrow.
    len: Rc<Cell<usize>>,
    /// Bytes of one step.
    step: usize,
    pub max_iov: usize,
    complained: Cell<bool>,
}

/// How far a step brought a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    Done,
    More,
    /// Nothing was to be done: the peer is at the last chunk.
    Waits,
}

/// A copy, or what is left of it.
pub struct Copy {
    pub direction: Direction,
    /// Id of the endpoint.
    pub ep: u64,
    pub peer: Rc<Peer>,
    pub local: SmallVec<[Piece; 4]>,
    pub remote: u64,
    /// What has to be in force when the last byte has been read.
    pub term: Option<Term>,
    pub token: u64,
    /// The other process may take a part of it.
    pub job: Option<Job>,
}

impl Queue {
    /// `step`: bytes that are copied in one go.
    pub fn new(step: usize, max_iov: usize) -> Queue {
        Queue {
            copies: RefCell::default(),
            len: Rc::default(),
            step: step.clamp(1, vmcopy::MAX_LEN),
            max_iov,
            complained: Cell::new(false),
        }
    }

    /// The number of copies, for a look without a borrow.
    pub fn len(&self) -> Rc<Cell<usize>> {
        self.len.clone()
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len.get() == 0
    }

    pub fn push(&self, copy: Copy) {
        self.copies.borrow_mut().push_back(copy);
        self.len.set(self.len.get() + 1);
    }

    /// As `Ep::let_go` of the endpoint with this id.
    pub fn let_go(&self, ep: u64, which: Which) -> bool {
        let mut copies = self.copies.borrow_mut();
        let before = copies.len();
        copies.retain(|copy| copy.ep != ep || !which.includes(copy.token));
        self.len.set(copies.len());
        copies.len() < before
    }

    /// Takes the oldest copy one step on; `None` if there is none, or the peer is at it. Returns
    /// token and result of one that has ended. Nothing is borrowed when this returns.
    pub fn advance(&self) -> Option<Option<(u64, Result<()>)>> {
        let mut copies = self.copies.borrow_mut();
        let copy = copies.front_mut()?;
        let result = match self.step(copy) {
            Ok(Step::Done) => Ok(()),
            Ok(Step::More) => return Some(None),
            Ok(Step::Waits) => return None,
            Err(error) => Err(error),
        };
        let token = copy.token;
        copies.pop_front();
        self.len.set(copies.len());
        Some(Some((token, result)))
    }

    /// Copies [`Queue::step`] bytes at most.
    pub fn step(&self, copy: &mut Copy) -> Result<Step> {
        match copy.job.take() {
            None => self.step_alone(copy),
            Some(job) => {
                let result = self.step_shared(copy, &job);
                if matches!(result, Ok(Step::More | Step::Waits)) {
                    copy.job = Some(job);
                }
                result
            }
        }
    }

    /// Copies chunks of a copy that the peer works at too.
    fn step_shared(&self, copy: &Copy, job: &Job) -> Result<Step> {
        let base = copy.local.first().map_or(0, |piece| piece.address);
        let mut room = self.step;
        while room > 0 {
            let (mut at, mut len) = match job.claim() {
                Claim::Chunk(at, len) => (at as u64, len),
                Claim::Wait => return Ok(Step::Waits),
                Claim::Done => return self.lease_at_end(copy),
                Claim::Dead => return Err(Error::ConnectionReset),
            };
            room = room.saturating_sub(len);
            while len > 0 {
                let here = [piece(base.wrapping_add(at), len)];
                let there = [piece(copy.remote.wrapping_add(at), len)];
                let done = transfer(copy.direction, copy.peer.pid, &here, &there)
                    .map_err(|error| self.explain(copy, &error))?;
                at += done as u64;
                len -= done;
            }
        }
        Ok(Step::More)
    }

    /// All has been copied: whether the peer's memory was still lent.
    fn lease_at_end(&self, copy: &Copy) -> Result<Step> {
        match copy.term {
            Some(term) if !copy.peer.lessor.lends(term) => Err(Error::Canceled),
            _ => Ok(Step::Done),
        }
    }

    fn step_alone(&self, copy: &mut Copy) -> Result<Step> {
        let mut pieces: SmallVec<[Piece; 16]> = SmallVec::new();
        let mut room = self.step;
        for piece in &copy.local {
            if room == 0 || pieces.len() == vmcopy::MAX_PIECES {
                break;
            }
            let len = piece.len.min(room);
            pieces.push(Piece { len, ..*piece });
            room -= len;
        }
        if pieces.is_empty() {
            return Ok(Step::Done);
        }
        let len = self.step - room;
        if let Some(term) = copy.term.filter(|_| copy.left() == len)
            && !copy.peer.lessor.shows(term)
        {
            return self.last_step(copy, pieces, len, term);
        }
        let from = [piece(copy.remote, len)];
        let done = transfer(copy.direction, copy.peer.pid, &pieces, &from)
            .map_err(|error| self.explain(copy, &error))?;
        copy.used(done);
        match copy.progress() {
            Step::Done => self.lease_at_end(copy),
            step => Ok(step),
        }
    }

    /// Where the word of the lease can't be looked at: the last `len` bytes, and behind them the word
    /// that says whether the peer has taken its memory back.
    fn last_step(
        &self,
        copy: &mut Copy,
        mut pieces: SmallVec<[Piece; 16]>,
        len: usize,
        term: Term,
    ) -> Result<Step> {
        const WORD: usize = size_of::<u64>();
        let mut word = 0u64;
        pieces.push(piece(&raw mut word as u64, WORD));
        let from = [piece(copy.remote, len), piece(term.address, WORD)];
        let done = match transfer(copy.direction, copy.peer.pid, &pieces, &from) {
            Ok(done) if done < len => {
                copy.used(done);
                return Ok(Step::More);
            }
            Ok(done) if done == len + WORD && term.holds(word) => done,
            Ok(_) => return Err(Error::Canceled),
            Err(error) => return Err(self.explain(copy, &error)),
        };
        copy.used(done - WORD);
        Ok(Step::Done)
    }

    /// The status for a failed copy, with a line in the log the first time.
    fn explain(&self, copy: &Copy, error: &io::Error) -> Error {
        let pid = copy.peer.pid;
        let fault = error.raw_os_error() == Some(libc::EFAULT);
        if let Some(term) = copy.term.filter(|_| fault)
            && !copy.peer.lessor.lends(term)
        {
            // It may be unmapped by now.
            return Error::Canceled;
        }
        if !self.complained.replace(true) {
            crate::ucs_diag!("cma: failed to access the memory of process {pid}: {error}");
        }
        match error.raw_os_error() {
            Some(libc::ESRCH) => Error::ConnectionReset,
            // The kernel forbids it (any more).
            Some(libc::EPERM | libc::ENOSYS) => Error::Unsupported,
            Some(libc::ENOMEM) => Error::NoMemory,
            _ => Error::IoError,
        }
    }
}

#[allow(unsafe_code)]
pub fn transfer(
    direction: Direction,
    pid: u32,
    local: &[Piece],
    remote: &[Piece],
) -> io::Result<usize> {
    // SAFETY: the pieces are what the caller of `get_zcopy` gave to be written, until the
    // operation completes, or a local of ours.
    match unsafe { vmcopy::copy(direction, pid, local, remote) } {
        // Nothing at all although something was asked for: there is no progress to be had.
        Ok(0) => Err(io::Error::from_raw_os_error(libc::EFAULT)),
        other => other,
    }
}

fn piece(address: u64, len: usize) -> Piece {
    Piece { address, len }
}

impl Copy {
    fn progress(&self) -> Step {
        match self.local.is_empty() {
            true => Step::Done,
            false => Step::More,
        }
    }

    /// Bytes that remain.
    fn left(&self) -> usize {
        self.local.iter().map(|piece| piece.len).sum()
    }

    /// `done` bytes, from the start, need not be copied any more.
    fn used(&mut self, done: usize) {
        self.remote = self.remote.wrapping_add(done as u64);
        let mut left = done;
        let mut gone = 0;
        for piece in &mut self.local {
            let len = piece.len.min(left);
            piece.address = piece.address.wrapping_add(len as u64);
            piece.len -= len;
            left -= len;
            if piece.len > 0 {
                break;
            }
            gone += 1;
        }
        self.local.drain(..gone);
    }
}
