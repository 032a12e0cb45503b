//! Any bytes, as messages, into a live worker with receives, sends, kept data and flushes around:
//! they are dropped or do what they say, and never touch memory that is not theirs.
//!
//! An input is a program: a byte that chooses the transports, then actions. Among what they
//! deliver are messages whose bytes are the input's, with the worker's id and the ids of live
//! operations put in where the input says so: these are what an input can't guess.

mod bench;
mod callbacks;
mod input;
mod messages;
mod seeds;

pub use seeds::seeds;

use bench::Bench;
use input::Input;

/// Most actions of one input, and most of what it may keep.
const MAX_ACTIONS: usize = 200;
const MAX_LIVE: usize = 64;

/// Runs one input.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let mut bench = Bench::new(input.byte() % 16 == 15);
    for _ in 0..MAX_ACTIONS {
        if input.0.is_empty() {
            break;
        }
        bench.act(&mut input);
    }
    bench.end();
}
