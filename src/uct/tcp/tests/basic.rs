//! Messages, large ones, order, flush, closing.

use super::*;

#[test]
fn short_bcopy_zcopy_both_ways() {
    let (a, b) = (Node::new(), Node::new());
    let ab = a.connect(&b, 1);
    let ba = b.connect(&a, 2);
    assert_eq!(ab.am_short(3, 0x1122_3344, b"hello"), Ok(Post::Done));
    let sent = ab.am_bcopy(4, 100, &mut |to| {
        to[..3].copy_from_slice(b"abc");
        3
    });
    assert_eq!(sent, Ok(Post::Done));
    let data = pattern(5000, 1);
    let iov = [io_vec(&data[..10]), io_vec(&[]), io_vec(&data[10..])];
    let post = ab.am_zcopy(5, b"head", &iov, 77).unwrap();
    assert_eq!(ba.am_short(6, 5, b""), Ok(Post::Done));
    until(&[&a, &b], || {
        b.log.count.get() == 3 && a.log.count.get() == 1
    });
    if post == Post::Pending {
        until(&[&a, &b], || !a.log.completed.borrow().is_empty());
        assert_eq!(*a.log.completed.borrow(), [(77, Ok(()))]);
    }
    let got = b.log.messages.borrow();
    let mut short = 0x1122_3344u64.to_ne_bytes().to_vec();
    short.extend_from_slice(b"hello");
    assert_eq!(got[0], (3, short));
    assert_eq!(got[1], (4, b"abc".to_vec()));
    assert_eq!(got[2].0, 5);
    assert_eq!(&got[2].1[..4], b"head");
    assert_eq!(&got[2].1[4..], &data);
    assert_eq!(a.log.messages.borrow()[0], (6, 5u64.to_ne_bytes().to_vec()));
    assert_eq!(a.log.failed.borrow().len() + b.log.failed.borrow().len(), 0);
}

#[test]
fn limits_are_checked() {
    let (a, b) = (Node::new(), Node::new());
    let ep = a.connect(&b, 1);
    let attr = *a.iface.attr();
    let long = vec![0; attr.max_bcopy + 1];
    assert_eq!(
        ep.am_short(1, 0, &long[..attr.max_short + 1]),
        Err(Error::InvalidParam)
    );
    assert_eq!(ep.am_short(32, 0, b""), Err(Error::InvalidParam));
    let mut called = false;
    let post = ep.am_bcopy(1, long.len(), &mut |_| {
        called = true;
        0
    });
    assert_eq!((post, called), (Err(Error::InvalidParam), false));
    assert_eq!(ep.am_zcopy(1, &long, &[], 0), Err(Error::InvalidParam));
    let iov = vec![io_vec(b"x"); attr.max_iov + 1];
    assert_eq!(ep.am_zcopy(1, b"", &iov, 0), Err(Error::InvalidParam));
    assert!(ep.get_zcopy(&[], 0, 0, 0).is_err());
    assert_eq!(ep.am_short(1, 0, &long[..attr.max_short]), Ok(Post::Done));
    until(&[&a, &b], || b.log.count.get() == 1);
}

/// Large messages go to their place, whatever the place takes per call, and to a copy.
#[test]
fn large_messages_are_placed() {
    for (step, size) in [
        (usize::MAX, 128 << 10),
        (1000, 128 << 10),
        (1, 70_000),
        (70_000, 100_000),
    ] {
        let (a, b) = (Node::new(), Node::new());
        let ep = a.connect(&b, 1);
        let data = pattern(size, 5);
        b.log.places.borrow_mut().insert(9, (vec![0; size], step));
        let iov = [io_vec(&data[..size / 3]), io_vec(&data[size / 3..])];
        // 9 is placed, 8 is copied, 9 again, and a short one behind.
        let posts = [9u8, 8, 9].map(|key| {
            a.post(&[&b], || {
                ep.am_zcopy(7, &[key, 1, 2], &iov, 50 + u64::from(key))
            })
        });
        a.post(&[&b], || ep.am_short(1, 1, b"end"));
        let pending = posts.iter().filter(|pending| **pending).count();
        until(&[&a, &b], || {
            b.log.count.get() == 2 && a.log.completed.borrow().len() == pending
        });
        assert_eq!(b.log.placed.borrow().len(), 2);
        assert_eq!(b.log.placed.borrow()[0], (7, vec![9, 1, 2], size));
        assert_eq!(b.log.places.borrow()[&9].0, data);
        let messages = b.log.messages.borrow();
        assert_eq!(messages[0].1[..3], [8, 1, 2]);
        assert_eq!(&messages[0].1[3..], &data);
        assert_eq!(messages[1].0, 1);
    }
}

/// A place that is withdrawn takes nothing more, and the stream goes on.
#[test]
fn discarded_messages_leave_the_stream_whole() {
    let (a, b) = (Node::new(), Node::new());
    let ep = a.connect(&b, 1);
    let data = pattern(128 << 10, 5);
    b.log
        .places
        .borrow_mut()
        .insert(9, (vec![0; data.len()], 0));
    a.post(&[&b], || ep.am_zcopy(7, &[9], &[io_vec(&data)], 1));
    a.post(&[&b], || ep.am_short(1, 1, b"end"));
    until(&[&a, &b], || b.log.count.get() == 1);
    assert!(b.log.placed.borrow().is_empty());
    assert!(b.log.places.borrow()[&9].0.iter().all(|byte| *byte == 0));
}

