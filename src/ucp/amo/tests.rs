//! Atomic operations over every way.
#![allow(unsafe_code)]

use crate::sys::atomic::{AtomicOp, Operation};
use crate::sys::usermem::UserMem;
use crate::ucp::proto::amo::Target;
use crate::ucp::rma::tests::pair::{ALL, BY_MESSAGE, Kind, Pair, Region};
use crate::ucp::worker::{Posted, ReqOptions};
use crate::ucs::status::{Error, Result};

fn post(
    pair: &Pair,
    region: &Region,
    (at, size): (usize, usize),
    operation: Operation,
    reply: Option<&mut u64>,
) -> Result<Posted> {
    let target = Target {
        key: region.key.clone(),
        remote: region.address(at),
        size,
        operation,
    };
    // SAFETY: the tests keep their results until operations have ended.
    let reply = reply.map(|reply| unsafe { UserMem::new((&raw mut *reply).cast(), size) });
    super::post(&pair.to_b, target, reply, &ReqOptions::default())
}

fn operation(op: AtomicOp, operand: u64, swap: u64) -> Operation {
    Operation { op, operand, swap }
}

#[test]
fn every_operation_over_every_way() {
    for kind in ALL {
        let pair = Pair::new(kind);
        let region = pair.region(64);
        for size in [4, 8] {
            for fetch in [false, true] {
                for (op, want) in [
                    (AtomicOp::Add, 0b1010 + 0b1100),
                    (AtomicOp::Swap, 0b1100u64),
                    (AtomicOp::And, 0b1000),
                    (AtomicOp::Or, 0b1110),
                    (AtomicOp::Xor, 0b0110),
                ] {
                    region.write(8, &0b1010u64.to_ne_bytes());
                    let mut value = u64::MAX << 32;
                    let reply = fetch.then_some(&mut value);
                    let posted = post(&pair, &region, (8, size), operation(op, 0b1100, 0), reply);
                    assert_eq!(pair.wait(posted), Ok(()));
                    assert_eq!(pair.flush(), Ok(()));
                    assert_eq!(region.word(1), want, "{kind:?} {op:?} {size}");
                    if fetch {
                        let high = if size == 4 { u64::MAX << 32 } else { 0 };
                        assert_eq!(value, high | 0b1010, "{kind:?} {op:?} {size}");
                    }
                }
            }
            for (compare, want) in [(0b1010, 77), (0b1011, 0b1010u64)] {
                region.write(8, &0b1010u64.to_ne_bytes());
                let mut value = 0;
                let op = operation(AtomicOp::CompareSwap, compare, 77);
                let posted = post(&pair, &region, (8, size), op, Some(&mut value));
                assert_eq!(pair.wait(posted), Ok(()));
                assert_eq!((region.word(1), value), (want, 0b1010), "{kind:?} {size}");
            }
        }
        pair.close();
    }
}

/// Two origins, one of which uses its own processor and the other messages: none gets lost.
#[test]
fn mixed_origins_count_exactly() {
    let direct = Pair::new(Kind::Mapped);
    let region = direct.region(64);
    let registered = region.registered.as_ref().expect("registered");
    for kind in [Kind::Mapped, Kind::Mapped] {
        let other = direct.another(kind);
        let (mine, theirs) = (direct.key(registered), other.key(registered));
        let before = region.word(0);
        const COUNT: u64 = 2000;
        for i in 0..COUNT {
            for (pair, key) in [(&direct, &mine), (&other, &theirs)] {
                let target = Target {
                    key: key.clone(),
                    remote: region.address(0),
                    size: 8,
                    operation: operation(AtomicOp::Add, i, 0),
                };
                let posted = super::post(&pair.to_b, target, None, &ReqOptions::default());
                assert_eq!(pair.wait(posted), Ok(()));
            }
        }
        assert_eq!(direct.flush(), Ok(()));
        assert_eq!(other.flush(), Ok(()));
        assert_eq!(region.word(0) - before, COUNT * (COUNT - 1));
    }
}

/// Two workers that send messages, in flight at once, with and without results.
#[test]
fn messages_of_two_origins_count_exactly() {
    for kind in BY_MESSAGE {
        let one = Pair::new(kind);
        let two = one.another(kind);
        let region = one.region(64);
        let theirs = two.key(region.registered.as_ref().expect("registered"));
        const COUNT: usize = 2000;
        let mut seen = vec![0u64; 2 * COUNT];
        let mut ops = Vec::new();
        for (i, seen) in seen.iter_mut().enumerate() {
            let (pair, key) = match i % 2 {
                0 => (&one, &region.key),
                _ => (&two, &theirs),
            };
            let add = operation(AtomicOp::Add, 1, 0);
            let mut target = Target {
                key: key.clone(),
                remote: region.address(0),
                size: 8,
                operation: add,
            };
            // SAFETY: `seen` outlives the operations.
            let reply = unsafe { UserMem::new((&raw mut *seen).cast(), 8) };
            let options = ReqOptions::default();
            let fetch = super::post(&pair.to_b, target.clone(), Some(reply), &options);
            ops.push((pair, fetch));
            target.remote = region.address(8);
            let posted = super::post(&pair.to_b, target, None, &options);
            ops.push((pair, posted));
        }
        let progress = || {
            one.progress();
            two.a.progress();
        };
        for (pair, op) in ops {
            assert_eq!(pair.wait_with(op, progress), Ok(()));
        }
        for pair in [&one, &two] {
            let flush = pair.to_b.flush(&ReqOptions::default());
            assert_eq!(pair.wait_with(flush, progress), Ok(()));
        }
        assert_eq!(region.word(0), 2 * COUNT as u64);
        assert_eq!(region.word(1), 2 * COUNT as u64);
        // Each value was seen by exactly one.
        seen.sort_unstable();
        assert!(seen.iter().copied().eq(0..2 * COUNT as u64), "{kind:?}");
    }
}

#[test]
fn what_can_t_be_is_refused() {
    for kind in ALL {
        let pair = Pair::new(kind);
        let region = pair.region(64);
        let add = operation(AtomicOp::Add, 1, 0);
        for (place, error) in [
            ((1, 8), Error::InvalidParam),
            ((4, 8), Error::InvalidParam),
            ((2, 4), Error::InvalidParam),
            ((0, 2), Error::InvalidParam),
            ((64, 8), Error::InvalidAddr),
            ((64, 4), Error::InvalidAddr),
        ] {
            let posted = post(&pair, &region, place, add, None);
            assert_eq!(pair.wait(posted), Err(error), "{kind:?} {place:?}");
        }
        assert_eq!(region.word(0), 0);
        pair.close();
    }
}

#[test]
fn a_dead_region_is_refused_there() {
    for kind in BY_MESSAGE {
        let pair = Pair::new(kind);
        let mut region = pair.region(64);
        region.registered = None;
        let add = operation(AtomicOp::Add, 1, 0);
        let mut value = 5;
        let posted = post(&pair, &region, (0, 8), add, Some(&mut value));
        assert_eq!(pair.wait(posted), Err(Error::InvalidAddr));
        assert_eq!(value, 5);
        let posted = post(&pair, &region, (0, 8), add, None);
        assert_eq!(pair.wait(posted), Ok(()));
        assert_eq!(pair.flush(), Err(Error::InvalidAddr));
        assert_eq!(region.word(0), 0);
        pair.close();
    }
}
