//! Rendezvous messages.

use smallvec::SmallVec;

use super::{Identity, Origin, Reader, Writer};
use crate::ucp::address::TlId;
use crate::ucp::rkey::wire::Entry;

/// Ready to send: announces a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rts {
    pub tag: u64,
    pub total: u64,
    pub identity: Identity,
    pub attempt: u32,
    /// The sender's operation; ATS and RTR name it.
    pub op: u64,
    /// Where the payload lies in the sender's memory, if in one piece; else 0.
    pub address: u64,
    /// Key of the lease under which it may be read there, see [`crate::uct::lease`]; 0 if none.
    pub lease: u64,
    /// The payload is in memory of which a lane could write from; else it is packed piece by piece.
    pub in_memory: bool,
    /// It is a device's: the sender copies it to host memory, from which lanes can write it.
    pub staged: bool,
    /// The sender may announce the message again, should a lane fail.
    pub restartable: bool,
    /// How others of the sender's host map the region around the payload.
    pub region: Option<Region>,
}

/// A region that others can map.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    pub base: u64,
    pub len: u64,
    pub entries: Entries,
}

/// Ways to map a region.
pub type Entries = SmallVec<[Entry; 1]>;

/// Most ways that an RTS tells.
const MAX_ENTRIES: usize = 2;
/// Bytes of the longest of them, and of all together: what doesn't fit is not told.
const MAX_WAY: usize = 128;
const ROOM: usize = 3 + MAX_WAY;

const IN_MEMORY: u8 = 1;
const RESTARTABLE: u8 = 2;
const REGION: u8 = 4;
const STAGED: u8 = 8;
const RTS_FLAGS: u8 = IN_MEMORY | RESTARTABLE | REGION | STAGED;

impl Rts {
    const FIXED: usize = 45 + Identity::LEN;
    /// Most bytes that [`Rts::encode`] writes.
    pub const LEN: usize = Self::FIXED + 17 + ROOM;

    /// As [`Rts::LEN`], but for this one: short ones fit into fewer cache lines.
    pub fn max_len(&self) -> usize {
        let region = self.region.as_ref();
        Self::FIXED + region.map_or(0, |region| 17 + region.ways_len().min(ROOM))
    }

    pub fn encode(&self, w: &mut Writer<'_>) {
        let flag = |is: bool, bit: u8| if is { bit } else { 0 };
        w.u64(self.tag)
            .u64(self.total)
            .u64(self.op)
            .u64(self.address)
            .u64(self.lease)
            .u32(self.attempt)
            .u8(flag(self.in_memory, IN_MEMORY)
                | flag(self.restartable, RESTARTABLE)
                | flag(self.staged, STAGED)
                | flag(self.region.is_some(), REGION));
        self.identity.encode(w);
        if let Some(region) = &self.region {
            w.u64(region.base).u64(region.len);
            let mut room = ROOM;
            let fits = |entry: &&Entry| {
                let left = room.checked_sub(3 + entry.bytes.len());
                room = left.unwrap_or(room);
                left.is_some()
            };
            let told = region.entries.iter().filter(fits).take(MAX_ENTRIES);
            let told: SmallVec<[&Entry; MAX_ENTRIES]> = told.collect();
            w.u8(told.len() as u8);
            for entry in told {
                w.bytes(&entry.tl.0.to_ne_bytes());
                w.u8(entry.bytes.len() as u8).bytes(&entry.bytes);
            }
        }
    }

    /// The header, and what follows it: the user's header of an active message.
    pub fn decode(data: &[u8]) -> Option<(Rts, &[u8])> {
        let mut r = Reader(data);
        let (tag, total, op, address) = (r.u64()?, r.u64()?, r.u64()?, r.u64()?);
        let lease = r.u64()?;
        let attempt = r.u32()?;
        let flags = r.u8()?;
        if flags & !RTS_FLAGS != 0 {
            return None;
        }
        let identity = Identity::decode(&mut r)?;
        let region = match flags & REGION {
            0 => None,
            _ => Some(Region::decode(&mut r)?),
        };
        let rts = Rts {
            tag,
            total,
            identity,
            attempt,
            op,
            address,
            lease,
            in_memory: flags & IN_MEMORY != 0,
            staged: flags & STAGED != 0,
            restartable: flags & RESTARTABLE != 0,
            region,
        };
        Some((rts, r.0))
    }
}