/// A full socket: posts end in NoResource, and what was accepted arrives in order.
#[test]
fn full_sockets_keep_order() {
    let (a, b) = (Node::new(), Node::new());
    let ep = a.connect(&b, 1);
    settle(&[&a, &b]);
    let body = pattern(4000, 3);
    let mut sent = 0u64;
    let mut full = 0;
    while full < 100 {
        match ep.am_short(2, sent, &body).unwrap() {
            Post::NoResource => {
                full += 1;
                a.progress();
            }
            _ => sent += 1,
        }
    }
    assert_eq!(ep.flush(9), Ok(Post::Pending));
    a.post(&[&b], || {
        ep.am_bcopy(2, 8, &mut |to| {
            to[..8].copy_from_slice(&sent.to_ne_bytes());
            8
        })
    });
    until(&[&a, &b], || b.log.count.get() as u64 == sent + 1);
    assert_eq!(*a.log.completed.borrow(), [(9, Ok(()))]);
    assert_eq!(ep.flush(10), Ok(Post::Done));
    for (i, (_, data)) in b.log.messages.borrow().iter().enumerate() {
        assert_eq!(data[..8], (i as u64).to_ne_bytes());
        assert!(data.len() == 8 || data[8..] == body);
    }
}

#[test]
fn an_endpoint_to_oneself() {
    let a = Node::new();
    let first = a.connect(&a, 1);
    let second = a.connect(&a, 2);
    assert_eq!(first.am_short(1, 1, b"x"), Ok(Post::Done));
    assert_eq!(second.am_short(1, 2, b"y"), Ok(Post::Done));
    until(&[&a], || a.log.count.get() == 2);
    drop(first);
    assert_eq!(second.am_short(1, 3, b"z"), Ok(Post::Done));
    until(&[&a], || a.log.count.get() == 3);
    settle(&[&a]);
    assert_eq!(a.live(), 2);
    drop(second);
    settle(&[&a]);
    assert_eq!(a.live(), 0);
    assert!(a.log.failed.borrow().is_empty());
}

/// Messages of an endpoint that is dropped at once arrive; the other direction goes on.
#[test]
fn dropping_loses_nothing() {
    let (a, b) = (Node::new(), Node::new());
    let ab = a.connect(&b, 1);
    for i in 0..10 {
        assert_eq!(ab.am_short(1, i, b"data"), Ok(Post::Done));
    }
    drop(ab);
    until(&[&a, &b], || b.log.count.get() == 10);
    let ba = b.connect(&a, 2);
    assert_eq!(ba.am_short(1, 1, b""), Ok(Post::Done));
    until(&[&a, &b], || a.log.count.get() == 1);
    assert!(a.log.failed.borrow().is_empty() && b.log.failed.borrow().is_empty());
}

/// One connection serves both directions, and is gone when both have closed.
#[test]
fn connections_are_shared_and_closed() {
    let (a, b) = (Node::new(), Node::new());
    let ab = a.connect(&b, 1);
    settle(&[&a, &b]);
    let ba = b.connect(&a, 2);
    settle(&[&a, &b]);
    assert_eq!((a.live(), b.live()), (1, 1));
    drop(ab);
    settle(&[&a, &b]);
    assert_eq!((a.live(), b.live()), (1, 1));
    assert_eq!(ba.am_short(1, 1, b""), Ok(Post::Done));
    until(&[&a, &b], || a.log.count.get() == 1);
    drop(ba);
    settle(&[&a, &b]);
    assert_eq!((a.live(), b.live()), (0, 0));
    assert!(a.log.failed.borrow().is_empty() && b.log.failed.borrow().is_empty());
}

/// A peer that goes in good order is no failure; sending to it afterwards is one.
#[test]
fn a_peer_that_leaves() {
    let (a, b) = (Node::new(), Node::new());
    let ab = a.connect(&b, 1);
    let ba = b.connect(&a, 2);
    assert_eq!(ba.am_short(1, 1, b"bye"), Ok(Post::Done));
    until(&[&a, &b], || a.log.count.get() == 1);
    drop(ba);
    drop(b);
    settle(&[&a]);
    assert!(a.log.failed.borrow().is_empty());
    let mut last = ab.am_short(1, 1, b"");
    let start = Instant::now();
    while a.log.failed.borrow().is_empty() && start.elapsed() < LIMIT {
        a.progress();
        last = ab.am_short(1, 1, b"");
    }
    assert_eq!(a.log.failed.borrow().len(), 1);
    assert!(last.is_err());
    assert_eq!(a.log.failed.borrow()[0].0, 1);
}

/// Nobody listens at the address (any more).
#[test]
fn an_absent_peer_is_told_once() {
    let a = Node::new();
    let to = Node::new().addr();
    let ep = connect(&a.iface, &to, 7).unwrap();
    let data = [0; 10];
    let _ = ep.am_zcopy(1, b"", &[io_vec(&data)], 55);
    until(&[&a], || !a.log.failed.borrow().is_empty());
    settle(&[&a]);
    assert_eq!(a.log.failed.borrow().len(), 1);
    assert!(ep.am_short(1, 1, b"").is_err());
    assert!(ep.flush(1).is_err());
    for (token, result) in a.log.completed.borrow().iter() {
        assert_eq!(*token, 55);
        assert!(result.is_err());
    }
}
