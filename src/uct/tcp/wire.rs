//! What goes over a connection: a greeting in both directions, then frames.
//!
//! ```text
//! hello  magic 8 | version 2 | kind 1 | family 1 | address 16 | port 2 | 0 2 | sender id 4 |
//!        target id 4 | sequence 8 | worker 8 | longest message 4 | checksum 4
//! frame  id 1 | kind 1 | header length 2 | length 4 | bytes...
//! ```
//!
//! All numbers are little endian. Decoding is pure and total: any bytes give a value or an error.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// First bytes of a greeting.
pub const MAGIC: [u8; 8] = *b"UCX-rs\x00T";
/// Version of all that this file describes.
pub const VERSION: u16 = 1;
pub const HELLO_LEN: usize = 64;
pub const FRAME_LEN: usize = 8;

/// No message frame may be longer, whatever the peer announces.
pub const MAX_MESSAGE: u32 = 1 << 30;

/// How a connection of genuine UCX begins.
const GENUINE_MAGIC: [u8; 8] = 0xCAFE_BABE_1234_5678_u64.to_le_bytes();

/// Purpose of a greeting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum HelloKind {
    /// From the side that connects.
    Connect = 1,
    /// The answer: messages may follow.
    Accept = 2,
    /// The answer: both sides connected at once, and the other connection is to be used.
    Crossed = 3,
    /// The answer: this pair is connected already.
    Busy = 4,
    /// The answer: the interface that was meant is not (or no longer) here.
    WrongTarget = 5,
    /// The answer: another version is spoken here, the one in the version field.
    WrongVersion = 6,
}

/// An interface, as the other side knows it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct IfaceId {
    pub ip: IpAddr,
    pub port: u16,
    /// Random, so that a port taken over by another process is noticed.
    pub id: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hello {
    pub kind: HelloKind,
    pub sender: IfaceId,
    pub target: u32,
    /// Which endpoint to that interface this is, counted from 0.
    pub sequence: u64,
    pub worker: u64,
    /// The sender's messages (headers of large ones, too) are at most this long.
    pub max_message: u32,
}

/// Why bytes are no greeting of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HelloError {
    /// Another protocol.
    Foreign,
    /// The protocol of genuine UCX.
    Genuine,
    /// Ours, but of this version.
    Version(u16),
    /// Ours, but damaged.
    Damaged,
}

