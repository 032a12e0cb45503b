//! Fence and flush.

use super::pair::{ALL, BY_MESSAGE, Kind, Pair, pattern};
use crate::sys::atomic::{AtomicOp, Operation};
use crate::ucp::amo;
use crate::ucp::proto::amo::Target;
use crate::ucp::worker::{Posted, ReqOptions};

fn add(pair: &Pair, region: &super::pair::Region, at: usize, operand: u64) -> Posted {
    let target = Target {
        key: region.key.clone(),
        remote: region.address(at),
        size: 8,
        operation: Operation {
            op: AtomicOp::Add,
            operand,
            swap: 0,
        },
    };
    amo::post(&pair.to_b, target, None, &ReqOptions::default()).expect("posted")
}

/// Each put after a fence finds the one before it in place: the last one wins.
#[test]
fn puts_across_fences_keep_their_order() {
    for kind in ALL {
        let pair = Pair::new(kind);
        let region = pair.region(1 << 20);
        let mut ops = Vec::new();
        let data: Vec<_> = (0..20)
            .map(|i| pattern(if i % 2 == 0 { 1 << 20 } else { 64 }, i))
            .collect();
        for data in &data {
            ops.push(pair.put(data, &region, 0));
            pair.a.fence();
        }
        for op in ops {
            assert_eq!(pair.wait(op), Ok(()));
        }
        assert_eq!(pair.flush(), Ok(()));
        let mut want = data[18].clone();
        want[..64].copy_from_slice(&data[19]);
        assert!(region.read(0, 1 << 20) == want, "{kind:?}");
        pair.close();
    }
}

/// Atomic operations go as messages, puts by a lane: a fence between them orders both.
#[test]
fn a_fence_orders_different_ways() {
    for kind in ALL {
        let pair = Pair::new(kind);
        let region = pair.region(64);
        let mut ops = Vec::new();
        let data: Vec<[u8; 8]> = (0..200u64).map(|i| (i * 1000).to_ne_bytes()).collect();
        let mut seen = vec![[0u8; 8]; 200];
        for (data, seen) in data.iter().zip(&mut seen) {
            ops.push(pair.put(data, &region, 0));
            pair.a.fence();
            ops.push(Ok(add(&pair, &region, 0, 7)));
            pair.a.fence();
            ops.push(pair.get(seen, &region, 0));
            pair.a.fence();
        }
        for op in ops {
            assert_eq!(pair.wait(op), Ok(()));
        }
        assert_eq!(pair.flush(), Ok(()));
        for (i, seen) in seen.iter().enumerate() {
            let seen = u64::from_ne_bytes(*seen);
            assert_eq!(seen, i as u64 * 1000 + 7, "{kind:?}");
        }
        assert_eq!(region.word(0), 199 * 1000 + 7);
        pair.close();
    }
}

/// A read before a fence doesn't see a write after it.
#[test]
fn gets_before_a_fence_see_what_was_before() {
    for kind in ALL {
        let pair = Pair::new(kind);
        let len = 1 << 20;
        let region = pair.region(len);
        region.write(0, &vec![1; len]);
        let mut back = vec![0; len];
        let data = vec![2; len];
        let get = pair.get(&mut back, &region, 0);
        pair.a.fence();
        let put = pair.put(&data, &region, 0);
        assert_eq!(pair.wait(put), Ok(()));
        assert_eq!(pair.wait(get), Ok(()));
        assert_eq!(pair.flush(), Ok(()));
        assert!(back.iter().all(|byte| *byte == 1), "{kind:?}");
        assert!(region.read(0, len) == data, "{kind:?}");
        pair.close();
    }
}

/// A flush begun while something is held covers it.
#[test]
fn flushes_cover_what_is_held() {
    for kind in [Kind::Lane, Kind::Shm, Kind::Tcp] {
        let pair = Pair::new(kind);
        let region = pair.region(1 << 20);
        let data = pattern(1 << 20, 4);
        let mut ops = vec![Ok(add(&pair, &region, 0, 7))];
        pair.a.fence();
        ops.push(pair.put(&data, &region, 0));
        pair.a.fence();
        ops.push(Ok(add(&pair, &region, 0, 1)));
        let other = pair.to_b.flush(&ReqOptions::default());
        let flush = pair.a.flush(&ReqOptions::default());
        pair.a.fence();
        ops.push(Ok(add(&pair, &region, 0, 1)));
        assert_eq!(pair.wait(other), Ok(()), "{kind:?}");
        assert_eq!(pair.wait(flush), Ok(()), "{kind:?}");
        assert_eq!(pair.flush(), Ok(()), "{kind:?}");
        let first = u64::from_ne_bytes(data[..8].try_into().expect("8 bytes"));
        assert_eq!(region.word(0), first + 2, "{kind:?}");
        for op in ops {
            assert_eq!(pair.wait(op), Ok(()));
        }
        pair.close();
    }
}

/// Nothing is sent for a flush when nothing went as a message.
#[test]
fn flushes_ask_only_for_messages() {
    for kind in [Kind::Mapped, Kind::Own, Kind::Lane] {
        let pair = Pair::new(kind);
        let region = pair.region(64);
        assert_eq!(pair.wait(pair.put(&[1; 8], &region, 0)), Ok(()));
        let flush = pair.to_b.flush(&ReqOptions::default());
        assert!(matches!(flush, Ok(Posted::Now(Ok(()), _))), "{kind:?}");
        pair.close();
    }
    for kind in BY_MESSAGE {
        let pair = Pair::new(kind);
        let region = pair.region(64);
        assert_eq!(pair.wait(pair.put(&[1; 8], &region, 0)), Ok(()));
        assert!(pair.to_b.order().needs_flush());
        assert_eq!(pair.flush(), Ok(()));
        assert!(pair.to_b.order().is_quiet());
        pair.until(|| {
            let flush = pair.to_b.flush(&ReqOptions::default());
            matches!(flush, Ok(Posted::Now(Ok(()), _)))
        });
        pair.close();
    }
}
