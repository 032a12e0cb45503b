//! The receiving side of a channel.

use std::collections::VecDeque;

use super::{Arrived, Channel, LaneId, MAX_RANGES, Seq, WINDOW};

/// What to do with a message that comes in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// Deliver it; it is marked so already.
    Now,
    /// Keep it by [`Receiver::hold`]: something before it is missing.
    Hold,
    /// It was here before.
    Duplicate,
    /// No sender of ours is that far ahead.
    Outside,
}

#[derive(Debug)]
enum Slot<M> {
    Empty,
    /// Its bytes are being written to where they belong.
    Coming(LaneId),
    Held(M),
    Done,
}

/// What has come. `M`: a message that waits for those before it.
#[derive(Debug)]
pub struct Receiver<M> {
    channel: Channel,
    /// The first message that is not complete, and the slots from it on.
    next: Seq,
    slots: VecDeque<Slot<M>>,
}

impl<M> Receiver<M> {
    pub fn new(channel: Channel) -> Receiver<M> {
        Receiver {
            channel,
            next: 1,
            slots: VecDeque::new(),
        }
    }

    /// Everything up to this has come.
    #[inline]
    pub fn upto(&self) -> Seq {
        self.next - 1
    }

    /// What it would be, without taking it.
    #[inline]
    fn judge(&self, seq: Seq) -> Arrival {
        if seq < self.next {
            return Arrival::Duplicate;
        }
        let ahead = seq - self.next;
        if ahead >= WINDOW {
            return Arrival::Outside;
        }
        match self.slots.get(ahead as usize) {
            Some(Slot::Held(_) | Slot::Done) => Arrival::Duplicate,
            _ if self.channel == Channel::Ordered && ahead > 0 => Arrival::Hold,
            _ => Arrival::Now,
        }
    }

    /// A whole message has come.
    #[inline]
    pub fn arrive(&mut self, seq: Seq) -> Arrival {
        let arrival = self.judge(seq);
        if arrival == Arrival::Now {
            self.mark(seq);
        }
        arrival
    }

    #[inline]
    fn mark(&mut self, seq: Seq) {
        if seq == self.next && self.slots.is_empty() {
            self.next += 1;
            return;
        }
        self.set(seq, Slot::Done);
        while matches!(self.slots.front(), Some(Slot::Done)) {
            self.slots.pop_front();
            self.next += 1;
        }
    }

    fn set(&mut self, seq: Seq, slot: Slot<M>) {
        let index = (seq - self.next) as usize;
        while self.slots.len() <= index {
            self.slots.push_back(Slot::Empty);
        }
        if let Some(place) = self.slots.get_mut(index) {
            *place = slot;
        }
    }

    /// Keeps a message whose [`Arrival`] was `Hold`.
    pub fn hold(&mut self, seq: Seq, message: M) {
        if self.judge(seq) == Arrival::Hold {
            self.set(seq, Slot::Held(message));
        }
    }

