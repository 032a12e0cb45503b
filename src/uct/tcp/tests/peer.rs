//! A peer made by hand, that can say anything.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};

use super::*;
use crate::uct::tcp::wire::{FRAME_LEN, Frame, HELLO_LEN, Hello, HelloKind, IfaceId};

pub struct RawPeer {
    pub stream: TcpStream,
}

pub fn raw_connect(to: &Node) -> TcpStream {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port(&to.iface))).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

pub fn hello(to: &Node, sequence: u64) -> Hello {
    Hello {
        kind: HelloKind::Connect,
        sender: IfaceId {
            ip: Ipv4Addr::LOCALHOST.into(),
            port: 1,
            id: 0xabcd,
        },
        target: to.shared.me.id,
        sequence,
        worker: 1,
        max_message: 1 << 20,
    }
}

impl RawPeer {
    /// A connection that `to` has accepted.
    pub fn connect(to: &Node, sequence: u64) -> RawPeer {
        let mut stream = raw_connect(to);
        stream.write_all(&hello(to, sequence).encode()).unwrap();
        let mut answer = [0; HELLO_LEN];
        let mut have = 0;
        stream.set_nonblocking(true).unwrap();
        let start = Instant::now();
        while have < HELLO_LEN {
            to.progress();
            if let Ok(n) = stream.read(&mut answer[have..]) {
                assert_ne!(n, 0, "refused");
                have += n;
            }
            assert!(start.elapsed() < LIMIT);
        }
        stream.set_nonblocking(false).unwrap();
        assert_eq!(Hello::decode(&answer).unwrap().kind, HelloKind::Accept);
        RawPeer { stream }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }
}

pub fn message(id: u8, body: &[u8]) -> Vec<u8> {
    let len = body.len() as u32;
    let mut out = Frame::Message { id, len }.encode().to_vec();
    out.extend_from_slice(body);
    out
}

pub fn large(id: u8, header: &[u8], body: &[u8]) -> Vec<u8> {
    let frame = Frame::Large {
        id,
        header: header.len() as u16,
        payload: body.len() as u32,
    };
    let mut out = frame.encode().to_vec();
    assert_eq!(out.len(), FRAME_LEN);
    out.extend_from_slice(header);
    out.extend_from_slice(body);
    out
}
