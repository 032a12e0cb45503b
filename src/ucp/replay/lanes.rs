//! Lives and deaths of lanes, ours and the peer's.

use super::{LaneId, MAX_LANES};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Life {
    /// Never there, or dead and settled.
    #[default]
    Gone,
    /// Opened; whether it leads anywhere is not known yet.
    Trying,
    Live,
    /// Dead; the peer has not answered yet.
    Down,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    ours: [(u16, Life); MAX_LANES],
    /// The last epoch before the present one that the peer has not answered about. An answer about it is
    /// one about all before it, which don't count for the peer any more either.
    owed: [u16; MAX_LANES],
    /// The last epoch of the peer's lanes that doesn't count any more.
    stopped: [u16; MAX_LANES],
}

impl Lanes {
    fn at(&self, lane: u8) -> (u16, Life) {
        self.ours
            .get(usize::from(lane))
            .copied()
            .unwrap_or_default()
    }

    fn set(&mut self, lane: u8, epoch: u16, life: Life) {
        if let Some(place) = self.ours.get_mut(usize::from(lane)) {
            *place = (epoch, life);
        }
    }

    /// Begins a life of a lane. `None` while the last one is not settled, or the epochs are used up.
    pub fn open(&mut self, lane: u8) -> Option<LaneId> {
        let (epoch, life) = self.at(lane);
        if life != Life::Gone || usize::from(lane) >= MAX_LANES {
            return None;
        }
        let epoch = epoch.checked_add(1)?;
        self.set(lane, epoch, Life::Trying);
        Some(LaneId { lane, epoch })
    }

    /// Begins a life although the peer has not answered about the last one, or those before: there may
    /// be no other lane by which it could.
    pub fn reopen(&mut self, lane: u8) -> Option<LaneId> {
        let (epoch, life) = self.at(lane);
        if life != Life::Down {
            return None;
        }
        let next = epoch.checked_add(1)?;
        *self.owed.get_mut(usize::from(lane))? = epoch;
        self.set(lane, next, Life::Trying);
        Some(LaneId { lane, epoch: next })
    }

    /// The peer has heard us by this lane.
    pub fn proven(&mut self, id: LaneId) -> bool {
        let found = self.at(id.lane) == (id.epoch, Life::Trying);
        if found {
            self.set(id.lane, id.epoch, Life::Live);
        }
        found
    }

    /// The life of a lane that messages may go by.
    #[inline]
    pub fn live(&self, lane: u8) -> Option<LaneId> {
        match self.at(lane) {
            (epoch, Life::Live) => Some(LaneId { lane, epoch }),
            _ => None,
        }
    }

    /// The life of a lane that is open.
    pub fn open_id(&self, lane: u8) -> Option<LaneId> {
        match self.at(lane) {
            (epoch, Life::Live | Life::Trying) => Some(LaneId { lane, epoch }),
            _ => None,
        }
    }

    pub fn is_gone(&self, lane: u8) -> bool {
        self.at(lane).1 == Life::Gone
    }