    /// The next message that was kept and is due, marked as delivered.
    #[inline]
    pub fn ready(&mut self) -> Option<M> {
        match self.slots.front_mut() {
            Some(slot @ Slot::Held(_)) => {
                let held = core::mem::replace(slot, Slot::Done);
                self.mark(self.next);
                match held {
                    Slot::Held(message) => Some(message),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The head of a message has come by `lane`. `Now`: its bytes may be written to where they
    /// belong as they come, and [`Receiver::arrive`] tells when they have.
    pub fn begin(&mut self, seq: Seq, lane: LaneId) -> Arrival {
        let arrival = self.judge(seq);
        if arrival != Arrival::Now {
            return arrival;
        }
        match self.slots.get((seq - self.next) as usize) {
            Some(Slot::Coming(other)) if *other == lane => Arrival::Now,
            // Another lane brings it already.
            Some(Slot::Coming(_)) => Arrival::Duplicate,
            _ => {
                self.set(seq, Slot::Coming(lane));
                Arrival::Now
            }
        }
    }

    /// What was coming by this lane, in its lives up to this, does not count.
    pub fn lane_down(&mut self, lane: LaneId) {
        for slot in &mut self.slots {
            if let Slot::Coming(other) = slot
                && other.lane == lane.lane
                && other.epoch <= lane.epoch
            {
                *slot = Slot::Empty;
            }
        }
    }

    /// What has come.
    pub fn arrived(&self) -> Arrived {
        let mut arrived = Arrived {
            upto: self.upto(),
            ..Arrived::default()
        };
        for (index, slot) in self.slots.iter().enumerate() {
            if !matches!(slot, Slot::Held(_) | Slot::Done) {
                continue;
            }
            let seq = self.next + index as u64;
            let full = arrived.ranges.len() == MAX_RANGES;
            match arrived.ranges.last_mut() {
                Some((_, last)) if *last + 1 == seq => *last = seq,
                _ if full => break,
                _ => arrived.ranges.push((seq, seq)),
            }
        }
        arrived
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: LaneId = LaneId { lane: 0, epoch: 1 };
    const B: LaneId = LaneId { lane: 1, epoch: 1 };

    #[test]
    fn in_order_whatever_the_order_of_arrival() {
        let mut rx = Receiver::new(Channel::Ordered);
        for seq in [3, 2, 5] {
            assert_eq!(rx.arrive(seq), Arrival::Hold);
            rx.hold(seq, seq);
        }
        assert_eq!(rx.ready(), None);
        assert_eq!(rx.arrive(3), Arrival::Duplicate);
        assert_eq!(rx.arrive(1), Arrival::Now);
        assert_eq!(
            (rx.ready(), rx.ready(), rx.ready()),
            (Some(2), Some(3), None)
        );
        assert_eq!(
            (rx.upto(), rx.arrived().ranges[..].to_vec()),
            (3, vec![(5, 5)])
        );
        assert_eq!(rx.arrive(4), Arrival::Now);
        assert_eq!((rx.ready(), rx.arrive(1)), (Some(5), Arrival::Duplicate));
    }

    #[test]
    fn bulk_comes_as_it_comes_once() {
        let mut rx = Receiver::<()>::new(Channel::Bulk);
        for seq in [4, 2, 7, 8] {
            assert_eq!(rx.arrive(seq), Arrival::Now);
            assert_eq!(rx.arrive(seq), Arrival::Duplicate);
        }
        assert_eq!(rx.arrived().ranges[..].to_vec(), [(2, 2), (4, 4), (7, 8)]);
        assert_eq!(rx.arrive(1), Arrival::Now);
        assert_eq!(rx.upto(), 2);
    }

    #[test]
    fn the_window_is_bounded_and_so_is_what_is_told() {
        let mut rx = Receiver::<()>::new(Channel::Bulk);
        assert_eq!(rx.arrive(WINDOW + 1), Arrival::Outside);
        assert_eq!(rx.arrive(u64::MAX), Arrival::Outside);
        assert_eq!(rx.arrive(0), Arrival::Duplicate);
        for seq in (2..200).step_by(2) {
            assert_eq!(rx.arrive(seq), Arrival::Now);
        }
        assert_eq!(rx.arrived().ranges.len(), MAX_RANGES);
    }

    #[test]
    fn a_place_belongs_to_one_lane_until_that_is_down() {
        let mut rx = Receiver::<()>::new(Channel::Bulk);
        use Arrival::*;
        assert_eq!([rx.begin(2, A), rx.begin(2, A)], [Now, Now]);
        assert_eq!(rx.begin(2, B), Duplicate);
        rx.lane_down(A);
        assert_eq!(rx.begin(2, B), Now);
        assert_eq!((rx.arrive(2), rx.begin(2, B)), (Now, Duplicate));
        let mut ordered = Receiver::<()>::new(Channel::Ordered);
        assert_eq!([ordered.begin(2, A), ordered.begin(1, A)], [Hold, Now]);
    }
}
