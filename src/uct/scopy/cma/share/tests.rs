use super::board::{Board, SLOTS, Task};
use super::job::{Claim, Helper, Job};
use super::word::{Phase, Word};
use crate::sys::vmcopy::{Direction, Piece};
use std::rc::Rc;

/// Of this process.
fn board() -> Board {
    Board::new().expect("memory")
}

#[test]
fn slots_are_taken_and_given_back() {
    let board = board();
    let me = std::process::id();
    let slots: Vec<_> = (0..SLOTS)
        .map(|_| board.claim(me, |_| false).expect("free"))
        .collect();
    assert_eq!(board.claim(me, |_| false), None);
    board.free(slots[3]);
    assert_eq!(board.claim(me, |_| false), Some(slots[3]));
    // Slots of the dead are taken over, but not while the helper is at their job.
    board.update(slots[0], Word::opened);
    let state = board.state(slots[0]);
    let (_, busy) = state.claim_back(10).expect("a chunk");
    assert!(board.swap(slots[0], state, busy));
    assert_eq!(board.claim(7, |pid| pid == me), None);
    board.update(slots[0], Word::finished);
    let state = board.state(slots[0]);
    assert_eq!(board.claim(7, |pid| pid == me), Some(slots[0]));
    assert_eq!(state.phase(), Phase::Open);
}

#[test]
fn others_boards_are_told_from_other_files() {
    let board = board();
    let (pid, fd) = (std::process::id(), board.fd().expect("own"));
    let start = crate::sys::hostid::start_time(pid).expect("own");
    assert!(Board::of_process(pid, start, fd).is_ok());
    assert!(Board::of_process(pid, start + 1, fd).is_err());
    assert!(Board::of_process(pid, start, -1).is_err());
    let other = crate::sys::shm::memory_file(4096).expect("memory");
    let fd = std::os::fd::AsRawFd::as_raw_fd(&other);
    assert!(Board::of_process(pid, start, fd).is_err());
}

#[test]
fn a_helper_does_what_a_slot_says() {
    let board = board();
    let source: Vec<u8> = (0..300_000u32).map(|i| ((i * 7) >> 3) as u8).collect();
    let mut target = vec![0u8; source.len()];
    let mut task = Task {
        pid: std::process::id(),
        there: target.as_mut_ptr() as u64,
        here: source.as_ptr() as u64,
        len: source.len() as u64,
        chunk: 65536,
        writes: false,
    };
    let slot = board.claim(task.pid, |_| false).expect("free");
    assert!(!board.help());
    board.set_task(slot, &task);
    board.update(slot, Word::opened);
    board.call();
    assert!(board.is_called());
    // All but the first chunk, which is its owner's.
    for _ in 1..task.chunks() {
        assert!(board.help());
    }
    assert!(!board.help() && !board.is_called());
    assert!(target[..65536].iter().all(|byte| *byte == 0));
    assert!(target[65536..] == source[65536..]);
    // Memory that isn't there: the owner is told.
    task.there = 8;
    board.update(slot, Word::closed);
    board.set_task(slot, &task);
    board.update(slot, Word::opened);
    assert!(board.help());
    assert!(board.state(slot).phase() == Phase::Failed && board.state(slot).is_settled());
}

/// A helper that does nothing costs nothing: the owner copies all of it.
#[test]
fn an_owner_alone_gets_every_chunk() {
    let mut child = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .expect("sleep");
    let board = board();
    let pid = std::process::id();
    let start = crate::sys::hostid::start_time(pid).expect("own");
    // `Helper` refuses this very process: it would wait for itself.
    let none = Rc::new(Helper::new(pid, start, board.fd().expect("own")));
    let piece = |len| [Piece { address: 64, len }];
    assert!(Job::open(&none, Direction::Read, &piece(1 << 20), 64).is_none());
    let start = crate::sys::hostid::start_time(child.id()).expect("child");
    let no_board = Rc::new(Helper::new(child.id(), start, 99));
    assert!(Job::open(&no_board, Direction::Read, &piece(1 << 20), 64).is_none());
    child.kill().expect("kill");
    child.wait().expect("wait");
    let alone = Rc::new(Helper::on(board));
    let len = (1 << 20) + 77;
    assert!(Job::open(&alone, Direction::Read, &piece(1000), 64).is_none());
    let job = Job::open(&alone, Direction::Read, &piece(len), 64).expect("a job");
    let mut next = 0;
    while let Claim::Chunk(at, chunk) = job.claim() {
        assert_eq!(at, next);
        next += chunk;
    }
    assert_eq!((next, job.claim()), (len, Claim::Done));
}
