//! Several lanes at once, and what a forced scheme changes about the choice of lanes: nothing.

use super::*;

#[test]
fn a_forced_scheme_makes_no_configurations() {
    for tls in ["sysv,cma", "tcp"] {
        let seen = SCHEMES.map(|scheme| {
            let pair = Pair::new(tls, scheme);
            for (len, early) in [(10, true), (100_000, false), (300_000, true)] {
                assert_eq!(pair.transfer(len, len, early), (Ok(()), Ok(())));
            }
            let keys = [&pair.a, &pair.b].map(|worker| worker.context().rkey_configs.len());
            let ends = [pair.a.config_count(), pair.b.config_count()];
            (pair.to_b.config().lanes.clone(), ends, keys)
        });
        let all = SCHEMES.iter().zip(&seen);
        all.for_each(|(scheme, of_it)| assert_eq!(of_it, &seen[0], "{tls}, {scheme}"));
    }
}

/// Shared memory and TCP.
fn both(scheme: &str, more: &[(&str, &str)]) -> Pair {
    Pair::with("sysv,cma,tcp", scheme, ErrorMode::None, more)
}

#[test]
fn fragments_of_eager_messages_are_shared() {
    let more = [("RNDV_THRESH", "inf"), ("MAX_EAGER_RAILS", "2")];
    let pair = both("auto", &more);
    let rails: Vec<_> = pair.to_b.config().eager_rails.to_vec();
    assert_eq!(rails.len(), 2, "{rails:?}");
    assert!((rails.iter().map(|rail| rail.share).sum::<f64>() - 1.0).abs() < 1e-6);
    for early in [true, false] {
        for len in [0, 100, 8_000, 20_000, 300_001, 3 << 20] {
            assert_eq!(pair.transfer(len, len + 1, early), (Ok(()), Ok(())));
        }
    }
}

#[test]
fn messages_keep_their_order_whatever_their_fragments_do() {
    let more = [("RNDV_THRESH", "inf"), ("MAX_EAGER_RAILS", "2")];
    let pair = both("auto", &more);
    let lens = [50_000, 8, 400_000, 9_000, 8, 100_000, 20_000, 8];
    let sent: Vec<_> = lens.map(|len| pattern(len, len)).into();
    let posts: Vec<_> = sent.iter().map(|data| pair.send(source(data), 5)).collect();
    for data in &sent {
        let mut got = vec![0u8; data.len()];
        let posted = pair.receive(target(&mut got), 5);
        assert_eq!(pair.wait(posted), Ok(()));
        assert!(got == *data, "{} bytes differ", data.len());
    }
    posts
        .into_iter()
        .for_each(|posted| assert_eq!(pair.wait(posted), Ok(())));
}

#[test]
fn by_default_eager_messages_take_one_lane() {
    for tls in ["sysv,cma,tcp", "tcp"] {
        let pair = Pair::new(tls, "auto");
        assert!(pair.to_b.config().eager_rails.is_empty(), "{tls}");
    }
    // Nor where others share lanes.
    let pair = both("auto", &[("MAX_RNDV_RAILS", "2")]);
    assert_eq!(pair.to_b.config().rails, 2);
    assert!(pair.to_b.config().eager_rails.is_empty());
}

#[test]
fn shared_memory_and_tcp_share_where_that_is_wanted() {
    let pair = Pair::new("sysv,cma,tcp", "am");
    assert_eq!(pair.to_b.config().rails, 1);
    for scheme in SCHEMES {
        let pair = both(scheme, &[("MAX_RNDV_RAILS", "2")]);
        assert_eq!(pair.to_b.config().rails, 2, "{scheme}");
        assert!(pair.to_b.put_rails().iter().any(|rail| rail.keyed));
        for early in [true, false] {
            for len in [0, 20_000, 300_001, 5 << 20] {
                assert_eq!(pair.transfer(len, len + 1, early), (Ok(()), Ok(())));
            }
        }
    }
    // A lane much slower than the other is no use, says the user.
    let ratio = [("MAX_RNDV_RAILS", "2"), ("MULTI_LANE_MAX_RATIO", "1.01")];
    assert_eq!(both("am", &ratio).to_b.config().rails, 1);
}
