//! Endpoints, addresses, attributes, wake-up.

use super::*;
use crate::uct::Arm;

/// What an interface says about itself makes sense.
pub fn attributes(subject: &Subject) {
    let pair = subject.pair();
    let attr = *pair.a.attr();
    let caps = attr.caps;
    assert!(attr.perf.latency >= 0.0 && attr.perf.overhead >= 0.0);
    assert!(attr.perf.bw_dedicated + attr.perf.bw_shared > 0.0);
    assert!(!caps.contains(IfaceCaps::AM_BCOPY) || attr.max_bcopy >= 64);
    assert!(!caps.contains(IfaceCaps::AM_SHORT) || attr.max_short >= 8);
    assert!(!caps.contains(IfaceCaps::AM_ZCOPY) || attr.max_zcopy > 0);
    assert!(attr.max_iov >= 1);
    assert_eq!(
        caps.contains(IfaceCaps::EVENT_FD),
        pair.a.iface.event_fd().is_some()
    );
    assert_eq!(pair.a.addresses(), pair.a.addresses());
    assert_eq!(pair.to_b.check(), Ok(()));
}

/// A handler may drop endpoints, also the last one to the peer that sent.
pub fn drop_endpoint_in_handler(subject: &Subject) {
    for _ in 0..20 {
        let Pair { a, b, to_a, to_b } = subject.pair();
        if !a.has(IfaceCaps::AM_BCOPY) {
            return;
        }
        let arrived = Rc::new(Cell::new(0));
        let (count, mut victims) = (arrived.clone(), vec![to_a, b.connect(&a, 300)]);
        *b.seen.handler.borrow_mut() = Some(Box::new(move |_, _| {
            victims.pop();
            count.set(count.get() + 1);
        }));
        let pair = Pair {
            to_a: to_b.clone(),
            a,
            b,
            to_b,
        };
        for _ in 0..4 {
            assert_eq!(bcopy(&pair, 1, b"close"), Ok(()));
        }
        pair.until("arrival", || arrived.get() == 4);
        pair.progress();
    }
}

/// What was posted arrives although the endpoint was dropped right afterwards.
pub fn messages_survive_their_endpoint(subject: &Subject) {
    let mut pair = subject.pair();
    if !pair.a.has(IfaceCaps::AM_BCOPY) {
        return;
    }
    let max = pair.a.attr().max_bcopy;
    for round in 0..50usize {
        let data = |i: usize| pattern(round * 10 + i, (200 * i).min(max));
        for i in 0..10 {
            assert_eq!(bcopy(&pair, 1, &data(i)), Ok(()));
        }
        pair.to_b = pair.to_a.clone();
        for i in 0..10 {
            assert_eq!(pair.next(), (1, data(i)));
        }
        pair.to_b = pair.a.connect(&pair.b, 1000 + round as u64);
    }
}

/// Many endpoints to one peer work, and messages through them keep their order.
pub fn many_endpoints(subject: &Subject) {
    let pair = subject.pair();
    if !pair.a.has(IfaceCaps::AM_BCOPY) {
        return;
    }
    let eps: Vec<_> = (0..50).map(|i| pair.a.connect(&pair.b, 1000 + i)).collect();
    let mut pair = pair;
    for (i, ep) in eps.iter().enumerate() {
        pair.to_b = ep.clone();
        assert_eq!(bcopy(&pair, 1, &pattern(i, i)), Ok(()));
    }
    let mut left: Vec<_> = (0..eps.len()).map(|i| (1, pattern(i, i))).collect();
    for _ in 0..eps.len() {
        let message = pair.next();
        let at = left.iter().position(|other| *other == message);
        left.remove(at.expect("a message that was sent"));
    }
}

/// Flush ends, also with messages under way.
pub fn flush_completes(subject: &Subject) {
    let pair = subject.pair();
    assert_eq!(pair.post(77, || pair.to_b.flush(77)), Ok(()));
    if !pair.a.has(IfaceCaps::AM_BCOPY) {
        return;
    }
    let max = pair.a.attr().max_bcopy;
    for token in 100..120 {
        assert_eq!(bcopy(&pair, 2, &pattern(1, max)), Ok(()));
        assert_eq!(pair.post(token, || pair.to_b.flush(token)), Ok(()));
    }
    for _ in 100..120 {
        assert_eq!(pair.next().1.len(), max);
    }
}