impl Region {
    /// Bytes of all ways to map it.
    fn ways_len(&self) -> usize {
        let len = self.entries.iter().map(|entry| 3 + entry.bytes.len());
        len.sum()
    }

    fn decode(r: &mut Reader<'_>) -> Option<Region> {
        let (base, len, count) = (r.u64()?, r.u64()?, r.u8()?);
        base.checked_add(len)?;
        if usize::from(count) > MAX_ENTRIES {
            return None;
        }
        let mut entries = Entries::new();
        for _ in 0..count {
            entries.push(way(r)?);
        }
        let region = Region { base, len, entries };
        // More than that is never told.
        (region.ways_len() <= ROOM).then_some(region)
    }
}

/// One way to map a region.
fn way(r: &mut Reader<'_>) -> Option<Entry> {
    let tl = u16::from_ne_bytes([r.u8()?, r.u8()?]);
    let len = usize::from(r.u8()?);
    let (bytes, rest) = r.0.split_at_checked(len).filter(|_| len <= MAX_WAY)?;
    r.0 = rest;
    Some(Entry::new(TlId(tl), bytes))
}

/// How the receiver wants the bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// As `RNDV_DATA`.
    Messages,
    /// Written to this address, under this key, and then told by an ATP.
    Put { address: u64, key: u64 },
}

/// `RNDV_PUT`: the payload behind this header goes to `address`, if that is exposed under `key`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PutTo {
    pub key: u64,
    pub address: u64,
}

impl PutTo {
    pub const LEN: usize = 16;

    pub fn encode(&self, w: &mut Writer<'_>) {
        w.u64(self.key).u64(self.address);
    }

    pub fn decode(data: &[u8]) -> Option<(PutTo, &[u8])> {
        let mut r = Reader(data);
        let (key, address) = (r.u64()?, r.u64()?);
        Some((PutTo { key, address }, r.0))
    }
}

/// Ready to receive: asks for `len` bytes of the payload from `offset` on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rtr {
    /// The sender's operation.
    pub sender_op: u64,
    /// The receiver's; data and ATP name it.
    pub receiver_op: u64,
    /// The receiver's endpoint: who has nothing to send says so there.
    pub origin: Origin,
    pub offset: u64,
    pub len: u64,
    pub attempt: u32,
    /// One of several: the sender waits for others, until it gets an ATS.
    pub part: bool,
    pub how: How,
    /// Of a put to memory of a device: how others of the receiver's host open it.
    pub device: Option<Entry>,
}

const PART: u8 = 1;
const PUT: u8 = 2;
const DEVICE: u8 = 4;

impl Rtr {
    const FIXED: usize = 57 + Origin::LEN;
    /// Most bytes that [`Rtr::encode`] writes.
    pub const LEN: usize = Self::FIXED + 3 + MAX_WAY;

    /// Bytes that [`Rtr::encode`] writes.
    pub fn encoded_len(&self) -> usize {
        let told = self.told().map_or(0, |entry| 3 + entry.bytes.len());
        Self::FIXED + told
    }

    /// What is told of the memory of a device.
    fn told(&self) -> Option<&Entry> {
        let entry = self.device.as_ref();
        entry.filter(|entry| entry.bytes.len() <= MAX_WAY && matches!(self.how, How::Put { .. }))
    }

    pub fn encode(&self, w: &mut Writer<'_>) {
        let (kind, address, key) = match self.how {
            How::Messages => (0, 0, 0),
            How::Put { address, key } => (PUT, address, key),
        };
        let device = self.told();
        w.u64(self.sender_op)
            .u64(self.receiver_op)
            .u64(self.offset)
            .u64(self.len)
            .u64(address)
            .u64(key)
            .u32(self.attempt)
            .u8(kind | if self.part { PART } else { 0 } | if device.is_some() { DEVICE } else { 0 })
            .origin(self.origin)
            .u32(self.sum());
        if let Some(entry) = device {
            w.bytes(&entry.tl.0.to_ne_bytes());
            w.u8(entry.bytes.len() as u8).bytes(&entry.bytes);
        }
    }

