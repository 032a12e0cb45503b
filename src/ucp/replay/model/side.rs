//! One of the two links, with the lanes by which it sends.

use std::collections::VecDeque;

use super::*;

/// On a lane.
#[derive(Clone, Debug)]
pub(super) enum Packet {
    Message(Incoming, u64),
    Ack([Seq; 2]),
    Down(LaneDown),
    Stopped(LaneStopped),
    Probe(LaneId),
    Proof(LaneId),
    /// Nothing that the other side waits for.
    Word,
}

#[derive(Default)]
pub(super) struct Wire {
    pub(super) queue: VecDeque<Packet>,
    pub(super) dead: bool,
}

pub(super) struct Side {
    pub(super) link: Link<u64, (Channel, u64)>,
    /// What it sends, by lane. Killed ones are kept: their bytes may come late.
    pub(super) wires: Vec<Wire>,
    pub(super) old: Vec<VecDeque<Packet>>,
    /// What no lane was there for.
    pub(super) unsaid: Vec<Packet>,
    /// The last lives of the peer's lanes that were heard.
    pub(super) heard: Vec<u16>,
    pub(super) lost: bool,
    pub(super) posted: [u64; 2],
    pub(super) delivered: [Vec<u64>; 2],
    pub(super) acked: u64,
}

impl Side {
    pub(super) fn new(lanes: u8) -> Side {
        let limits = Limits {
            messages: 8,
            bytes: 64,
        };
        let mut link = Link::new([limits; 2]);
        let wires = (0..lanes).map(|_| Wire::default()).collect();
        for lane in 0..lanes {
            let id = link.lanes.open(lane);
            assert!(id.is_some_and(|id| link.lanes.proven(id)));
        }
        Side {
            link,
            wires,
            old: Vec::new(),
            unsaid: Vec::new(),
            heard: vec![0; usize::from(lanes)],
            lost: false,
            posted: [0; 2],
            delivered: [Vec::new(), Vec::new()],
            acked: 0,
        }
    }

    pub(super) fn put(&mut self, lane: u8, packet: Packet) {
        let wire = &mut self.wires[usize::from(lane)];
        // A dead lane takes everything, until its death is noticed.
        if !wire.dead {
            wire.queue.push_back(packet);
        }
    }

    pub(super) fn lanes(&self) -> core::ops::Range<u8> {
        0..self.wires.len() as u8
    }

    pub(super) fn any_lane(&self) -> Option<u8> {
        self.link.lanes.all_live().next().map(|id| id.lane)
    }

    /// By all lanes that are open.
    pub(super) fn say(&mut self, packet: Packet) {
        let open = self
            .lanes()
            .filter(|lane| self.link.lanes.open_id(*lane).is_some());
        let open: Vec<u8> = open.collect();
        if open.is_empty() {
            self.unsaid.push(packet);
        } else {
            open.into_iter()
                .for_each(|lane| self.put(lane, packet.clone()));
        }
    }

    pub(super) fn post(&mut self, channel: Channel, lane: u8, urgent: bool) {
        if self.lost || !self.link.has_room(channel, 8) {
            return;
        }
        let Some(id) = self.link.lanes.live(lane) else {
            // Taken, and sent when there is a lane.
            let value = self.posted[channel as usize];
            self.posted[channel as usize] += 1;
            self.link.queued(channel, value, 8, false);
            return;
        };
        let posted = self.link.offer(channel, id);
        let value = self.posted[channel as usize];
        self.posted[channel as usize] += 1;
        self.link.sent(&posted, value, 8);
        let incoming = Incoming {
            posted,
            len: 8,
            urgent,
        };
        self.put(lane, Packet::Message(incoming, value));
    }

    pub(super) fn notice(&mut self, lane: u8) {
        self.link.lane_down(lane);
        self.say_again();
    }

