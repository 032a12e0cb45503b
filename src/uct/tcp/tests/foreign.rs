//! Peers that are none, or don't keep to the protocol.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use proptest::prelude::*;

use super::peer::*;
use super::*;
use crate::uct::tcp::wire::{Frame, HELLO_LEN, Hello, HelloKind};

fn garbage(i: usize, target: u32) -> Vec<u8> {
    let noise = pattern(4096, i as u64);
    let mut hello = Hello {
        target,
        ..hello_for(target)
    }
    .encode();
    match i % 10 {
        0 => Vec::new(),
        1 => noise[..1].to_vec(),
        2 => noise[..7].to_vec(),
        3 => noise[..8].to_vec(),
        4 => noise,
        5 => b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        // A TLS hello.
        6 => [&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3][..], &noise[..500]].concat(),
        // The start of a connection of genuine UCX.
        7 => [&0xCAFE_BABE_1234_5678_u64.to_le_bytes()[..], &noise[..40]].concat(),
        // Our own greeting, one bit of it flipped, or cut short.
        8 => {
            hello[i % HELLO_LEN] ^= 1 << (i % 8);
            hello.to_vec()
        }
        _ => hello[..i % HELLO_LEN].to_vec(),
    }
}

fn hello_for(target: u32) -> Hello {
    Hello {
        kind: HelloKind::Connect,
        sender: crate::uct::tcp::wire::IfaceId {
            ip: std::net::Ipv4Addr::LOCALHOST.into(),
            port: 9,
            id: 9,
        },
        target,
        sequence: 0,
        worker: 0,
        max_message: 100,
    }
}

/// A thousand bad connections while a healthy pair exchanges messages.
#[test]
fn garbage_disturbs_nobody() {
    let (a, b) = (Node::new(), Node::new());
    let (ab, ba) = (a.connect(&b, 1), b.connect(&a, 2));
    let (to, target) = (port(&a.iface), a.shared.me.id);
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for i in 0..1000 {
            let mut stream = std::net::TcpStream::connect(("127.0.0.1", to)).unwrap();
            let _ = stream.write_all(&garbage(i, target));
            if i % 3 == 0 {
                // Some wait for an answer before they go.
                let _ = stream.set_read_timeout(Some(Duration::from_millis(1)));
                let _ = stream.read(&mut [0; 100]);
            }
        }
        sender.send(()).unwrap();
    });
    let mut rounds = 0;
    let mut done = false;
    while !done || rounds < 1000 {
        done |= receiver.try_recv().is_ok();
        a.post(&[&b], || ab.am_short(1, rounds, b"ping"));
        until(&[&a, &b], || b.log.count.get() as u64 == rounds + 1);
        b.post(&[&a], || ba.am_short(1, rounds, b"pong"));
        until(&[&a, &b], || a.log.count.get() as u64 == rounds + 1);
        rounds += 1;
    }
    // What was left open by the garbage ends with its socket.
    until(&[&a, &b], || a.live() == 1);
    assert_eq!(b.live(), 1);
    assert!(a.log.failed.borrow().is_empty() && b.log.failed.borrow().is_empty());
}

/// Whatever follows a good greeting ends that connection alone.
#[test]
fn bad_frames_end_their_connection() {
    let a = Node::new();
    let long = Frame::Message {
        id: 1,
        len: (1 << 20) + 1,
    };
    let bad: [&[u8]; 7] = [
        &[1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff],
        &[32, 0, 0, 0, 1, 0, 0, 0, 5],
        &[1, 3, 0, 0, 0, 0, 0, 0],
        &[1, 0, 1, 0, 0, 0, 0, 0],
        &[0xff; 64],
        &long.encode(),
        // Something after the end.
        &[0, 2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
    ];
    for (i, bytes) in bad.iter().enumerate() {
        let mut peer = RawPeer::connect(&a, i as u64);
        assert_eq!(a.live(), 1);
        let mut all = message(3, b"good");
        all.extend_from_slice(bytes);
        peer.send(&all);
        until(&[&a], || a.log.count.get() == i + 1 && a.live() == 0);
    }
    assert!(a.log.failed.borrow().is_empty());
}

/// A claim of 4 GiB of payload takes no memory that isn't sent.
#[test]
fn claimed_lengths_are_not_believed() {
    let a = Node::new();
    let mut peer = RawPeer::connect(&a, 0);
    peer.send(&[1, 1, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    peer.send(&pattern(100_000, 1));
    settle(&[&a]);
    let conn = a.shared.sources.borrow().values().remove(0);
    let kept = conn.rx.take().unwrap();
    assert!(
        (100_000..8 << 20).contains(&kept.capacity()),
        "{}",
        kept.capacity()
    );
    conn.rx.set(Some(kept));
    drop(conn);
    drop(peer);
    until(&[&a], || a.live() == 0);
}

#[test]
fn another_version_is_told_ours() {
    let a = Node::new();
    let mut bytes = hello(&a, 0).encode();
    bytes[8] = 77;
    let mut stream = raw_connect(&a);
    stream.write_all(&bytes).unwrap();
    settle(&[&a]);
    let mut answer = [0; HELLO_LEN];
    stream.read_exact(&mut answer).unwrap();
    let answer = Hello::decode(&answer).unwrap();
    assert_eq!(answer.kind, HelloKind::WrongVersion);
    assert_eq!(a.live(), 0);
}

/// A server that isn't ours answers at a peer's address.
#[test]
fn a_foreign_server_fails_the_endpoint() {
    let a = Node::new();
    for answer in [
        &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
        &[0xff; 100],
        b"UCX-rs\0Tx",
    ] {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut to = a.addr();
        let port = server.local_addr().unwrap().port();
        to.iface[..2].copy_from_slice(&port.to_le_bytes());
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                server.set_nonblocking(true).unwrap();
                while !stop.load(Ordering::Relaxed) {
                    if let Ok((mut stream, _)) = server.accept() {
                        let _ = stream.write_all(answer);
                    }
                    thread::sleep(Duration::from_millis(1));
                }
            });
            let node = Node::with(&config(&[("TCP_MAX_CONN_RETRIES", "3")]));
            let ep = connect(&node.iface, &to, 5).unwrap();
            until(&[&node], || !node.log.failed.borrow().is_empty());
            assert!(ep.am_short(1, 1, b"").is_err());
            stop.store(true, Ordering::Relaxed);
        });
    }
}

