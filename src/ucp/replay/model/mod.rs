//! The property: whatever the lanes do, every message is delivered once, and those of the ordered
//! channel in order.
//!
//! Two links talk over a few lanes. Each lane is two queues, one per direction. A step of the model
//! posts a message, moves one along, kills a lane (what is in it may vanish, stay to come out late,
//! or come out twice), notices a death, opens a lane again, or lets time pass. At the end no lane
//! dies any more, everything must arrive and be acknowledged.
//!
//! A side that has lost all lanes tries again, or gives up. Who speaks to one that has given up is told
//! so. At the end both have given up, or none, and then all is as above. Nobody gives up for want of a
//! lane when all can be opened again.

mod side;
mod walks;

use super::*;
use side::{Packet, Side};

/// Most lanes. With one only, no answer about a death has another way to come by.
const LANES: u8 = 3;

#[derive(Clone, Copy, Debug)]
enum Step {
    Post {
        side: usize,
        bulk: bool,
        lane: u8,
        urgent: bool,
    },
    Move {
        side: usize,
        lane: u8,
    },
    /// The head of the next message is here, and the place where its bytes go has been asked for.
    Begin {
        side: usize,
        lane: u8,
    },
    /// The lane takes nothing any more; `lose` of what is in it vanishes, from the end.
    Kill {
        lane: u8,
        lose: usize,
    },
    /// All lanes are killed, and both sides notice it.
    Fall {
        lose: usize,
    },
    /// All lanes are opened again, and their proofs are as quick as can be.
    Revive,
    /// The lane delivers something a second time.
    Repeat {
        side: usize,
        lane: u8,
    },
    Notice {
        side: usize,
        lane: u8,
    },
    Open {
        side: usize,
        lane: u8,
    },
    Round {
        side: usize,
    },
    /// It has been without a lane for long.
    GiveUp {
        side: usize,
    },
}

impl Step {
    /// The same where there are only so many lanes.
    fn of(mut self, lanes: u8) -> Step {
        match &mut self {
            Step::Post { lane, .. }
            | Step::Move { lane, .. }
            | Step::Begin { lane, .. }
            | Step::Kill { lane, .. }
            | Step::Repeat { lane, .. }
            | Step::Notice { lane, .. }
            | Step::Open { lane, .. } => *lane %= lanes,
            Step::Fall { .. } | Step::Revive | Step::Round { .. } | Step::GiveUp { .. } => {}
        }
        self
    }
}

struct Model {
    sides: [Side; 2],
}

impl Model {
    fn new(lanes: u8) -> Model {
        Model {
            sides: [Side::new(lanes), Side::new(lanes)],
        }
    }

    /// Both sides of each lane.
    fn ends(&self) -> impl Iterator<Item = (usize, u8)> + use<> {
        let lanes = self.sides[0].lanes();
        lanes.flat_map(|lane| [(0, lane), (1, lane)])
    }

    fn kill(&mut self, lane: u8, lose: usize) {
        for side in &mut self.sides {
            let wire = &mut side.wires[usize::from(lane)];
            wire.dead = true;
            let left = wire.queue.len().saturating_sub(lose);
            wire.queue.truncate(left);
        }
    }

    fn open(&mut self, side: usize, lane: u8) {
        if self.sides[side].wires[usize::from(lane)].dead {
            self.sides[side].open(lane);
        }
    }

    /// What proves the new lanes arrives, and no answer to what else comes with that.
    fn revive(&mut self) {
        for (side, lane) in self.ends() {
            self.open(side, lane);
        }
        // The proofs go by all lanes.
        self.deliver_upto(|packet| matches!(packet, Packet::Probe(_)));
        self.deliver_upto(|packet| matches!(packet, Packet::Proof(_)));
    }

    /// On each lane all up to the last of these which is there now.
    fn deliver_upto(&mut self, these: impl Fn(&Packet) -> bool) {
        let ends = self.ends().map(|(side, lane)| {
            let queue = &self.sides[side].wires[usize::from(lane)].queue;
            let last = queue.iter().rposition(&these);
            (side, lane, last.map_or(0, |last| last + 1))
        });
        for (side, lane, count) in ends.collect::<Vec<_>>() {
            for _ in 0..count {
                self.deliver(side, lane);
            }
        }
    }

    fn deliver(&mut self, side: usize, lane: u8) -> bool {
        let Some(packet) = self.sides[side].wires[usize::from(lane)].queue.pop_front() else {
            return false;
        };
        self.hear(1 - side, packet);
        true
    }

    /// A side that has given up answers everything by saying so.
    fn hear(&mut self, side: usize, packet: Packet) {
        match self.sides[side].lost {
            false => self.sides[side].take(packet),
            true => self.sides[1 - side].give_up(),
        }
    }

