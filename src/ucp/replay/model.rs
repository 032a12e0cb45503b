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

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

/// Most lanes. With one only, no answer about a death has another way to come by.
const LANES: u8 = 3;

/// On a lane.
#[derive(Clone, Debug)]
enum Packet {
    Message(Incoming, u64),
    Ack([Seq; 2]),
    Down(LaneDown),
    Stopped(LaneStopped),
    Probe(LaneId),
    Proof(LaneId),
    /// Nothing that the other side waits for.
    Word,
}

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

#[derive(Default)]
struct Wire {
    queue: VecDeque<Packet>,
    dead: bool,
}

struct Side {
    link: Link<u64, (Channel, u64)>,
    /// What it sends, by lane. Killed ones are kept: their bytes may come late.
    wires: Vec<Wire>,
    old: Vec<VecDeque<Packet>>,
    /// What no lane was there for.
    unsaid: Vec<Packet>,
    /// The last lives of the peer's lanes that were heard.
    heard: Vec<u16>,
    lost: bool,
    posted: [u64; 2],
    delivered: [Vec<u64>; 2],
    acked: u64,
}

impl Side {
    fn new(lanes: u8) -> Side {
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

    fn put(&mut self, lane: u8, packet: Packet) {
        let wire = &mut self.wires[usize::from(lane)];
        // A dead lane takes everything, until its death is noticed.
        if !wire.dead {
            wire.queue.push_back(packet);
        }
    }

    fn lanes(&self) -> core::ops::Range<u8> {
        0..self.wires.len() as u8
    }

    fn any_lane(&self) -> Option<u8> {
        self.link.lanes.all_live().next().map(|id| id.lane)
    }

    /// By all lanes that are open.
    fn say(&mut self, packet: Packet) {
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

    fn post(&mut self, channel: Channel, lane: u8, urgent: bool) {
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

    fn notice(&mut self, lane: u8) {
        self.link.lane_down(lane);
        self.say_again();
    }

    fn say_again(&mut self) {
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

    fn open(&mut self, lane: u8) {
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

    fn give_up(&mut self) {
        self.lost = true;
        self.wires.iter_mut().for_each(|wire| wire.queue.clear());
        self.old.clear();
    }

    fn replay(&mut self) {
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

    fn round(&mut self) {
        self.replay();
        if self.link.acks().due() {
            let acks = self.link.acknowledge();
            self.say(Packet::Ack(acks));
        }
    }

    fn take(&mut self, packet: Packet) {
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

    fn check(&self, peer: &Side) {
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

fn step() -> impl Strategy<Value = Step> {
    let side = 0..2usize;
    let lane = 0..LANES;
    prop_oneof![
        8 => (side.clone(), any::<bool>(), lane.clone(), any::<bool>())
            .prop_map(|(side, bulk, lane, urgent)| Step::Post { side, bulk, lane, urgent }),
        10 => (side.clone(), lane.clone()).prop_map(|(side, lane)| Step::Move { side, lane }),
        2 => (side.clone(), lane.clone()).prop_map(|(side, lane)| Step::Begin { side, lane }),
        1 => (lane.clone(), 0..6usize).prop_map(|(lane, lose)| Step::Kill { lane, lose }),
        1 => (0..12usize).prop_map(|lose| Step::Fall { lose }),
        1 => Just(Step::Revive),
        1 => (side.clone(), lane.clone()).prop_map(|(side, lane)| Step::Repeat { side, lane }),
        1 => (side.clone(), lane.clone()).prop_map(|(side, lane)| Step::Notice { side, lane }),
        2 => (side.clone(), lane).prop_map(|(side, lane)| Step::Open { side, lane }),
        4 => side.clone().prop_map(|side| Step::Round { side }),
        1 => side.prop_map(|side| Step::GiveUp { side }),
    ]
}

/// Runs of the model: `UCX_RS_MODEL_CASES`, else few.
fn cases() -> u32 {
    let given = std::env::var("UCX_RS_MODEL_CASES");
    given.ok().and_then(|n| n.parse().ok()).unwrap_or(500)
}

#[test]
fn exactly_once_and_in_order() {
    let config = ProptestConfig {
        cases: cases(),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let steps = prop::collection::vec(step(), 1..250);
    proptest!(config, |(lanes in 1..=LANES, patient in any::<bool>(), steps in steps)| {
        Model::run(lanes, patient, &steps);
    });
}

/// The answer about a death doesn't come before the same lane dies again, of all lanes: what was on any of
/// their lives is sent again when there is peace.
#[test]
fn all_lanes_die_again_and_again_before_the_answer() {
    let mut model = Model::new(LANES);
    for life in 1..4 {
        for (side, lane) in model.ends() {
            let post = |bulk| Step::Post {
                side,
                bulk,
                lane,
                urgent: false,
            };
            model.step(post(false));
            model.step(post(true));
        }
        model.step(Step::Fall { lose: usize::MAX });
        model.step(Step::Revive);
        for (side, lane) in model.ends() {
            let live = model.sides[side].link.lanes.live(lane);
            let epoch = life + 1;
            assert_eq!(live, Some(LaneId { lane, epoch }), "side {side}");
        }
    }
    model.end();
}

/// The model can fail: a receiver that forgets what it has delivered is found out.
#[test]
#[should_panic(expected = "not in order")]
fn a_broken_receiver_is_found_out() {
    let mut model = Model::new(LANES);
    let post = Step::Post {
        side: 0,
        bulk: false,
        lane: 0,
        urgent: false,
    };
    model.step(post);
    model.step(Step::Repeat { side: 0, lane: 0 });
    *model.sides[1].link.rx(Channel::Ordered) = Receiver::new(Channel::Ordered);
    model.step(Step::Move { side: 0, lane: 0 });
}
