//! Connecting endpoints.

use super::{Origin, Reader, Writer};
use crate::ucp::replay::{LaneId, MAX_LANES};

/// What a `WIREUP` message says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// "This endpoint of mine leads to you; my worker address follows."
    Request = 1,
    /// "I have closed this endpoint of mine." "Answer me" if my worker address follows.
    Closed = 2,
    /// The same, and "what was in flight is given up".
    Aborted = 3,
    /// As `Request`, the first message of a lane: what follows on it is numbered.
    Lane = 4,
    /// "The link that yours leads to is gone." Yours and mine follow, 8 bytes each.
    Stale = 5,
    /// "This endpoint of mine is being closed in order."
    Closing = 6,
    /// The same, and "nothing that you have sent will be received any more".
    Drained = 7,
    /// "I know that you have closed yours, and need nothing of it."
    Heard = 8,
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
        w.u8(self.kind as u8).origin(self.origin).u64(self.to);
    }

    /// The header, and the worker address behind it.
    pub fn decode(data: &[u8]) -> Option<(Wireup, &[u8])> {
        let mut r = Reader(data);
        let kind = match r.u8()? {
            1 => Kind::Request,
            2 => Kind::Closed,
            3 => Kind::Aborted,
            4 => Kind::Lane,
            5 => Kind::Stale,
            6 => Kind::Closing,
            7 => Kind::Drained,
            8 => Kind::Heard,
            _ => return None,
        };
        let origin = r.origin()?;
        let to = r.u64()?;
        Some((Wireup { kind, origin, to }, r.0))
    }
}

/// Follows a header of the kind `Lane`, before the address: which lane of the sender's, between which
/// links. A worker's links are numbered from 1: a later one between the same two endpoints begins at
/// the beginning, and has nothing to do with what its predecessor has sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lane {
    pub id: LaneId,
    /// The sender's link.
    pub link: u64,
    /// The receiver's, as far as the sender knows; 0: it has not heard of any.
    pub to: u64,
}

impl Lane {
    pub const LEN: usize = 20;

    pub fn encode(&self, w: &mut Writer<'_>) {
        w.u8(self.id.lane)
            .u8(0)
            .bytes(&self.id.epoch.to_ne_bytes())
            .u64(self.link)
            .u64(self.to);
    }

    /// The lane, and what follows it.
    pub fn decode(data: &[u8]) -> Option<(Lane, &[u8])> {
        let mut r = Reader(data);
        let (lane, _) = (r.u8()?, r.u8()?);
        let epoch = r.u16()?;
        let (link, to) = (r.u64()?, r.u64()?);
        let id = LaneId { lane, epoch };
        (usize::from(lane) < MAX_LANES && link != 0).then_some((Lane { id, link, to }, r.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_go_round_and_must_have_a_link() {
        let lane = Lane {
            id: LaneId {
                lane: 3,
                epoch: 700,
            },
            link: 5,
            to: 9,
        };
        let encoded = |lane: Lane| {
            let mut bytes = [0; Lane::LEN + 1];
            lane.encode(&mut Writer::new(&mut bytes));
            bytes
        };
        assert_eq!(Lane::decode(&encoded(lane)), Some((lane, &[0u8][..])));
        assert_eq!(Lane::decode(&encoded(Lane { link: 0, ..lane })), None);
        assert_eq!(Lane::decode(&encoded(lane)[..Lane::LEN - 1]), None);
    }
}
