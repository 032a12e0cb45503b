//! What the process that wants a copy does.

use core::cell::{Cell, OnceCell};
use std::rc::Rc;

use crate::sys::hostid::{exists, is_alive, is_stopped};
use crate::sys::vmcopy::{Direction, Piece};

use super::board::{Board, Task};
use super::word::{MAX_CHUNKS, Phase, Word};

/// Shorter copies are done before a helper has noticed.
const SHORTEST: usize = 128 << 10;
/// Bytes of a chunk. Each is a call into the kernel; the last one may have to be waited for.
const CHUNK: core::ops::RangeInclusive<usize> = 32 << 10..=256 << 10;
/// Chunks that a copy is made of, if they get neither too small nor too large.
const CHUNKS: usize = 8;
/// So many looks at a chunk that the helper is at are followed by one for its life.
const LIFE_CHECK: u32 = 1 << 10;

/// A process that may help.
pub struct Helper {
    pid: u32,
    start_time: u64,
    /// Of its board, in that process.
    fd: i32,
    /// Mapped when it is first needed.
    board: OnceCell<Option<Board>>,
    /// It couldn't: it isn't asked again.
    hopeless: Cell<bool>,
}

/// What there is to do for the owner of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// Offset and length of what to copy next.
    Chunk(usize, usize),
    /// The helper is at the last chunk.
    Wait,
    /// Everything is copied.
    Done,
    /// The helper died in its chunk.
    Dead,
}

/// A copy on a helper's board. Dropping it takes it back: when that returns, the helper has
/// let go of this process's memory.
pub struct Job {
    helper: Rc<Helper>,
    slot: usize,
    task: Task,
    /// The first chunk is ours from the beginning.
    first: Cell<bool>,
    looks: Cell<u32>,
    /// So is the helper.
    dead: Cell<bool>,
}

impl Helper {
    /// `fd`: of the board, negative if the process has none.
    pub fn new(pid: u32, start_time: u64, fd: i32) -> Helper {
        Helper {
            pid,
            start_time,
            fd,
            board: OnceCell::new(),
            hopeless: Cell::new(fd < 0 || pid == std::process::id()),
        }
    }

    /// This process with a board of its own, for tests.
    #[cfg(test)]
    pub fn on(board: Board) -> Helper {
        let pid = std::process::id();
        Helper {
            pid,
            start_time: crate::sys::hostid::start_time(pid).unwrap_or(0),
            fd: -1,
            board: OnceCell::from(Some(board)),
            hopeless: Cell::new(false),
        }
    }

    fn board(&self) -> Option<&Board> {
        let open = || Board::of_process(self.pid, self.start_time, self.fd).ok();
        self.board.get_or_init(open).as_ref()
    }

    fn is_alive(&self) -> bool {
        is_alive(self.pid, self.start_time)
    }
}

impl Job {
    /// Asks for help with a copy between `local` and `remote` of the helper, if it is worth it.
    pub fn open(
        helper: &Rc<Helper>,
        direction: Direction,
        local: &[Piece],
        remote: u64,
    ) -> Option<Job> {
        let [Piece { address, len }] = *local else {
            return None;
        };
        if len < SHORTEST || helper.hopeless.get() {
            return None;
        }
        let chunk = (len / CHUNKS).clamp(*CHUNK.start(), *CHUNK.end());
        let task = Task {
            pid: std::process::id(),
            there: address,
            here: remote,
            len: len as u64,
            chunk: chunk.next_multiple_of(4096) as u64,
            writes: direction == Direction::Write,
        };
        if task.chunks() > MAX_CHUNKS {
            return None;
        }
        let Some(board) = helper.board() else {
            helper.hopeless.set(true);
            return None;
        };
        let slot = board.claim(task.pid, |pid| !exists(pid))?;
        board.set_task(slot, &task);
        board.update(slot, Word::opened);
        board.call();
        Some(Job {
            helper: helper.clone(),
            slot,
            task,
            first: Cell::new(true),
            looks: Cell::new(0),
            dead: Cell::new(false),
        })
    }

    /// What to do next; a chunk that was given out is to be copied before the next call.
    pub fn claim(&self) -> Claim {
        let Some(board) = self.helper.board() else {
            return Claim::Dead;
        };
        if self.first.replace(false) {
            return self.chunk(0);
        }
        loop {
            let state = board.state(self.slot);
            match state.claim_front(self.task.chunks()) {
                Some((chunk, next)) if board.swap(self.slot, state, next) => {
                    return self.chunk(chunk);
                }
                Some(_) => {}
                None if state.is_settled() => return Claim::Done,
                None if self.helper_died() => return Claim::Dead,
                None => return Claim::Wait,
            }
        }
    }

    fn chunk(&self, chunk: u64) -> Claim {
        let (at, len) = self.task.range(chunk);
        Claim::Chunk(at as usize, len)
    }

    /// Looks now and then whether the helper lives.
    fn helper_died(&self) -> bool {
        let looks = self.looks.get().wrapping_add(1);
        self.looks.set(looks);
        if looks.is_multiple_of(LIFE_CHECK) && !self.helper.is_alive() {
            self.dead.set(true);
        }
        self.dead.get()
    }

    /// Whether the helper is dead, or stopped: then it is not copying, unless it was stopped in the
    /// few instructions between its claim and its call into the kernel.
    fn helper_is_gone(&self) -> bool {
        self.dead.get() || !self.helper.is_alive() || is_stopped(self.helper.pid)
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let Some(board) = self.helper.board() else {
            return;
        };
        let mut waits = 0u32;
        loop {
            let state = board.state(self.slot);
            if !state.is_settled() {
                // It is in the kernel, copying: this takes as long as its chunk does. On a busy
                // machine each yield may last.
                if waits.is_multiple_of(16) && self.helper_is_gone() {
                    return;
                }
                waits = waits.wrapping_add(1);
                std::thread::yield_now();
            } else if board.swap(self.slot, state, state.closed()) {
                if state.phase() == Phase::Failed {
                    self.helper.hopeless.set(true);
                }
                return board.free(self.slot);
            }
        }
    }
}