fn checksum(bytes: &[u8]) -> u32 {
    // FNV-1a: it needs to catch damage and chance, not malice.
    bytes.iter().fold(0x811c_9dc5, |sum, byte| {
        (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

fn take<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    if let Some(from) = bytes.get(at..at + N) {
        out.copy_from_slice(from);
    }
    out
}

impl Hello {
    pub fn encode(&self) -> [u8; HELLO_LEN] {
        let mut out = [0; HELLO_LEN];
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            if let Some(to) = out.get_mut(at..at + bytes.len()) {
                to.copy_from_slice(bytes);
            }
            at += bytes.len();
        };
        put(&MAGIC);
        put(&VERSION.to_le_bytes());
        let (family, ip) = ip_bytes(self.sender.ip);
        put(&[self.kind as u8, family]);
        put(&ip);
        put(&self.sender.port.to_le_bytes());
        put(&[0, 0]);
        put(&self.sender.id.to_le_bytes());
        put(&self.target.to_le_bytes());
        put(&self.sequence.to_le_bytes());
        put(&self.worker.to_le_bytes());
        put(&self.max_message.to_le_bytes());
        let sum = checksum(&out[..HELLO_LEN - 4]);
        out[HELLO_LEN - 4..].copy_from_slice(&sum.to_le_bytes());
        out
    }

    /// Whether `bytes`, as far as they go, can be the start of a greeting.
    pub fn plausible(bytes: &[u8]) -> Result<(), HelloError> {
        let n = bytes.len().min(MAGIC.len());
        if bytes.get(..n) == MAGIC.get(..n) {
            return Ok(());
        }
        if bytes.get(..8) == Some(&GENUINE_MAGIC[..]) {
            return Err(HelloError::Genuine);
        }
        Err(HelloError::Foreign)
    }

    pub fn decode(bytes: &[u8; HELLO_LEN]) -> Result<Hello, HelloError> {
        Hello::plausible(bytes)?;
        let version = u16::from_le_bytes(take(bytes, 8));
        if version != VERSION {
            return Err(HelloError::Version(version));
        }
        let sum = u32::from_le_bytes(take(bytes, HELLO_LEN - 4));
        if sum != checksum(&bytes[..HELLO_LEN - 4]) {
            return Err(HelloError::Damaged);
        }
        let kind = match bytes[10] {
            1 => HelloKind::Connect,
            2 => HelloKind::Accept,
            3 => HelloKind::Crossed,
            4 => HelloKind::Busy,
            5 => HelloKind::WrongTarget,
            6 => HelloKind::WrongVersion,
            _ => return Err(HelloError::Damaged),
        };
        let ip = ip_from(bytes[11], take(bytes, 12)).ok_or(HelloError::Damaged)?;
        let max_message = u32::from_le_bytes(take(bytes, 56));
        if max_message > MAX_MESSAGE {
            return Err(HelloError::Damaged);
        }
        Ok(Hello {
            kind,
            sender: IfaceId {
                ip,
                port: u16::from_le_bytes(take(bytes, 28)),
                id: u32::from_le_bytes(take(bytes, 32)),
            },
            target: u32::from_le_bytes(take(bytes, 36)),
            sequence: u64::from_le_bytes(take(bytes, 40)),
            worker: u64::from_le_bytes(take(bytes, 48)),
            max_message,
        })
    }
}

fn ip_bytes(ip: IpAddr) -> (u8, [u8; 16]) {
    match ip {
        IpAddr::V4(ip) => {
            let mut out = [0; 16];
            out[..4].copy_from_slice(&ip.octets());
            (4, out)
        }
        IpAddr::V6(ip) => (6, ip.octets()),
    }
}

fn ip_from(family: u8, bytes: [u8; 16]) -> Option<IpAddr> {
    match family {
        4 => Some(Ipv4Addr::from(take::<4>(&bytes, 0)).into()),
        6 => Some(Ipv6Addr::from(bytes).into()),
        _ => None,
    }
}

/// The head of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame {
    /// A message of `len` bytes.
    Message { id: u8, len: u32 },
    /// A message of a header and a payload that may be long, and is placed if the receiver wants.
    Large { id: u8, header: u16, payload: u32 },
    /// The sender's endpoint is closed; nothing follows.
    Close,
    /// Bytes for the receiver's memory, whose address and key (8 bytes each) come before them.
    Put { payload: u32 },
    /// So many puts, all in all, have been written to the sender's memory.
    PutDone { count: u32 },
}

/// Bytes of the address and the key in a put.
pub const PUT_HEADER: usize = 16;

impl Frame {
    pub fn encode(&self) -> [u8; FRAME_LEN] {
        let (id, kind, header, len) = match *self {
            Frame::Message { id, len } => (id, 0, 0, len),
            Frame::Large {
                id,
                header,
                payload,
            } => (id, 1, header, payload),
            Frame::Close => (0, 2, 0, 0),
            Frame::Put { payload } => (0, 3, PUT_HEADER as u16, payload),
            Frame::PutDone { count } => (0, 4, 0, count),
        };
        let [h0, h1] = header.to_le_bytes();
        let [l0, l1, l2, l3] = len.to_le_bytes();
        [id, kind, h0, h1, l0, l1, l2, l3]
    }

    /// `max_message` is what the sender announced. `None`: no frame of ours, the connection can't
    /// be trusted any more.
    pub fn decode(bytes: &[u8; FRAME_LEN], max_message: u32) -> Option<Frame> {
        let [id, kind, h0, h1, l0, l1, l2, l3] = *bytes;
        let header = u16::from_le_bytes([h0, h1]);
        let len = u32::from_le_bytes([l0, l1, l2, l3]);
        let known = id < crate::uct::AM_ID_MAX;
        match kind {
            0 if known && header == 0 && len <= max_message => Some(Frame::Message { id, len }),
            1 if known => Some(Frame::Large {
                id,
                header,
                payload: len,
            }),
            2 if id == 0 && header == 0 && len == 0 => Some(Frame::Close),
            3 if id == 0 && usize::from(header) == PUT_HEADER => Some(Frame::Put { payload: len }),
            4 if id == 0 && header == 0 => Some(Frame::PutDone { count: len }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hello() -> Hello {
        Hello {
            kind: HelloKind::Connect,
            sender: IfaceId {
                ip: "fe80::1".parse().unwrap(),
                port: 1234,
                id: 77,
            },
            target: 88,
            sequence: 3,
            worker: u64::MAX - 5,
            max_message: 8192,
        }
    }

    #[test]
    fn hello_round_trip() {
        assert_eq!(Hello::decode(&hello().encode()), Ok(hello()));
        let mut v4 = hello();
        v4.sender.ip = "10.1.2.3".parse().unwrap();
        assert_eq!(Hello::decode(&v4.encode()), Ok(v4));
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        for bit in 0..HELLO_LEN * 8 {
            let mut bytes = hello().encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Hello::decode(&bytes).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn others_are_told_apart() {
        assert_eq!(
            Hello::plausible(b"GET / HTTP/1.1\r\n"),
            Err(HelloError::Foreign)
        );
        assert_eq!(Hello::plausible(&[0x16, 3, 1]), Err(HelloError::Foreign));
        assert_eq!(Hello::plausible(b"UCX"), Ok(()));
        assert_eq!(Hello::plausible(b""), Ok(()));
        let mut genuine = vec![0; 20];
        genuine[..8].copy_from_slice(&GENUINE_MAGIC);
        assert_eq!(Hello::plausible(&genuine), Err(HelloError::Genuine));
        let mut other = hello().encode();
        other[8] = 9;
        assert_eq!(Hello::decode(&other), Err(HelloError::Version(9)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: [u8; 32], frame: [u8; FRAME_LEN], max: u32) {
            let mut all = [0; HELLO_LEN];
            all[..8].copy_from_slice(&MAGIC);
            all[8..40].copy_from_slice(&bytes);
            let _ = Hello::decode(&all);
            if let Some(Frame::Message { id, len }) = Frame::decode(&frame, max) {
                prop_assert!(len <= max && id < crate::uct::AM_ID_MAX);
            }
        }

        #[test]
        fn frame_round_trip(id in 0u8..32, header: u16, len: u32) {
            let large = Frame::Large { id, header, payload: len };
            prop_assert_eq!(Frame::decode(&large.encode(), 0), Some(large));
            let message = Frame::Message { id, len };
            prop_assert_eq!(Frame::decode(&message.encode(), len), Some(message));
            for frame in [Frame::Put { payload: len }, Frame::PutDone { count: len }] {
                prop_assert_eq!(Frame::decode(&frame.encode(), 0), Some(frame));
            }
            if len > 0 {
                prop_assert_eq!(Frame::decode(&message.encode(), len - 1), None);
            }
        }
    }
}
