//! The page on which peers write what they would like help with.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::sys::hostid::start_time;
use crate::sys::shm::{Mapping, SharedWord, file_of_process, memory_file};

use super::word::{Phase, Word};

const MAGIC: u64 = u64::from_le_bytes(*b"ucxcma01");
const LEN: usize = 4096;

/// Jobs at the same time; others are done without help.
pub const SLOTS: usize = 16;

// Words of the page. What both sides write has lines of its own.
const BELL: usize = 64;
const FIRST_SLOT: usize = 128;
const SLOT_LEN: usize = 128;
const WORD: usize = 0;
const OWNER: usize = 64;
const PID: usize = 72;
const THERE: usize = 80;
const HERE: usize = 88;
const BYTES: usize = 96;
const CHUNK: usize = 104;
const WRITES: usize = 112;

/// What is to be copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Task {
    /// Who wants it.
    pub pid: u32,
    /// Its memory.
    pub there: u64,
    /// The memory of the board's process.
    pub here: u64,
    pub len: u64,
    /// Bytes of a chunk; the last one may be shorter.
    pub chunk: u64,
    /// From there to here: the owner writes to the board's process.
    pub writes: bool,
}

impl Task {
    pub fn chunks(&self) -> u64 {
        self.len.div_ceil(self.chunk.max(1))
    }

    /// Offset and length of a chunk.
    pub fn range(&self, chunk: u64) -> (u64, usize) {
        let at = chunk.saturating_mul(self.chunk);
        let len = self.len.saturating_sub(at).min(self.chunk);
        (at, usize::try_from(len).unwrap_or(0))
    }
}

/// A board, this process's own or a peer's.
pub struct Board {
    map: Rc<Mapping>,
    /// Of our own: peers open it by its descriptor.
    file: Option<File>,
}

/// Whether processes of one user may write to each other's memory here: else nobody's wishes are
/// to be followed.
pub fn allowed() -> bool {
    match std::fs::read("/proc/sys/kernel/yama/ptrace_scope") {
        Ok(scope) => scope.first() == Some(&b'0'),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

impl Board {
    /// A new one of this process.
    pub fn new() -> io::Result<Board> {
        let file = memory_file(LEN)?;
        let map = Rc::new(Mapping::of_file(&file, LEN)?);
        let board = Board {
            map,
            file: Some(file),
        };
        let pid = std::process::id();
        board.set(8, u64::from(pid));
        board.set(16, start_time(pid).unwrap_or(0));
        board.set(0, MAGIC);
        Ok(board)
    }

    /// The one that process `pid` has as its descriptor `fd`.
    pub fn of_process(pid: u32, start_time: u64, fd: RawFd) -> io::Result<Board> {
        let file = file_of_process(pid, fd)?;
        if file.metadata()?.len() != LEN as u64 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let map = Rc::new(Mapping::of_file(&file, LEN)?);
        let board = Board { map, file: None };
        let facts = [board.get(0), board.get(8), board.get(16)];
        if facts != [MAGIC, u64::from(pid), start_time] {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(board)
    }

    pub fn fd(&self) -> Option<RawFd> {
        self.file.as_ref().map(AsRawFd::as_raw_fd)
    }

    #[inline(always)]
    fn word(&self, offset: usize) -> &AtomicU64 {
        self.map.word64(offset)
    }

    fn get(&self, offset: usize) -> u64 {
        self.word(offset).load(Ordering::Relaxed)
    }

    fn set(&self, offset: usize, value: u64) {
        self.word(offset).store(value, Ordering::Relaxed);
    }

    /// Somebody wants help. Looked at in every progress.
    #[inline(always)]
    pub fn is_called(&self) -> bool {
        self.word(BELL).load(Ordering::Relaxed) != 0
    }

    /// What [`Board::is_called`] looks at.
    pub fn bell(&self) -> SharedWord {
        SharedWord::new(self.map.clone(), BELL)
    }

    /// Tells the board's process to look at its slots.
    pub fn call(&self) {
        self.word(BELL).store(1, Ordering::Release);
    }

    /// There is nothing to be done as far as is known: before another look.
    pub fn hush(&self) {
        self.word(BELL).swap(0, Ordering::AcqRel);
    }

    fn at(slot: usize, offset: usize) -> usize {
        FIRST_SLOT + slot % SLOTS * SLOT_LEN + offset
    }

    pub fn state(&self, slot: usize) -> Word {
        Word(self.word(Self::at(slot, WORD)).load(Ordering::Acquire))
    }

    /// Goes on from a state, if it is still that.
    pub fn swap(&self, slot: usize, from: Word, to: Word) -> bool {
        let word = self.word(Self::at(slot, WORD));
        word.compare_exchange(from.0, to.0, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Changes a state, whatever it is, and returns the new one.
    pub fn update(&self, slot: usize, next: impl Fn(Word) -> Word) -> Word {
        loop {
            let state = self.state(slot);
            if self.swap(slot, state, next(state)) {
                return next(state);
            }
        }
    }

    /// Takes a free slot for process `owner`, or one whose owner `is_dead`.
    pub fn claim(&self, owner: u32, is_dead: impl Fn(u32) -> bool) -> Option<usize> {
        let take = |slot: usize, from: u64| {
            self.word(Self::at(slot, OWNER))
                .compare_exchange(from, u64::from(owner), Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
        };
        let of_dead = |slot: usize| {
            let other = self.get(Self::at(slot, OWNER));
            other != 0 && is_dead(other as u32) && take(slot, other)
        };
        let slot = (0..SLOTS)
            .find(|slot| take(*slot, 0))
            .or_else(|| (0..SLOTS).find(|slot| of_dead(*slot)))?;
        // The job of a dead process may still be open, or the helper in the middle of it.
        let state = self.state(slot);
        let ours = state.phase() == Phase::Idle
            || state.is_settled() && self.swap(slot, state, state.closed());
        if !ours {
            self.free(slot);
        }
        ours.then_some(slot)
    }

    /// Gives a slot back.
    pub fn free(&self, slot: usize) {
        self.word(Self::at(slot, OWNER)).store(0, Ordering::Release);
    }

    pub fn set_task(&self, slot: usize, task: &Task) {
        self.set(Self::at(slot, PID), u64::from(task.pid));
        self.set(Self::at(slot, THERE), task.there);
        self.set(Self::at(slot, HERE), task.here);
        self.set(Self::at(slot, BYTES), task.len);
        self.set(Self::at(slot, CHUNK), task.chunk);
        self.set(Self::at(slot, WRITES), u64::from(task.writes));
    }

    /// What a slot says. It is only true if the state is still what it was before.
    pub fn task(&self, slot: usize) -> Task {
        let get = |offset| self.get(Self::at(slot, offset));
        Task {
            pid: get(PID) as u32,
            there: get(THERE),
            here: get(HERE),
            len: get(BYTES),
            chunk: get(CHUNK).max(1),
            writes: get(WRITES) != 0,
        }
    }
}