/// Foreign bytes as addresses: an answer, never a crash.
pub fn strange_addresses(subject: &Subject) {
    let pair = subject.pair();
    let (device, iface) = pair.b.addresses();
    let try_it = |device_addr: &[u8], iface_addr: &[u8]| {
        let verdict = pair.a.iface.reachable(device_addr, iface_addr);
        let ep = pair.a.iface.create_ep(&EpParams {
            device_addr,
            iface_addr,
            token: 999,
        });
        for _ in 0..3 {
            pair.progress();
        }
        (verdict, ep)
    };
    for len in 0..iface.len() {
        let (verdict, _) = try_it(&device, &iface[..len]);
        assert!(verdict.is_err(), "{len} of {} bytes", iface.len());
    }
    for len in 0..device.len() {
        let (verdict, _) = try_it(&device[..len], &iface);
        assert!(verdict.is_err(), "{len} of {} bytes", device.len());
    }
    let long = [&iface[..], &[0; 7]].concat();
    assert!(try_it(&device, &long).0.is_err());
    for bit in 0..8 * (device.len() + iface.len()) {
        let mut bytes = [&device[..], &iface[..]].concat();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let (device, iface) = bytes.split_at(device.len());
        // Some of them are fine addresses.
        let _ = try_it(device, iface);
    }
    for seed in 0..50 {
        let _ = try_it(&device, &pattern(seed, iface.len()));
        let _ = try_it(&pattern(seed, device.len()), &pattern(seed, iface.len()));
    }
    if pair.a.has(IfaceCaps::AM_BCOPY) {
        assert_eq!(bcopy(&pair, 1, b"still there"), Ok(()));
        pair.until("arrival", || {
            let messages = pair.b.seen.messages.borrow();
            messages.iter().any(|(_, data)| data == b"still there")
        });
    }
}

fn readable(side: &Side) -> bool {
    let fd = side.iface.event_fd().expect("event descriptor");
    crate::sys::poll::is_readable(fd)
}

/// Arms until nothing is left to do.
fn arm(side: &Side) {
    let start = Instant::now();
    while side.iface.arm(false).expect("arm") == Arm::Busy {
        side.progress();
        assert!(start.elapsed() < LIMIT, "it never gets idle");
    }
}

/// The descriptor becomes readable when something arrives after arming, and isn't otherwise.
pub fn wakes_up(subject: &Subject) {
    for seldom in [false, true] {
        wakes_up_if(subject, seldom);
    }
}

fn wakes_up_if(subject: &Subject, seldom_sleeps: bool) {
    let pair = subject.pair_with(&IfaceParams {
        wakeup: true,
        seldom_sleeps,
        err_handling: true,
        ..IfaceParams::default()
    });
    if !pair.b.has(IfaceCaps::EVENT_FD) || !pair.a.has(IfaceCaps::AM_BCOPY) {
        return;
    }
    // Connecting is over after the first message.
    assert_eq!(bcopy(&pair, 1, b"first"), Ok(()));
    pair.next();
    let max = pair.a.attr().max_bcopy;
    for round in 0..200 {
        let data = pattern(round, round.min(max));
        while pair.progress() != 0 {}
        arm(&pair.b);
        assert!(
            !readable(&pair.b),
            "readable in round {round} without a reason"
        );
        assert_eq!(bcopy(&pair, 1, &data), Ok(()));
        let start = Instant::now();
        while !readable(&pair.b) {
            pair.a.progress();
            assert!(start.elapsed() < LIMIT, "not readable in round {round}");
        }
        pair.until("arrival", || !pair.b.seen.messages.borrow().is_empty());
        assert_eq!(pair.next(), (1, data));
    }
    // What is there already keeps it awake.
    while pair.progress() != 0 {}
    arm(&pair.b);
    assert_eq!(bcopy(&pair, 1, b"early"), Ok(()));
    let start = Instant::now();
    while !readable(&pair.b) {
        pair.a.progress();
        assert!(start.elapsed() < LIMIT);
    }
    assert_eq!(pair.b.iface.arm(false), Ok(Arm::Busy));
}
