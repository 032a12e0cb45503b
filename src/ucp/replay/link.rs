//! Everything that one endpoint knows about its numbered messages.

use smallvec::SmallVec;

use super::{
    Acks, Arrival, Channel, LaneDown, LaneId, LaneStopped, Lanes, Limits, Receiver, Sender, Seq,
    State,
};

/// What goes with a message that is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Posted {
    pub channel: Channel,
    pub seq: Seq,
    pub lane: LaneId,
    /// All up to these has arrived here, by channel.
    pub acks: [Seq; 2],
}

/// What comes with a message that has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Incoming {
    pub posted: Posted,
    /// Bytes of it.
    pub len: usize,
    /// The sender waits for the acknowledgement.
    pub urgent: bool,
}

/// Counts that users may see.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    pub replays: u64,
    pub duplicates: u64,
    pub deaths: u64,
}

/// `T`: what it takes to send a message again. `M`: a message that waits for those before it.
#[derive(Debug)]
pub struct Link<T, M> {
    pub lanes: Lanes,
    pub counts: Counts,
    tx: [Sender<T>; 2],
    rx: [Receiver<M>; 2],
    acks: Acks,
}

impl<T, M> Link<T, M> {
    /// `limits` by channel.
    pub fn new(limits: [Limits; 2]) -> Link<T, M> {
        Link {
            lanes: Lanes::default(),
            counts: Counts::default(),
            tx: limits.map(Sender::new),
            rx: Channel::ALL.map(Receiver::new),
            acks: Acks::default(),
        }
    }

    #[inline]
    fn tx(&mut self, channel: Channel) -> &mut Sender<T> {
        let [ordered, bulk] = &mut self.tx;
        match channel {
            Channel::Ordered => ordered,
            Channel::Bulk => bulk,
        }
    }

    #[inline]
    pub fn rx(&mut self, channel: Channel) -> &mut Receiver<M> {
        let [ordered, bulk] = &mut self.rx;
        match channel {
            Channel::Ordered => ordered,
            Channel::Bulk => bulk,
        }
    }

    #[inline]
    fn upto(&self) -> [Seq; 2] {
        let [ordered, bulk] = &self.rx;
        [ordered.upto(), bulk.upto()]
    }

    /// What goes with the next message on `channel` by `lane`; ask [`Link::has_room`] before.
    /// Nothing changes before [`Link::sent`].
    #[inline]
    pub fn offer(&self, channel: Channel, lane: LaneId) -> Posted {
        let [ordered, bulk] = &self.tx;
        Posted {
            channel,
            seq: match channel {
                Channel::Ordered => ordered.next(),
                Channel::Bulk => bulk.next(),
            },
            lane,
            acks: self.upto(),
        }
    }

    /// The lane has taken it.
    #[inline]
    pub fn sent(&mut self, posted: &Posted, item: T, bytes: usize) {
        self.tx(posted.channel).push(item, bytes, posted.lane);
        self.acks.sent();
    }

    /// No lane has taken it: it is sent later; `again` if a lane has failed with it.
    pub fn queued(&mut self, channel: Channel, item: T, bytes: usize, again: bool) -> Seq {
        self.tx(channel).queue(item, bytes, again)
    }

    /// Whether anything is to be sent again.
    #[inline]
    pub fn has_replays(&self) -> bool {
        self.tx.iter().any(Sender::has_replays)
    }

    /// Whether a message of `bytes` may be sent now.
    #[inline]
    pub fn has_room(&self, channel: Channel, bytes: usize) -> bool {
        let [ordered, bulk] = &self.tx;
        match channel {
            Channel::Ordered => ordered.has_room(bytes),
            Channel::Bulk => bulk.has_room(bytes),
        }
    }

    /// The next message that is to be sent again, for `lane`.
    pub fn next_replay(&mut self, lane: LaneId) -> Option<(Posted, &mut T)> {
        let acks = self.upto();
        let mut all = Channel::ALL.iter().zip(&mut self.tx);
        all.find_map(|(channel, tx)| {
            let (seq, item) = tx.next_replay()?;
            let posted = Posted {
                channel: *channel,
                seq,
                lane,
                acks,
            };
            Some((posted, item))
        })
    }

    /// The lane has taken it, again or for the first time.
    pub fn resent(&mut self, posted: &Posted) {
        let again = self.tx(posted.channel).resent(posted.seq, posted.lane);
        self.counts.replays += u64::from(again);
        self.acks.sent();
    }

    /// Acknowledgements of the peer, by channel; `done` gets back what is done with.
    #[inline]
    pub fn acked(&mut self, acks: [Seq; 2], mut done: impl FnMut(T)) {
        for (tx, upto) in self.tx.iter_mut().zip(acks) {
            tx.acked(upto, &mut done);
        }
    }

