//! Operations that can't succeed, and things that go while they are in use.

use super::pair::{ALL, BY_MESSAGE, Pair, REMOTE, connect, pattern};
use crate::ucp::worker::{Posted, ReqOptions};
use crate::ucs::status::{Error, Result};

#[test]
fn out_of_range_is_refused_here() {
    for kind in ALL {
        let pair = Pair::new(kind);
        let region = pair.region(100);
        let mut data = [0; 101];
        for (at, len) in [(0, 101), (100, 1), (99, 2), (1000, 1)] {
            let put = pair.put(&data[..len], &region, at);
            assert_eq!(pair.wait(put), Err(Error::InvalidAddr));
            let get = pair.get(&mut data[..len], &region, at);
            assert_eq!(pair.wait(get), Err(Error::InvalidAddr));
        }
        assert_eq!(pair.wait(pair.put(&data[..100], &region, 0)), Ok(()));
        assert_eq!(pair.flush(), Ok(()));
        pair.close();
    }
}

/// The region is gone at the target, the key is still here.
#[test]
fn a_dead_region_is_refused_there() {
    for kind in BY_MESSAGE {
        let pair = Pair::new(kind);
        let mut region = pair.region(100_000);
        region.registered = None;
        for len in [8, 100_000] {
            let data = pattern(len, 2);
            assert_eq!(pair.wait(pair.put(&data, &region, 0)), Ok(()));
            assert_eq!(pair.flush(), Err(Error::InvalidAddr), "{kind:?} {len}");
            // Told once.
            assert_eq!(pair.flush(), Ok(()));
            let mut back = vec![0; len];
            let get = pair.get(&mut back, &region, 0);
            assert_eq!(pair.wait(get), Err(Error::InvalidAddr));
            assert!(region.read(0, len).iter().all(|byte| *byte == 0));
        }
        // Others are served as before.
        let alive = pair.region(8);
        assert_eq!(pair.wait(pair.put(&[1; 8], &alive, 0)), Ok(()));
        assert_eq!(pair.flush(), Ok(()));
        assert_eq!(alive.read(0, 8), [1; 8]);
        pair.close();
    }
}

#[test]
fn a_worker_s_flush_tells_of_refusals() {
    for kind in BY_MESSAGE {
        let pair = Pair::new(kind);
        let mut region = pair.region(8);
        region.registered = None;
        assert_eq!(pair.wait(pair.put(&[1; 8], &region, 0)), Ok(()));
        let flush = pair.a.flush(&ReqOptions::default());
        assert_eq!(pair.wait(flush), Err(Error::InvalidAddr));
        assert_eq!(pair.wait(pair.a.flush(&ReqOptions::default())), Ok(()));
        pair.close();
    }
}

/// An operation whose request nobody holds fails: the next flush says so, once.
#[test]
fn a_flush_tells_of_what_nobody_waits_for() {
    for kind in BY_MESSAGE {
        let pair = Pair::new(kind);
        let mut region = pair.region(8);
        region.registered = None;
        let mut back = [0; 8];
        let Ok(Posted::Later(req)) = pair.get(&mut back, &region, 0) else {
            panic!("it can't be known yet");
        };
        req.free(&pair.a.requests);
        assert_eq!(pair.flush(), Err(Error::InvalidAddr), "{kind:?}");
        assert_eq!(pair.flush(), Ok(()));
        pair.close();
    }
}

#[test]
fn a_key_may_go_while_it_is_used() {
    for kind in ALL {
        let pair = Pair::new(kind);
        let len = 8 << 20;
        let mut region = pair.region(len);
        let data = pattern(len, 5);
        let put = pair.put(&data, &region, 0);
        let other = pair.key(region.registered.as_ref().expect("registered"));
        drop(core::mem::replace(&mut region.key, other));
        assert_eq!(pair.wait(put), Ok(()));
        assert_eq!(pair.flush(), Ok(()));
        assert!(region.read(0, len) == data, "{kind:?}");
        let mut back = vec![0; len];
        let get = pair.get(&mut back, &region, 0);
        let other = pair.key(region.registered.as_ref().expect("registered"));
        drop(core::mem::replace(&mut region.key, other));
        assert_eq!(pair.wait(get), Ok(()));
        assert!(back == data, "{kind:?}");
        pair.close();
    }
}

