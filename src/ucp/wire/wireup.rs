//! Connecting endpoints.

use super::{Origin, Reader, Writer};
use crate::ucp::replay::{LaneId, MAX_LANES};

/// What a `WIREUP` message says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// "This endpoint of mine leads to you; my worker address follows."
    Request = 1,
    /// "I have closed this endpoint of mine."
    Closed = 2,
    /// The same, and "what was in flight is given up".
    Aborted = 3,
    /// As `Request`, the first message of a lane: what follows on it is numbered.
    Lane = 4,
}

/// Header of `WIREUP`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wireup {
    pub kind: Kind,
    /// The sender's endpoint.
    pub origin: Origin,
    /// The worker that the message is meant for: an address may outlive its worker.
    pub to: u64,
}

impl Wireup {
    pub const LEN: usize = 21;

    pub fn encode(&self, w: &mut Writer<'_>) {
        w.u8(self.kind as u8)
            .u64(self.origin.worker)
            .u32(self.origin.conn)
            .u64(self.to);
    }

    /// The header, and the worker address behind it.
    pub fn decode(data: &[u8]) -> Option<(Wireup, &[u8])> {
        let mut r = Reader(data);
        let kind = match r.u8()? {
            1 => Kind::Request,
            2 => Kind::Closed,
            3 => Kind::Aborted,
            4 => Kind::Lane,
            _ => return None,
        };
        let origin = Origin {
            worker: r.u64()?,
            conn: r.u32()?,
        };
        let to = r.u64()?;
        Some((Wireup { kind, origin, to }, r.0))
    }
}

/// Follows a header of the kind `Lane`, before the address: which lane of the sender's.
pub fn encode_lane(lane: LaneId, w: &mut Writer<'_>) {
    w.u8(lane.lane).u8(0).bytes(&lane.epoch.to_ne_bytes());
}

/// The lane, and what follows it.
pub fn decode_lane(data: &[u8]) -> Option<(LaneId, &[u8])> {
    let mut r = Reader(data);
    let (lane, _) = (r.u8()?, r.u8()?);
    let epoch = r.u16()?;
    (usize::from(lane) < MAX_LANES).then_some((LaneId { lane, epoch }, r.0))
}

/// Bytes of it.
pub const LANE_LEN: usize = 4;