    pub fn all_live(&self) -> impl Iterator<Item = LaneId> + '_ {
        (0..MAX_LANES as u8).filter_map(|lane| self.live(lane))
    }

    /// The lane is dead. `Some` if messages may have gone by it: the peer must be told.
    pub fn down(&mut self, lane: u8) -> Option<LaneId> {
        let (epoch, life) = self.at(lane);
        match life {
            Life::Live => {
                self.set(lane, epoch, Life::Down);
                Some(LaneId { lane, epoch })
            }
            Life::Trying => {
                self.set(lane, epoch, Life::Gone);
                None
            }
            Life::Gone | Life::Down => None,
        }
    }

    /// The last life of a lane that the peer has not answered about; 0: none.
    fn awaited(&self, lane: u8) -> u16 {
        match self.at(lane) {
            (epoch, Life::Down) => epoch,
            _ => {
                let owed = self.owed.get(usize::from(lane));
                owed.copied().unwrap_or_default()
            }
        }
    }

    /// Dead lanes that the peer has not answered about: the last life of each, which stands for those
    /// before it.
    pub fn unanswered(&self) -> impl Iterator<Item = LaneId> + '_ {
        (0..MAX_LANES as u8).filter_map(|lane| {
            let epoch = self.awaited(lane);
            (epoch != 0).then_some(LaneId { lane, epoch })
        })
    }

    /// The peer has answered about this life of a lane, and so about all before it. One that is late
    /// settles nothing of the lives since. False if none was waited for that ended with this life.
    pub fn settled(&mut self, id: LaneId) -> bool {
        let last = self.at(id.lane) == (id.epoch, Life::Down);
        if last {
            self.set(id.lane, id.epoch, Life::Gone);
        }
        let Some(owed) = self.owed.get_mut(usize::from(id.lane)) else {
            return false;
        };
        let earlier = *owed != 0 && (last || *owed == id.epoch);
        if earlier {
            *owed = 0;
        }
        last || earlier
    }

    /// Nothing of this life of a peer's lane counts any more.
    pub fn stop(&mut self, id: LaneId) {
        if let Some(stopped) = self.stopped.get_mut(usize::from(id.lane)) {
            *stopped = id.epoch.max(*stopped);
        }
    }

    /// Whether what comes by this lane of the peer's counts.
    #[inline]
    pub fn counts(&self, id: LaneId) -> bool {
        let stopped = self.stopped.get(usize::from(id.lane));
        stopped.is_some_and(|stopped| id.epoch > *stopped)
    }

    /// The peer's lanes that don't count any more: what was answered.
    pub fn stopped(&self) -> impl Iterator<Item = LaneId> + '_ {
        let all = self.stopped.iter().enumerate();
        all.filter(|(_, epoch)| **epoch != 0)
            .map(|(lane, epoch)| LaneId {
                lane: lane as u8,
                epoch: *epoch,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(lanes: &mut Lanes, lane: u8) -> LaneId {
        let id = lanes.open(lane).unwrap();
        assert!(lanes.proven(id));
        id
    }

    #[test]
    fn a_lane_lives_again_only_when_its_death_is_settled() {
        let mut lanes = Lanes::default();
        let first = live(&mut lanes, 3);
        assert_eq!((first.epoch, lanes.open(3)), (1, None));
        assert_eq!(lanes.down(3), Some(first));
        assert_eq!((lanes.down(3), lanes.live(3)), (None, None));
        assert_eq!(lanes.open(3), None);
        assert_eq!(lanes.unanswered().collect::<Vec<_>>(), [first]);
        assert!(lanes.settled(first) && !lanes.settled(first));
        let second = lanes.open(3).unwrap();
        assert_eq!((second.epoch, lanes.live(3)), (2, None));
        assert!(!lanes.proven(first) && lanes.proven(second));
        assert_eq!(lanes.live(3), Some(second));
        assert_eq!(lanes.open(16), None);
    }

    #[test]
    fn a_lane_may_live_again_however_many_of_its_deaths_are_not_settled() {
        let mut lanes = Lanes::default();
        assert_eq!(lanes.reopen(2), None);
        let first = live(&mut lanes, 2);
        lanes.down(2);
        let second = lanes.reopen(2).unwrap();
        assert_eq!((second.epoch, lanes.reopen(2)), (2, None));
        assert_eq!(lanes.unanswered().collect::<Vec<_>>(), [first]);
        assert!(lanes.proven(second));
        lanes.down(2);
        assert_eq!(lanes.unanswered().collect::<Vec<_>>(), [second]);
        let third = lanes.reopen(2).unwrap();
        assert!(!lanes.settled(first), "late: it says nothing of the second");
        assert_eq!(lanes.unanswered().collect::<Vec<_>>(), [second]);
        assert!(lanes.proven(third) && lanes.down(2) == Some(third));
        assert!(!lanes.settled(first) && lanes.settled(second) && !lanes.settled(second));
        assert_eq!(lanes.unanswered().collect::<Vec<_>>(), [third]);
        assert!(!lanes.is_gone(2) && lanes.settled(third) && lanes.is_gone(2));
        assert_eq!(lanes.unanswered().count(), 0);
    }

    #[test]
    fn an_answer_settles_all_lives_before() {
        let mut lanes = Lanes::default();
        live(&mut lanes, 2);
        lanes.down(2);
        let second = lanes.reopen(2).unwrap();
        lanes.proven(second);
        lanes.down(2);
        assert!(lanes.settled(second));
        assert_eq!(lanes.unanswered().count(), 0);
        // One that was only tried changes nothing about what is owed.
        let third = live(&mut lanes, 2);
        lanes.down(2);
        lanes.reopen(2);
        lanes.down(2);
        assert!(lanes.is_gone(2));
        let fifth = live(&mut lanes, 2);
        assert_eq!(lanes.unanswered().collect::<Vec<_>>(), [third]);
        assert!(!lanes.settled(fifth), "it is alive");
        assert!(lanes.settled(third) && lanes.live(2) == Some(fifth));
    }

    #[test]
    fn a_stopped_life_does_not_count_but_the_next_does() {
        let mut lanes = Lanes::default();
        let id = |epoch| LaneId { lane: 1, epoch };
        assert!(lanes.counts(id(1)) && !lanes.counts(id(0)));
        lanes.stop(id(2));
        lanes.stop(id(1));
        assert!(!lanes.counts(id(1)) && !lanes.counts(id(2)) && lanes.counts(id(3)));
        assert!(!lanes.counts(LaneId {
            lane: 200,
            epoch: 9
        }));
    }
}