fn end_of(pair: &Pair, posted: Result<Posted>) -> Result<()> {
    pair.wait(posted)
}

/// Every operation ends once, with the error, and nothing is touched afterwards.
#[test]
fn a_failed_endpoint_ends_everything() {
    for kind in REMOTE {
        let pair = Pair::new(kind);
        let len = 8 << 20;
        let region = pair.region(len);
        let data = pattern(len, 5);
        let mut back = vec![0; len];
        let ops = [
            pair.get(&mut back, &region, 0),
            pair.put(&data, &region, 0),
            pair.put(&data, &region, 0),
        ];
        pair.a.fence();
        let mut held = [0; 8];
        let held = [
            pair.get(&mut held, &region, 0),
            pair.put(&[1; 8], &region, 0),
        ];
        let flush = pair.to_b.flush(&ReqOptions::default());
        pair.to_b.fail(Error::EndpointTimeout);
        for (index, op) in ops.into_iter().chain(held).enumerate() {
            let result = end_of(&pair, op);
            let done = result == Ok(()) || result == Err(Error::EndpointTimeout);
            assert!(done, "{kind:?} {index}: {result:?}");
        }
        assert_eq!(
            end_of(&pair, flush),
            Err(Error::EndpointTimeout),
            "{kind:?}"
        );
        assert_eq!(
            end_of(&pair, pair.put(&[1; 8], &region, 0)),
            Err(Error::EndpointTimeout)
        );
        back.fill(0);
        for _ in 0..1000 {
            pair.a.progress();
        }
        assert!(back.iter().all(|byte| *byte == 0), "{kind:?}");
        pair.close();
    }
}

#[test]
fn closing_flushes() {
    for kind in ALL {
        let pair = Pair::new(kind);
        let len = 2 << 20;
        let region = pair.region(len);
        let data = pattern(len, 6);
        let put = pair.put(&data, &region, 0);
        pair.close();
        assert_eq!(pair.wait(put), Ok(()));
        assert!(region.read(0, len) == data, "{kind:?}");
    }
}

#[test]
fn closing_by_force_ends_everything() {
    for kind in REMOTE {
        let pair = Pair::new(kind);
        let len = 8 << 20;
        let region = pair.region(len);
        let data = pattern(len, 5);
        let mut back = vec![0; len];
        let get = pair.get(&mut back, &region, 0);
        let put = pair.put(&data, &region, 0);
        let closed = pair.to_b.close(&ReqOptions::default(), true);
        assert_eq!(pair.wait(closed), Ok(()));
        for op in [get, put] {
            let result = end_of(&pair, op);
            assert!(
                result == Ok(()) || result == Err(Error::Canceled),
                "{kind:?} {result:?}"
            );
        }
        for _ in 0..1000 {
            pair.progress();
        }
    }
}

/// The target closes its endpoint, by which it would answer, while it is being asked.
#[test]
fn the_target_s_endpoint_may_go() {
    for kind in BY_MESSAGE {
        let pair = Pair::new(kind);
        let to_a = connect(&pair.b, &pair.a);
        let region = pair.region(8);
        assert_eq!(pair.wait(pair.put(&[1; 8], &region, 0)), Ok(()));
        assert_eq!(pair.flush(), Ok(()));
        // Asked, and not progressed there before the close.
        let mut back = [0; 8];
        assert_eq!(pair.wait(pair.put(&[2; 8], &region, 0)), Ok(()));
        let get = pair.get(&mut back, &region, 0);
        let flush = pair.to_b.flush(&ReqOptions::default());
        let closed = to_a.close(&ReqOptions::default(), false);
        assert_eq!(pair.wait(closed), Ok(()));
        assert_eq!(pair.wait(get), Ok(()), "{kind:?}");
        assert_eq!(back, [2; 8]);
        assert_eq!(pair.wait(flush), Ok(()));
        pair.close();
    }
}