    /// A whole message has come. `None`: by a lane that doesn't count any more.
    #[inline]
    pub fn arrive(&mut self, incoming: &Incoming) -> Option<Arrival> {
        let Posted {
            channel, seq, lane, ..
        } = incoming.posted;
        if !self.lanes.counts(lane) {
            return None;
        }
        let arrival = self.rx(channel).arrive(seq);
        if arrival == Arrival::Duplicate {
            self.counts.duplicates += 1;
        }
        self.acks.owe(incoming.len, incoming.urgent);
        Some(arrival)
    }

    /// The head of a message has come whose bytes are to follow: `Now` if they may be written to
    /// where they belong; `None`: by a lane that doesn't count any more.
    pub fn begin(&mut self, posted: &Posted) -> Option<Arrival> {
        if !self.lanes.counts(posted.lane) {
            return None;
        }
        Some(self.rx(posted.channel).begin(posted.seq, posted.lane))
    }

    /// All up to these has arrived here, by channel.
    pub fn received(&self) -> [Seq; 2] {
        self.upto()
    }

    pub fn acks(&mut self) -> &mut Acks {
        &mut self.acks
    }

    /// An acknowledgement by itself.
    pub fn acknowledge(&mut self) -> [Seq; 2] {
        self.acks.sent();
        self.upto()
    }

    pub fn state(&self) -> State {
        let [ordered, bulk] = &self.rx;
        [ordered.arrived(), bulk.arrived()]
    }

    /// Numbers of the last messages, by channel: a flush that begins now waits for them.
    pub fn flush_point(&self) -> [Seq; 2] {
        let [ordered, bulk] = &self.tx;
        [ordered.last(), bulk.last()]
    }

    pub fn is_flushed(&self, point: [Seq; 2]) -> bool {
        self.tx
            .iter()
            .zip(point)
            .all(|(tx, upto)| tx.is_acked(upto))
    }

    pub fn is_quiet(&self) -> bool {
        self.tx.iter().all(Sender::is_empty)
    }

    /// Whether anything that is not acknowledged went by this lane.
    pub fn uses(&self, lane: LaneId) -> bool {
        self.tx.iter().any(|tx| tx.uses(lane))
    }

    pub fn items_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.tx.iter_mut().flat_map(Sender::items_mut)
    }

    /// A lane of ours is dead. [`Link::downs`] and [`Link::stops`] are to be said, all of them:
    /// some may have been lost with it.
    pub fn lane_down(&mut self, lane: u8) {
        if let Some(id) = self.lanes.down(lane) {
            self.counts.deaths += 1;
            self.tx.iter_mut().for_each(|tx| tx.lane_down(id));
        }
    }

    /// What the peer has not answered.
    pub fn downs(&self) -> SmallVec<[LaneDown; 2]> {
        let down = |lane| LaneDown {
            lane,
            state: self.state(),
        };
        self.lanes.unanswered().map(down).collect()
    }

    /// What the peer was answered.
    pub fn stops(&self) -> SmallVec<[LaneStopped; 2]> {
        let stop = |lane| LaneStopped {
            lane,
            state: self.state(),
        };
        self.lanes.stopped().map(stop).collect()
    }

    fn arrived(&mut self, state: &State, mut done: impl FnMut(T)) {
        for (tx, arrived) in self.tx.iter_mut().zip(state) {
            tx.arrived(arrived, &mut done);
        }
    }

    /// The peer doesn't use a lane of its own any more; the answer.
    pub fn on_lane_down(&mut self, down: &LaneDown, done: impl FnMut(T)) -> LaneStopped {
        self.lanes.stop(down.lane);
        self.rx.iter_mut().for_each(|rx| rx.lane_down(down.lane));
        self.arrived(&down.state, done);
        LaneStopped {
            lane: down.lane,
            state: self.state(),
        }
    }

    /// The peer has answered: what has not arrived is to be sent again. An answer about an earlier life
    /// than the last counts for what was on that, too.
    pub fn on_lane_stopped(&mut self, stopped: &LaneStopped, done: impl FnMut(T)) {
        self.arrived(&stopped.state, done);
        self.lanes.settled(stopped.lane);
        self.tx
            .iter_mut()
            .for_each(|tx| tx.lane_stopped(stopped.lane));
    }

    /// Gives up what is not acknowledged.
    pub fn abandon(&mut self, mut done: impl FnMut(T)) {
        self.tx.iter_mut().for_each(|tx| tx.abandon(&mut done));
    }
}