    fn has_lane(&self, side: usize) -> bool {
        self.sides[side].any_lane().is_some()
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Post {
                side,
                bulk,
                lane,
                urgent,
            } => {
                let channel = if bulk {
                    Channel::Bulk
                } else {
                    Channel::Ordered
                };
                self.sides[side].post(channel, lane, urgent);
            }
            Step::Move { side, lane } => {
                self.deliver(side, lane);
            }
            Step::Begin { side, lane } => {
                let wire = &mut self.sides[side].wires[usize::from(lane)];
                if let Some(Packet::Message(incoming, _)) = wire.queue.front() {
                    let posted = incoming.posted;
                    let begun = self.sides[1 - side].link.begin(&posted);
                    // Bytes that have no place are dropped, and nobody is asked about them at their end.
                    if matches!(begun, None | Some(Arrival::Duplicate)) {
                        self.sides[side].wires[usize::from(lane)].queue.pop_front();
                    }
                }
            }
            Step::GiveUp { side } => {
                if !self.has_lane(side) {
                    self.sides[side].give_up();
                }
            }
            Step::Kill { lane, lose } => {
                self.kill(lane, lose);
            }
            Step::Fall { lose } => {
                for lane in self.sides[0].lanes() {
                    self.kill(lane, lose);
                }
                for (side, lane) in self.ends() {
                    self.sides[side].notice(lane);
                }
            }
            Step::Revive => self.revive(),
            Step::Repeat { side, lane } => {
                let front = self.sides[side].wires[usize::from(lane)]
                    .queue
                    .front()
                    .cloned();
                if let Some(packet @ Packet::Message(..)) = front {
                    self.hear(1 - side, packet);
                }
            }
            Step::Notice { side, lane } => {
                // A false alarm is survived as well.
                self.sides[side].notice(lane);
            }
            Step::Open { side, lane } => {
                self.open(side, lane);
            }
            Step::Round { side } => {
                if !self.sides[side].lost {
                    self.sides[side].round();
                }
            }
        }
        let [a, b] = &self.sides;
        a.check(b);
        b.check(a);
    }

    /// The weather clears up: deaths are noticed, lanes come back, late bytes come late.
    fn settle(&mut self) {
        let given_up = self.sides.iter().any(|side| side.lost);
        for _ in 0..4 {
            for side in 0..2 {
                for lane in self.sides[side].lanes() {
                    // One that was only tried, too: it is not waited for without an end.
                    let open = self.sides[side].link.lanes.open_id(lane).is_some();
                    if self.sides[side].wires[usize::from(lane)].dead && open {
                        self.sides[side].notice(lane);
                    }
                    self.sides[side].open(lane);
                }
            }
            self.drain();
        }
        for side in 0..2 {
            for packet in core::mem::take(&mut self.sides[side].old)
                .into_iter()
                .flatten()
            {
                self.hear(1 - side, packet);
            }
        }
        self.drain();
        // Who has no lane by now gives up, and who has one is heard now and then.
        for side in 0..2 {
            if !self.has_lane(side) {
                assert!(given_up, "no lane, though all can be opened");
                self.sides[side].give_up();
            }
        }
        for side in 0..2 {
            if !self.sides[side].lost {
                self.sides[side].say(Packet::Word);
            }
        }
        self.drain();
    }

    fn drain(&mut self) {
        // Enough for acknowledgements that wait for a message to carry them.
        for _ in 0..1000 {
            let mut moved = false;
            for side in 0..2 {
                for lane in self.sides[side].lanes() {
                    while self.deliver(side, lane) {
                        moved = true;
                    }
                }
                if self.sides[side].lost {
                    continue;
                }
                self.sides[side].round();
                let owes = self.sides[side].link.acks().owes();
                moved |= owes && self.sides[side].any_lane().is_some();
            }
            if !moved {
                return;
            }
        }
    }

    /// `patient`: nobody gives up.
    fn run(lanes: u8, patient: bool, steps: &[Step]) {
        let mut model = Model::new(lanes);
        for step in steps {
            if !(patient && matches!(step, Step::GiveUp { .. })) {
                model.step(step.of(lanes));
            }
        }
        model.end();
    }

    fn end(&mut self) {
        self.settle();
        let [a, b] = &self.sides;
        assert_eq!(a.lost, b.lost, "one has failed and the other goes on");
        if a.lost {
            return;
        }
        for (side, peer) in [(a, b), (b, a)] {
            side.check(peer);
            for (delivered, posted) in side.delivered.iter().zip(peer.posted) {
                assert_eq!(delivered.len() as u64, posted, "something is lost");
            }
            assert!(side.link.is_quiet(), "something is not acknowledged");
            assert_eq!(
                side.acked,
                side.posted.iter().sum::<u64>(),
                "handed back once each"
            );
            assert!(side.link.is_flushed(side.link.flush_point()));
        }
    }
}
