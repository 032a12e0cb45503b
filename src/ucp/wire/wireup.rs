//! Connecting endpoints.

use super::{Origin, Reader, Writer};

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
