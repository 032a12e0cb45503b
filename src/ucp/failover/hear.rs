//! What comes in.

use std::time::Instant;

use smallvec::SmallVec;

use super::Reliable;
use super::gone::TELL_EVERY;
use super::kept::{Held, Kept};
use super::rails::Way;
use crate::ucp::replay::{Arrival, Channel, Hearing, Incoming, LaneId};
use crate::ucp::wire::numbered::{Between, LinkMessage, Numbered, Say};
use crate::ucp::wire::wireup::Lane;
use crate::ucp::worker::Worker;
use crate::ucs::status::Error;
use crate::uct::{Events, Place};

/// Operations that are done.
type Done = SmallVec<[u64; 4]>;

impl Reliable {
    /// A message is acknowledged.
    fn done_with(&self, kept: Kept, done: &mut Done) {
        self.fruitless.set(0);
        match kept {
            Kept::Copy(bytes) => self.pool.put(bytes),
            Kept::InPlace(message) => done.push(message.token),
            Kept::Gone => {}
        }
    }

    /// Takes in acknowledgements.
    fn acked(&self, worker: &Worker, acks: [u64; 2]) {
        let mut done = Done::new();
        self.link
            .borrow_mut()
            .acked(acks, |kept| self.done_with(kept, &mut done));
        self.complete(worker, done);
    }

    fn complete(&self, worker: &Worker, done: Done) {
        for token in done {
            worker.completed(token, Ok(()));
        }
        if !self.flushes.borrow().is_empty() {
            self.end_flushes(worker);
        }
    }

    fn end_flushes(&self, worker: &Worker) {
        let mut ended = Done::new();
        {
            let link = self.link.borrow();
            self.flushes.borrow_mut().retain(|waiting| {
                let over = link.is_flushed(waiting.point);
                if over {
                    ended.push(waiting.token);
                }
                !over
            });
        }
        for token in ended {
            worker.completed(token, Ok(()));
        }
    }

    /// A whole message.
    pub(super) fn on_message(&self, worker: &Worker, head: &Numbered, data: &[u8]) -> Option<()> {
        match self.arrived(worker, head, data.len()) {
            Some(Arrival::Now) => {
                worker.am(head.id, data);
                self.deliver_held(worker);
            }
            Some(Arrival::Hold) => {
                let held = Held {
                    id: head.id,
                    data: data.to_vec(),
                };
                let mut link = self.link.borrow_mut();
                link.rx(head.posted.channel).hold(head.posted.seq, held);
            }
            Some(Arrival::Duplicate) | None => {}
            Some(Arrival::Outside) => return None,
        }
        Some(())
    }

    /// Accounts for a message, before anybody sees it.
    fn arrived(&self, worker: &Worker, head: &Numbered, len: usize) -> Option<Arrival> {
        let incoming = Incoming {
            posted: head.posted,
            len,
            urgent: head.urgent,
        };
        let arrival = self.link.borrow_mut().arrive(&incoming)?;
        self.turns.heard(head.id);
        self.list();
        self.acked(worker, head.posted.acks);
        Some(arrival)
    }

    fn deliver_held(&self, worker: &Worker) {
        loop {
            let held = self.link.borrow_mut().rx(Channel::Ordered).ready();
            let Some(Held { id, data }) = held else {
                return;
            };
            worker.am(id, &data);
        }
    }

    /// Where the payload of a message goes that comes in pieces.
    pub(super) fn place(
        &self,
        worker: &Worker,
        head: &Numbered,
        header: &[u8],
        offset: usize,
        total: usize,
    ) -> Place {
        if header.is_empty() {
            // A copy, sent from where it is kept: the message's own header comes with its body.
            return Place::Copy;
        }
        let arrival = self.link.borrow_mut().begin(&head.posted);
        match arrival {
            Some(Arrival::Now) => match worker.place(head.id, header, offset, total) {
                // Nobody wants it any more, but it has to be accounted for at its end.
                Place::Discard => worker.links.waste(total - offset.min(total)),
                place => place,
            },
            Some(Arrival::Hold) => Place::Copy,
            _ => Place::Discard,
        }
    }

    pub(super) fn placed(&self, worker: &Worker, head: &Numbered, header: &[u8], total: usize) {
        if self.arrived(worker, head, total) == Some(Arrival::Now) {
            worker.placed(head.id, header, total);
            self.deliver_held(worker);
        }
    }

    /// The peer has opened a lane.
    pub(super) fn on_lane(&self, lane: LaneId) {
        let mut heard = self.heard.get();
        if let Some(epoch) = heard.get_mut(usize::from(lane.lane)) {
            *epoch = lane.epoch.max(*epoch);
        }
        self.heard.set(heard);
        self.invite();
        self.say(Say::Heard(lane));
    }

    /// What a lane means that the peer has opened.
    pub(super) fn hear_lane(&self, lane: Lane) -> Hearing {
        self.pair.borrow_mut().hear(lane.link, lane.to)
    }

    /// Whether a message is of the link that goes with this one. If not, all that is to be done about it
    /// has been done.
    #[inline]
    pub(super) fn is_of_pair(&self, worker: &Worker, between: Between) -> bool {
        let (from, to) = (u64::from(between.from), u64::from(between.to));
        let hearing = self.pair.borrow_mut().hear(from, to);
        hearing == Hearing::Ours || self.heard_other(worker, hearing, from, to)
    }

    #[cold]
    fn heard_other(&self, worker: &Worker, hearing: Hearing, from: u64, to: u64) -> bool {
        match hearing {
            Hearing::Ours => return true,
            Hearing::Late => {}
            Hearing::Stale(ours) => self.tell_stale(worker, ours, from),
            Hearing::Replaced => {
                self.lose(Error::ConnectionReset);
                self.tell_stale(worker, to, from);
            }
        }
        false
    }

    /// Tells the peer that its link `theirs` goes with none of ours. Not by each of many messages.
    fn tell_stale(&self, worker: &Worker, ours: u64, theirs: u64) {
        let now = Instant::now();
        let told = self.told_stale.get();
        if told.is_some_and(|told| now - told < TELL_EVERY) {
            return;
        }
        self.told_stale.set(Some(now));
        let ways: Vec<Way> = self.rails.iter().map(|rail| rail.way.clone()).collect();
        worker.refuse(self.peer.worker, &ways, ours, theirs);
    }

    pub(super) fn on_link(&self, worker: &Worker, message: &LinkMessage) {
        let mut done = Done::new();
        match &message.say {
            Say::Acks { acks, want } => {
                if *want {
                    self.link.borrow_mut().acks().owe(0, true);
                    self.list();
                }
                self.acked(worker, *acks);
            }
            Say::Down(down) => {
                let answer = {
                    let mut link = self.link.borrow_mut();
                    link.on_lane_down(down, |kept| self.done_with(kept, &mut done))
                };
                crate::ucs_debug!("the peer has lost its lane {}", down.lane.lane);
                self.say(Say::Stopped(answer));
            }
            Say::Stopped(stopped) => {
                let mut link = self.link.borrow_mut();
                link.on_lane_stopped(stopped, |kept| self.done_with(kept, &mut done));
                drop(link);
                self.list();
            }
            Say::Heard(lane) => {
                let proven = self.link.borrow_mut().lanes.proven(*lane);
                if proven {
                    self.lane_proven(lane.lane);
                }
            }
        }
        self.complete(worker, done);
    }
}
