//! What the board's process does.

use crate::sys::vmcopy::{Direction, Piece};

use super::board::{Board, SLOTS, Task};
use super::word::Word;
use crate::uct::scopy::cma::queue::transfer;

impl Board {
    /// Copies one chunk for somebody; false if there is none to copy.
    #[cold]
    pub fn help(&self) -> bool {
        if self.help_once() {
            return true;
        }
        self.hush();
        // A job that came meanwhile has called before, or will call.
        self.help_once()
    }

    fn help_once(&self) -> bool {
        (0..SLOTS).any(|slot| {
            let Some((chunk, task)) = self.claim_back(slot) else {
                return false;
            };
            let done = copy(&task, chunk);
            self.update(slot, if done { Word::finished } else { Word::failed });
            true
        })
    }

    fn claim_back(&self, slot: usize) -> Option<(u64, Task)> {
        let state = self.state(slot);
        let task = self.task(slot);
        let (chunk, next) = state.claim_back(task.chunks())?;
        // The owner may have been faster; then it calls for the next one.
        self.swap(slot, state, next).then_some((chunk, task))
    }
}

/// The owner waits for a chunk that was claimed, so there is no way back but success or failure.
fn copy(task: &Task, chunk: u64) -> bool {
    let (at, len) = task.range(chunk);
    let direction = match task.writes {
        true => Direction::Read,
        false => Direction::Write,
    };
    let mut done = 0;
    while done < len {
        let piece = |base: u64| Piece {
            address: base.wrapping_add(at).wrapping_add(done as u64),
            len: len - done,
        };
        match transfer(
            direction,
            task.pid,
            &[piece(task.here)],
            &[piece(task.there)],
        ) {
            Ok(n) => done += n,
            Err(_) => return false,
        }
    }
    true
}