    /// Catches damage: a put to a wrong address would be the end of the receiver.
    fn sum(&self) -> u32 {
        let (address, key) = match self.how {
            How::Messages => (0, 0),
            How::Put { address, key } => (address, key),
        };
        let step = |sum: u64, n: u64| {
            (sum ^ n)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29)
        };
        let numbers = [
            self.sender_op,
            self.receiver_op,
            self.origin.worker,
            u64::from(self.origin.conn),
            self.offset,
            self.len,
            address,
            key,
        ];
        let told = self.told().into_iter();
        let told = told.flat_map(|entry| {
            let tl = u64::from(entry.tl.0) + 1;
            core::iter::once(tl).chain(entry.bytes.iter().map(|byte| u64::from(*byte)))
        });
        let first = u64::from(self.attempt) + 1;
        let sum = numbers.into_iter().chain(told).fold(first, step);
        (sum ^ sum >> 32) as u32
    }

    pub fn decode(data: &[u8]) -> Option<Rtr> {
        let mut r = Reader(data);
        let (sender_op, receiver_op, offset, len) = (r.u64()?, r.u64()?, r.u64()?, r.u64()?);
        let (address, key, attempt, flags) = (r.u64()?, r.u64()?, r.u32()?, r.u8()?);
        let origin = r.origin()?;
        let sum = r.u32()?;
        let how = match flags & !(PART | DEVICE) {
            0 if flags & DEVICE == 0 && (address, key) == (0, 0) => How::Messages,
            PUT if address.checked_add(len).is_some() => How::Put { address, key },
            _ => return None,
        };
        offset.checked_add(len)?;
        let device = match flags & DEVICE {
            0 => None,
            _ => Some(way(&mut r)?),
        };
        let rtr = Rtr {
            sender_op,
            receiver_op,
            origin,
            offset,
            len,
            attempt,
            part: flags & PART != 0,
            how,
            device,
        };
        (sum == rtr.sum()).then_some(rtr)
    }
}

/// Acknowledges a put: `len` bytes from `offset` on are in the receiver's memory, or, with an
/// error, the sender has stopped writing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Atp {
    pub receiver_op: u64,
    pub offset: u64,
    pub len: u64,
    pub attempt: u32,
    /// A `ucs_status_t`.
    pub status: i8,
}

impl Atp {
    pub const LEN: usize = 29;

    pub fn encode(&self, w: &mut Writer<'_>) {
        w.u64(self.receiver_op)
            .u64(self.offset)
            .u64(self.len)
            .u32(self.attempt)
            .u8(self.status as u8);
    }

    pub fn decode(data: &[u8]) -> Option<Atp> {
        let mut r = Reader(data);
        let (receiver_op, offset, len) = (r.u64()?, r.u64()?, r.u64()?);
        Some(Atp {
            receiver_op,
            offset,
            len,
            attempt: r.u32()?,
            status: r.u8()? as i8,
        })
    }
}

/// The receiver gives up, and wants to hear when nothing is written to its memory any more: it is
/// answered by an ATP with an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Abort {
    pub sender_op: u64,
    pub receiver_op: u64,
    pub attempt: u32,
    /// The receiver's endpoint.
    pub origin: Origin,
}

impl Abort {
    pub const LEN: usize = 20 + Origin::LEN;

    pub fn encode(&self, w: &mut Writer<'_>) {
        w.u64(self.sender_op)
            .u64(self.receiver_op)
            .u32(self.attempt)
            .origin(self.origin);
    }

    pub fn decode(data: &[u8]) -> Option<Abort> {
        let mut r = Reader(data);
        Some(Abort {
            sender_op: r.u64()?,
            receiver_op: r.u64()?,
            attempt: r.u32()?,
            origin: r.origin()?,
        })
    }
}

/// A piece of payload, behind this header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Data {
    pub receiver_op: u64,
    pub offset: u64,
    pub attempt: u32,
}

impl Data {
    pub const LEN: usize = 20;

    pub fn encode(&self, w: &mut Writer<'_>) {
        w.u64(self.receiver_op).u64(self.offset).u32(self.attempt);
    }

    pub fn decode(data: &[u8]) -> Option<(Data, &[u8])> {
        let mut r = Reader(data);
        let (receiver_op, offset, attempt) = (r.u64()?, r.u64()?, r.u32()?);
        Some((
            Data {
                receiver_op,
                offset,
                attempt,
            },
            r.0,
        ))
    }
}

/// An answer that names an operation of the addressee: `SYNC_ACK` or `ATS`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    pub op: u64,
    /// A `ucs_status_t`.
    pub status: i8,
}

impl Answer {
    pub const LEN: usize = 9;

    pub fn encode(&self, w: &mut Writer<'_>) {
        w.u64(self.op).u8(self.status as u8);
    }