    pub(super) fn say_again(&mut self) {
        self.unsaid.clear();
        for down in self.link.downs() {
            self.say(Packet::Down(down));
        }
        for stop in self.link.stops() {
            self.say(Packet::Stopped(stop));
        }
        for (lane, epoch) in (0u8..).zip(self.heard.clone()) {
            if epoch != 0 {
                self.say(Packet::Proof(LaneId { lane, epoch }));
            }
        }
    }

    pub(super) fn open(&mut self, lane: u8) {
        if self.lost {
            return;
        }
        let id = match self.link.lanes.open(lane) {
            // There may be no other lane by which the peer could answer.
            None if self.any_lane().is_none() => self.link.lanes.reopen(lane),
            id => id,
        };
        if let Some(id) = id {
            let wire = &mut self.wires[usize::from(lane)];
            let late = core::mem::take(wire).queue;
            self.old.push(late);
            self.put(lane, Packet::Probe(id));
            for packet in core::mem::take(&mut self.unsaid) {
                self.put(lane, packet);
            }
            let awaited = self.link.lanes.unanswered().next().is_some();
            if awaited || self.any_lane().is_none() {
                // What was said before went by lanes that may be dead.
                self.say_again();
            }
        }
    }

    pub(super) fn give_up(&mut self) {
        self.lost = true;
        self.wires.iter_mut().for_each(|wire| wire.queue.clear());
        self.old.clear();
    }

    pub(super) fn replay(&mut self) {
        while let Some(id) = self.link.lanes.all_live().last() {
            let Some((posted, value)) = self.link.next_replay(id) else {
                return;
            };
            let value = *value;
            self.link.resent(&posted);
            let incoming = Incoming {
                posted,
                len: 8,
                urgent: false,
            };
            self.put(id.lane, Packet::Message(incoming, value));
        }
    }

    pub(super) fn round(&mut self) {
        self.replay();
        if self.link.acks().due() {
            let acks = self.link.acknowledge();
            self.say(Packet::Ack(acks));
        }
    }

    pub(super) fn take(&mut self, packet: Packet) {
        let mut acked = 0;
        match packet {
            Packet::Message(incoming, value) => {
                let channel = incoming.posted.channel;
                let Some(arrival) = self.link.arrive(&incoming) else {
                    return;
                };
                self.link.acked(incoming.posted.acks, |_| acked += 1);
                match arrival {
                    Arrival::Now => self.delivered[channel as usize].push(value),
                    Arrival::Hold => {
                        let message = (channel, value);
                        self.link.rx(channel).hold(incoming.posted.seq, message);
                    }
                    Arrival::Duplicate => {}
                    Arrival::Outside => panic!("outside of the window"),
                }
                while let Some((channel, value)) = self.link.rx(Channel::Ordered).ready() {
                    self.delivered[channel as usize].push(value);
                }
            }
            Packet::Ack(acks) => self.link.acked(acks, |_| acked += 1),
            Packet::Down(down) => {
                let stopped = self.link.on_lane_down(&down, |_| acked += 1);
                self.say(Packet::Stopped(stopped));
            }
            Packet::Stopped(stopped) => {
                self.link.on_lane_stopped(&stopped, |_| acked += 1);
                self.replay();
            }
            Packet::Word => {}
            Packet::Probe(id) => {
                let heard = &mut self.heard[usize::from(id.lane)];
                *heard = id.epoch.max(*heard);
                self.say(Packet::Proof(id));
            }
            Packet::Proof(id) => {
                // What may have been said in vain while no lane led anywhere.
                let had_none = self.any_lane().is_none();
                if self.link.lanes.proven(id) && had_none {
                    self.say_again();
                }
            }
        }
        self.acked += acked;
    }

    pub(super) fn check(&self, peer: &Side) {
        let [ordered, bulk] = &self.delivered;
        let inorder = ordered.iter().copied().eq(0..ordered.len() as u64);
        assert!(inorder, "not in order: {ordered:?}");
        let mut sorted = bulk.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), bulk.len(), "delivered twice: {bulk:?}");
        for (delivered, posted) in self.delivered.iter().zip(peer.posted) {
            assert!(delivered.iter().all(|value| *value < posted));
        }
    }
}
