//! The sending side of a channel.

use std::collections::VecDeque;

use super::{Arrived, LaneId, Seq};

/// How much may be unacknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub messages: usize,
    pub bytes: usize,
}

/// Where a message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Whereabouts {
    On(LaneId),
    /// The lane is dead; the peer has not said yet what came of it.
    Limbo(LaneId),
    /// To be sent; again, if a lane had taken it.
    Ready {
        again: bool,
    },
    /// There, though something before it is missing.
    Confirmed,
}

#[derive(Debug)]
struct Entry<T> {
    item: T,
    bytes: usize,
    place: Whereabouts,
}

impl<T> Entry<T> {
    fn is_ready(&self) -> bool {
        matches!(self.place, Whereabouts::Ready { .. })
    }
}

/// Messages that the peer has not acknowledged. `T`: what it takes to send one again.
#[derive(Debug)]
pub struct Sender<T> {
    limits: Limits,
    /// Number of the first entry.
    base: Seq,
    entries: VecDeque<Entry<T>>,
    bytes: usize,
    ready: usize,
    /// No entry before this index is ready.
    ready_from: usize,
}

impl<T> Sender<T> {
    pub fn new(limits: Limits) -> Sender<T> {
        Sender {
            limits,
            base: 1,
            entries: VecDeque::new(),
            bytes: 0,
            ready: 0,
            ready_from: 0,
        }
    }

    /// Whether a message of `bytes` may be sent now. One always may when nothing is out.
    #[inline]
    pub fn has_room(&self, bytes: usize) -> bool {
        self.entries.is_empty()
            || (self.entries.len() < self.limits.messages
                && self.bytes.saturating_add(bytes) <= self.limits.bytes)
    }

    /// The number that the next message gets.
    #[inline]
    pub fn next(&self) -> Seq {
        self.base + self.entries.len() as u64
    }

    /// A message has been given to `lane`. `bytes`: what keeping it costs.
    #[inline]
    pub fn push(&mut self, item: T, bytes: usize, lane: LaneId) -> Seq {
        let seq = self.next();
        self.bytes += bytes;
        self.entries.push_back(Entry {
            item,
            bytes,
            place: Whereabouts::On(lane),
        });
        seq
    }

    /// The same for a message that no lane has taken: it is sent later, as a replay is. `again`: a lane
    /// has failed with it.
    pub fn queue(&mut self, item: T, bytes: usize, again: bool) -> Seq {
        let seq = self.next();
        if self.ready == 0 {
            self.ready_from = self.entries.len();
        }
        self.ready += 1;
        self.bytes += bytes;
        self.entries.push_back(Entry {
            item,
            bytes,
            place: Whereabouts::Ready { again },
        });
        seq
    }

    /// Whether anything is to be sent again.
    #[inline]
    pub fn has_replays(&self) -> bool {
        self.ready != 0
    }

    /// The number of the last message: a flush that begins now waits for it.
    pub fn last(&self) -> Seq {
        self.next() - 1
    }

    /// Whether all up to `point` is acknowledged.
    #[inline]
    pub fn is_acked(&self, point: Seq) -> bool {
        point < self.base
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Everything up to `upto` has arrived: hands back what is done with, in order.
    #[inline]
    pub fn acked(&mut self, upto: Seq, mut done: impl FnMut(T)) {
        // A peer that acknowledges what was never sent is not believed.
        let upto = upto.min(self.last());
        while self.base <= upto {
            let Some(entry) = self.entries.pop_front() else {
                return;
            };
            self.base += 1;
            self.ready_from = self.ready_from.saturating_sub(1);
            self.bytes -= entry.bytes;
            if entry.is_ready() {
                self.ready -= 1;
            }
            done(entry.item);
        }
    }

    /// Takes in all that the peer says has arrived.
    pub fn arrived(&mut self, state: &Arrived, done: impl FnMut(T)) {
        self.acked(state.upto, done);
        for (first, last) in &state.ranges {
            let from = first.saturating_sub(self.base) as usize;
            let upto = last.saturating_add(1).saturating_sub(self.base) as usize;
            for entry in self.entries.iter_mut().take(upto).skip(from) {
                if entry.is_ready() {
                    self.ready -= 1;
                }
                entry.place = Whereabouts::Confirmed;
            }
        }
    }

    /// The lane is not used any more.
    pub fn lane_down(&mut self, lane: LaneId) {
        for entry in &mut self.entries {
            if entry.place == Whereabouts::On(lane) {
                entry.place = Whereabouts::Limbo(lane);
            }
        }
    }

    /// What was on that lane, in its lives up to this, and has not arrived by now never will: it is to be
    /// sent again.
    pub fn lane_stopped(&mut self, lane: LaneId) {
        for entry in &mut self.entries {
            if let Whereabouts::Limbo(other) = entry.place
                && other.lane == lane.lane
                && other.epoch <= lane.epoch
            {
                entry.place = Whereabouts::Ready { again: true };
                self.ready += 1;
                self.ready_from = 0;
            }
        }
    }

    /// The first message that is to be sent again.
    pub fn next_replay(&mut self) -> Option<(Seq, &mut T)> {
        if self.ready == 0 {
            return None;
        }
        let from = self.ready_from;
        let index = from + self.entries.iter().skip(from).position(Entry::is_ready)?;
        self.ready_from = index;
        let entry = self.entries.get_mut(index)?;
        Some((self.base + index as u64, &mut entry.item))
    }

    /// Message `seq` has been given to `lane`. Whether another had taken it before.
    pub fn resent(&mut self, seq: Seq, lane: LaneId) -> bool {
        let index = seq.wrapping_sub(self.base) as usize;
        if let Some(entry) = self.entries.get_mut(index)
            && let Whereabouts::Ready { again } = entry.place
        {
            entry.place = Whereabouts::On(lane);
            self.ready -= 1;
            return again;
        }
        false
    }

    /// Whether anything is out on this lane.
    pub fn uses(&self, lane: LaneId) -> bool {
        let on = |entry: &Entry<T>| entry.place == Whereabouts::On(lane);
        self.entries.iter().any(on)
    }

    /// All that is kept, for changes to how it is kept.
    pub fn items_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut().map(|entry| &mut entry.item)
    }