    pub fn decode(data: &[u8]) -> Option<Answer> {
        let mut r = Reader(data);
        Some(Answer {
            op: r.u64()?,
            status: r.u8()? as i8,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn identity(worker: u64, conn: u32, seq: u64) -> Identity {
        Identity {
            origin: Origin { worker, conn },
            seq,
        }
    }

    fn encoded(len: usize, encode: impl Fn(&mut Writer<'_>)) -> Vec<u8> {
        let mut bytes = vec![0; len];
        let mut w = Writer::new(&mut bytes);
        encode(&mut w);
        let n = w.len();
        bytes.truncate(n);
        bytes
    }

    #[test]
    fn an_rts_with_more_ways_than_are_told_is_refused() {
        let way = Entry::new(TlId(1), &[7; MAX_WAY]);
        let region = Region {
            base: 0,
            len: 1,
            entries: [way].into_iter().collect(),
        };
        let rts = Rts {
            tag: 0,
            total: 1,
            identity: identity(1, 2, 3),
            attempt: 1,
            op: 1,
            address: 0,
            lease: 0,
            in_memory: true,
            staged: false,
            restartable: false,
            region: Some(region),
        };
        let mut bytes = encoded(Rts::LEN, |w| rts.encode(w));
        let count = Rts::FIXED + 16;
        assert_eq!(bytes[count], 1);
        bytes[count] = 2;
        bytes.extend_from_slice(&[1, 0, 1, 7]);
        assert_eq!(Rts::decode(&bytes), None);
    }

    proptest! {
        #[test]
        fn an_rts_comes_back(
            numbers: [u64; 4],
            bits: [bool; 3],
            region: Option<(u32, u32)>,
            ways in prop::collection::vec((any::<u16>(), prop::collection::vec(any::<u8>(), 0..=48)), 0..=MAX_ENTRIES),
            behind: [u8; 5],
        ) {
            let [tag, total, op, address] = numbers;
            let entries = ways.iter().map(|(tl, bytes)| Entry::new(TlId(*tl), bytes)).collect();
            let region = region.map(|(base, len)| Region { base: base.into(), len: len.into(), entries });
            let rts = Rts {
                tag, total, op, address,
                lease: total ^ 9,
                identity: identity(tag ^ 5, 9, op ^ 3),
                attempt: 3,
                in_memory: bits[0],
                restartable: bits[1],
                staged: bits[2],
                region,
            };
            let mut bytes = encoded(Rts::LEN, |w| rts.encode(w));
            bytes.extend_from_slice(&behind);
            prop_assert!(bytes.len() <= rts.max_len() + behind.len());
            prop_assert_eq!(Rts::decode(&bytes), Some((rts, &behind[..])));
        }

        #[test]
        fn answers_come_back(a: u32, b: u64, c: u32, d: u32, attempt: u32, part: bool, put: bool, status: i8,
                             device in prop::option::of(prop::collection::vec(any::<u8>(), 0..=MAX_WAY))) {
            let how = if put { How::Put { address: a.into(), key: b } } else { How::Messages };
            let device = device.filter(|_| put).map(|bytes| Entry::new(TlId(d as u16), &bytes));
            let origin = Origin { worker: b, conn: a };
            let rtr = Rtr {
                sender_op: b, receiver_op: a.into(), origin, offset: c.into(), len: d.into(), attempt, part, how, device,
            };
            let bytes = encoded(Rtr::LEN, |w| rtr.encode(w));
            let mut damaged = bytes.clone();
            damaged[b as usize % bytes.len()] ^= 1 << (a % 8);
            prop_assert_ne!(Rtr::decode(&damaged), Some(rtr.clone()));
            prop_assert_eq!(Rtr::decode(&bytes), Some(rtr));
            let atp = Atp { receiver_op: b, offset: c.into(), len: d.into(), attempt, status };
            prop_assert_eq!(Atp::decode(&encoded(Atp::LEN, |w| atp.encode(w))), Some(atp));
            let abort = Abort { sender_op: b, receiver_op: c.into(), attempt, origin };
            prop_assert_eq!(Abort::decode(&encoded(Abort::LEN, |w| abort.encode(w))), Some(abort));
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Rts::decode(&bytes);
            let _ = Rtr::decode(&bytes);
            let _ = Atp::decode(&bytes);
            let _ = Abort::decode(&bytes);
        }
    }
}
