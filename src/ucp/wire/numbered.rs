//! Messages that are numbered, and what two endpoints say about them and about their lanes.

use super::{Origin, Reader, Writer};
use crate::ucp::replay::{
    Channel, LaneDown, LaneId, LaneStopped, MAX_LANES, MAX_RANGES, Posted, Seq, State,
};

/// From which link of the sender's to which of the receiver's: the low halves of their numbers, which
/// count from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Between {
    pub from: u32,
    pub to: u32,
}

impl Between {
    const LEN: usize = 8;

    #[inline]
    fn encode(self, w: &mut Writer<'_>) {
        w.u32(self.from).u32(self.to);
    }

    #[inline]
    fn decode(r: &mut Reader<'_>) -> Option<Between> {
        Some(Between {
            from: r.u32()?,
            to: r.u32()?,
        })
    }

    /// Whether both are known, as they are when a message goes.
    pub fn is_known(self) -> bool {
        self.from != 0 && self.to != 0
    }
}

/// Header of `NUMBERED`; the message that it carries follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbered {
    pub origin: Origin,
    pub between: Between,
    /// Id of the message.
    pub id: u8,
    pub posted: Posted,
    /// The sender waits for the acknowledgement.
    pub urgent: bool,
}

const LANE_BITS: u8 = 0x0f;
const BULK: u8 = 0x10;
const URGENT: u8 = 0x20;

impl Numbered {
    pub const LEN: usize = Origin::LEN + Between::LEN + 4 + 24;

    /// Of a fixed length, so that no write has to be checked.
    #[inline]
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let Posted {
            channel,
            seq,
            lane,
            acks: [ordered, bulk],
        } = self.posted;
        let bulk_flag = if channel == Channel::Bulk { BULK } else { 0 };
        let urgent = if self.urgent { URGENT } else { 0 };
        let mut bytes = [0; Self::LEN];
        let mut w = Writer::new(&mut bytes);
        w.origin(self.origin);
        self.between.encode(&mut w);
        w.u8(self.id)
            .u8((lane.lane & LANE_BITS) | bulk_flag | urgent)
            .bytes(&lane.epoch.to_ne_bytes())
            .u64(seq)
            .u64(ordered)
            .u64(bulk);
        bytes
    }

    /// The header, and the message behind it.
    #[inline]
    pub fn decode(data: &[u8]) -> Option<(Numbered, &[u8])> {
        let (head, message) = data.split_first_chunk::<{ Self::LEN }>()?;
        let mut r = Reader(head);
        let origin = r.origin()?;
        let between = Between::decode(&mut r)?;
        let id = r.u8()?;
        let flags = r.u8()?;
        let lane = LaneId {
            lane: flags & LANE_BITS,
            epoch: r.u16()?,
        };
        let channel = match flags & BULK {
            0 => Channel::Ordered,
            _ => Channel::Bulk,
        };
        let posted = Posted {
            channel,
            seq: r.u64()?,
            lane,
            acks: [r.u64()?, r.u64()?],
        };
        let numbered = Numbered {
            origin,
            between,
            id,
            posted,
            urgent: flags & URGENT != 0,
        };
        Some((numbered, message))
    }
}

/// What a `LINK` message says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Say {
    /// All up to these has arrived, by channel; `want`: say the same to me.
    Acks { acks: [Seq; 2], want: bool },
    /// I don't use this lane of mine any more.
    Down(LaneDown),
    /// This lane of yours doesn't count any more.
    Stopped(LaneStopped),
    /// I have heard you by this lane of yours.
    Heard(LaneId),
}

impl Say {
    /// Whether who says this waits for an answer.
    pub fn wants_answer(&self) -> bool {
        matches!(self, Say::Acks { want: true, .. } | Say::Down(_))
    }
}

/// `LINK`: not numbered, and harmless when it is heard twice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkMessage {
    pub origin: Origin,
    pub between: Between,
    pub say: Say,
}

const ACKS: u8 = 1;
const DOWN: u8 = 2;
const STOPPED: u8 = 3;
const HEARD: u8 = 4;

impl LinkMessage {
    /// Most bytes of one.
    pub const MAX: usize = Origin::LEN + Between::LEN + 4 + 2 * (8 + 8 + MAX_RANGES * 16);

    pub fn encode(&self, w: &mut Writer<'_>) {
        w.origin(self.origin);
        self.between.encode(w);
        match &self.say {
            Say::Acks { acks, want } => {
                let [ordered, bulk] = acks;
                w.u8(ACKS).u8(u8::from(*want)).u64(*ordered).u64(*bulk);
            }
            Say::Down(down) => encode_state(w, DOWN, down.lane, &down.state),
            Say::Stopped(stopped) => encode_state(w, STOPPED, stopped.lane, &stopped.state),
            Say::Heard(lane) => encode_lane(w, HEARD, *lane),
        }
    }