    /// Gives up everything.
    pub fn abandon(&mut self, done: impl FnMut(T)) {
        self.acked(self.last(), done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: LaneId = LaneId { lane: 0, epoch: 1 };
    const B: LaneId = LaneId { lane: 1, epoch: 1 };

    fn sender() -> Sender<u32> {
        Sender::new(Limits {
            messages: 4,
            bytes: 100,
        })
    }

    #[test]
    fn bounded_by_messages_and_bytes() {
        let mut tx = sender();
        assert!(tx.has_room(1_000), "a long one goes alone");
        for i in 0..4 {
            assert!(tx.has_room(10));
            assert_eq!(tx.push(i, 10, A), u64::from(i) + 1);
        }
        assert!(!tx.has_room(0));
        tx.acked(1, |_| {});
        assert!(tx.has_room(70) && !tx.has_room(71));
    }

    #[test]
    fn acknowledgements_are_cumulative_and_not_believed_beyond_the_last() {
        let mut tx = sender();
        for i in 0..3 {
            tx.push(i, 1, A);
        }
        let mut done = Vec::new();
        tx.acked(2, |i| done.push(i));
        tx.acked(1, |i| done.push(i));
        assert_eq!(done, [0, 1]);
        assert!(tx.is_acked(2) && !tx.is_acked(3));
        tx.acked(u64::MAX, |i| done.push(i));
        assert_eq!((done.len(), tx.next()), (3, 4));
    }

    #[test]
    fn only_what_has_not_arrived_is_sent_again() {
        let mut tx = sender();
        tx.push(1, 1, A);
        tx.push(2, 1, B);
        tx.push(3, 1, A);
        tx.push(4, 1, A);
        tx.lane_down(A);
        assert!(!tx.has_replays(), "not before the peer has answered");
        tx.queue(5, 1, false);
        let state = Arrived {
            upto: 0,
            ranges: [(3, 3)].into_iter().collect(),
        };
        tx.arrived(&state, |_| {});
        tx.lane_stopped(A);
        let mut again = Vec::new();
        while let Some((seq, item)) = tx.next_replay() {
            let item = *item;
            again.push((seq, item, tx.resent(seq, B)));
        }
        assert_eq!(again, [(1, 1, true), (4, 4, true), (5, 5, false)]);
    }

    #[test]
    fn what_was_on_earlier_lives_of_a_lane_is_sent_again_with_it() {
        let mut tx = sender();
        let life = |epoch| LaneId { lane: 0, epoch };
        for epoch in 1..4 {
            tx.push(u32::from(epoch), 1, life(epoch));
            tx.lane_down(life(epoch));
        }
        tx.push(4, 1, B);
        tx.lane_down(B);
        tx.lane_stopped(life(2));
        let mut again = Vec::new();
        while let Some((seq, _)) = tx.next_replay() {
            again.push(seq);
            tx.resent(seq, life(4));
        }
        assert_eq!(again, [1, 2], "not the third, nor another lane's");
        tx.lane_stopped(life(3));
        assert_eq!(tx.next_replay().map(|(seq, _)| seq), Some(3));
    }

    #[test]
    fn ranges_of_any_kind_do_no_harm() {
        let mut tx = sender();
        tx.push(1, 1, A);
        let state = Arrived {
            upto: 0,
            ranges: [(9, 3), (0, u64::MAX), (5, 5)].into_iter().collect(),
        };
        tx.arrived(&state, |_| {});
        assert_eq!(tx.next_replay(), None);
    }
}