/// The address of an interface whose port another one has taken over.
#[test]
fn a_successor_is_not_the_one_meant() {
    let (a, b) = (Node::new(), Node::new());
    let mut to = b.addr();
    to.iface[2] ^= 1;
    let ep = connect(&a.iface, &to, 5).unwrap();
    until(&[&a, &b], || !a.log.failed.borrow().is_empty());
    assert_eq!(*a.log.failed.borrow(), [(5, Error::ConnectionReset)]);
    assert!(ep.flush(1).is_err());
    assert_eq!(b.live(), 0);
}

/// Silent connections are bounded, and keep nobody out.
#[test]
fn silent_connections_are_bounded() {
    let (a, b) = (Node::new(), Node::new());
    let silent: Vec<_> = (0..600)
        .map(|_| {
            let stream = raw_connect(&a);
            a.progress();
            stream
        })
        .collect();
    settle(&[&a]);
    assert!(a.live() <= 256, "{}", a.live());
    let ep = b.connect(&a, 1);
    assert_eq!(ep.am_short(1, 1, b""), Ok(Post::Done));
    until(&[&a, &b], || a.log.count.get() == 1);
    drop(silent);
    until(&[&a, &b], || a.live() == 1);
}

/// The header of a large message comes alone, and its payload is to be gathered.
#[test]
fn a_header_alone() {
    let a = Node::new();
    let mut peer = RawPeer::connect(&a, 0);
    let all = large(2, b"\xffhead", &pattern(10_000, 1));
    let (head, body) = all.split_at(8 + 5);
    peer.send(head);
    settle(&[&a]);
    peer.send(body);
    until(&[&a], || a.log.count.get() == 1);
    assert!(a.log.messages.borrow()[0].1 == all[8..]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// A stream cut anywhere delivers the same messages.
    #[test]
    fn any_segmentation(
        sizes in prop::collection::vec((any::<bool>(), prop_oneof![0usize..2000, 0usize..250_000]), 1..12),
        cuts in prop::collection::vec(1usize..40_000, 1..40),
    ) {
        let a = Node::new();
        let mut peer = RawPeer::connect(&a, 0);
        let mut stream = Vec::new();
        let mut expected = Vec::new();
        for (i, (is_large, size)) in sizes.iter().enumerate() {
            let body = pattern(*size, i as u64);
            if *is_large {
                stream.extend(large(2, b"\xffhd", &body));
                expected.push((2u8, [b"\xffhd", &body[..]].concat()));
            } else {
                stream.extend(message(3, &body));
                expected.push((3u8, body));
            }
        }
        let mut rest = &stream[..];
        for cut in cuts.iter().cycle() {
            let (now, next) = rest.split_at((*cut).min(rest.len()));
            peer.send(now);
            for _ in 0..3 {
                a.progress();
            }
            rest = next;
            if rest.is_empty() {
                break;
            }
        }
        until(&[&a], || a.log.count.get() == expected.len());
        prop_assert_eq!(&*a.log.messages.borrow(), &expected);
    }

    /// Any bytes after a greeting are survived.
    #[test]
    fn any_frames(bytes in prop::collection::vec(any::<u8>(), 0..2000), kind in 0u8..3, id in 0u8..32) {
        let a = Node::new();
        let mut peer = RawPeer::connect(&a, 0);
        let mut bytes = bytes;
        if let [first, second, ..] = &mut bytes[..] {
            *first = id;
            *second = kind;
        }
        peer.send(&bytes);
        a.progress();
        drop(peer);
        until(&[&a], || a.live() == 0);
    }
}