    pub fn decode(data: &[u8]) -> Option<LinkMessage> {
        let mut r = Reader(data);
        let origin = r.origin()?;
        let between = Between::decode(&mut r)?;
        let kind = r.u8()?;
        let first = r.u8()?;
        let say = if kind == ACKS {
            Say::Acks {
                acks: [r.u64()?, r.u64()?],
                want: first != 0,
            }
        } else {
            let epoch = r.u16()?;
            let lane = LaneId { lane: first, epoch };
            if usize::from(lane.lane) >= MAX_LANES {
                return None;
            }
            match kind {
                DOWN => Say::Down(LaneDown {
                    lane,
                    state: decode_state(&mut r)?,
                }),
                STOPPED => Say::Stopped(LaneStopped {
                    lane,
                    state: decode_state(&mut r)?,
                }),
                HEARD => Say::Heard(lane),
                _ => return None,
            }
        };
        Some(LinkMessage {
            origin,
            between,
            say,
        })
    }
}

fn encode_lane(w: &mut Writer<'_>, kind: u8, lane: LaneId) {
    w.u8(kind).u8(lane.lane).bytes(&lane.epoch.to_ne_bytes());
}

fn encode_state(w: &mut Writer<'_>, kind: u8, lane: LaneId, state: &State) {
    encode_lane(w, kind, lane);
    for arrived in state {
        let ranges = arrived.ranges.iter().take(MAX_RANGES);
        w.u64(arrived.upto).u64(ranges.len() as u64);
        for (first, last) in ranges {
            w.u64(*first).u64(*last);
        }
    }
}

fn decode_state(r: &mut Reader<'_>) -> Option<State> {
    let mut state = State::default();
    for arrived in &mut state {
        arrived.upto = r.u64()?;
        let count = usize::try_from(r.u64()?).ok()?;
        if count > MAX_RANGES {
            return None;
        }
        for _ in 0..count {
            arrived.ranges.push((r.u64()?, r.u64()?));
        }
    }
    Some(state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ucp::replay::Arrived;
    use proptest::prelude::*;

    fn arrived() -> impl Strategy<Value = Arrived> {
        let ranges = prop::collection::vec(any::<(u64, u64)>(), 0..=MAX_RANGES);
        (any::<u64>(), ranges).prop_map(|(upto, ranges)| Arrived {
            upto,
            ranges: ranges.into_iter().collect(),
        })
    }

    fn say() -> impl Strategy<Value = Say> {
        let lane =
            (0..MAX_LANES as u8, any::<u16>()).prop_map(|(lane, epoch)| LaneId { lane, epoch });
        let state = || [arrived(), arrived()];
        prop_oneof![
            any::<([u64; 2], bool)>().prop_map(|(acks, want)| Say::Acks { acks, want }),
            (lane.clone(), state()).prop_map(|(lane, state)| Say::Down(LaneDown { lane, state })),
            (lane.clone(), state())
                .prop_map(|(lane, state)| Say::Stopped(LaneStopped { lane, state })),
            lane.prop_map(Say::Heard),
        ]
    }

    fn between() -> impl Strategy<Value = Between> {
        any::<(u32, u32)>().prop_map(|(from, to)| Between { from, to })
    }

    proptest! {
        #[test]
        fn what_is_said_is_heard(worker: u64, conn: u32, between in between(), say in say()) {
            let message = LinkMessage { origin: Origin { worker, conn }, between, say };
            let mut bytes = [0; LinkMessage::MAX];
            let mut w = Writer::new(&mut bytes);
            message.encode(&mut w);
            let len = w.len();
            prop_assert_eq!(LinkMessage::decode(&bytes[..len]), Some(message));
            for short in 0..len {
                prop_assert_eq!(LinkMessage::decode(&bytes[..short]), None);
            }
        }

        #[test]
        fn numbers_come_back(f: [u64; 4], conn: u32, between in between(), id: u8, lane in 0..16u8, epoch: u16, bulk: bool, urgent: bool) {
            let [worker, seq, a, b] = f;
            let posted = Posted {
                channel: if bulk { Channel::Bulk } else { Channel::Ordered },
                seq,
                lane: LaneId { lane, epoch },
                acks: [a, b],
            };
            let numbered = Numbered { origin: Origin { worker, conn }, between, id, posted, urgent };
            let mut bytes = [9; Numbered::LEN + 1];
            bytes[..Numbered::LEN].copy_from_slice(&numbered.to_bytes());
            prop_assert_eq!(Numbered::decode(&bytes), Some((numbered, &[9u8][..])));
            prop_assert_eq!(Numbered::decode(&bytes[..Numbered::LEN - 1]), None);
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = (LinkMessage::decode(&bytes), Numbered::decode(&bytes));
        }
    }
}
