//! Whether lanes still lead anywhere: those that don't are given up, and opened again.

use std::time::{Duration, Instant};

use super::rails::Rail;
use super::{Forlorn, Reliable};
use crate::ucp::wire::numbered::Say;
use crate::ucp::worker::Worker;
use crate::uct::Ep;

/// A lane that has not answered for this long since it was opened is given up.
const TRY_TIME: Duration = Duration::from_secs(5);
/// So many looks at least find no lane before there is said to be none.
const LEAST_LOOKS: u32 = 4;
/// Bytes that a lane has carried that is of use.
const MUCH: u64 = 64 << 10;
/// Lanes that fail sooner than this after they were opened are opened again later and later.
const LONGEST_PAUSE: u32 = 32;

impl Forlorn {
    /// Time that this process was elsewhere is none that lanes were tried in: no look counts for much of
    /// the time that it takes to `detect` a lane's death.
    fn wait(&mut self, now: Instant, detect: Duration) {
        if let Some(looked) = self.looked {
            self.tried += (now - looked).min(detect / LEAST_LOOKS);
        }
    }
}

impl Reliable {
    /// Looks whether lanes still lead anywhere, and opens those that are gone.
    pub(super) fn look_at_lanes(&self, worker: &Worker, now: Instant) {
        let under_way = !self.link.borrow().is_quiet();
        let wary = self.wary.replace(false) || under_way;
        self.try_all(worker, now);
        if self.lost.get() {
            return;
        }
        self.lonely.set(false);
        for (rail, index) in self.rails.iter().zip(0u8..) {
            // One that nothing is on its way by has nothing to tell.
            if let Some(lane) = rail.lane()
                && (wary || self.link.borrow().lanes.live(index).is_none())
            {
                self.look_at(index, rail, &*lane, now);
            }
        }
        for (rail, index) in self.rails.iter().zip(0u8..) {
            if rail.lane().is_none() {
                self.try_again(worker, index, rail, now);
            }
        }
    }

    fn look_at(&self, index: u8, rail: &Rail, lane: &dyn Ep, now: Instant) {
        let (live, others) = {
            let lanes = &self.link.borrow().lanes;
            let others = lanes
                .all_live()
                .filter_map(|id| self.rails.get(usize::from(id.lane)))
                .any(|other| !core::ptr::eq(other, rail) && !other.cut.get());
            (lanes.live(index).is_some(), others)
        };
        let opened = rail.since.get().unwrap_or(now);
        // Without any other, one that has not answered is what there is: the peer may be busy.
        if !live && others {
            if now - opened > TRY_TIME.max(self.settings.detect) {
                rail.cut(lane);
            }
            return;
        }
        let Some(vitals) = lane.vitals() else { return };
        if !vitals.up || vitals.unacked {
            self.wary.set(true);
        }
        let mut stall = rail.stall.get();
        let stuck = stall.look(vitals, now);
        rail.stall.set(stall);
        let bound = match (others, vitals.up) {
            (true, _) => self.settings.detect,
            (false, true) => self.settings.detect_last,
            // The transport knows how long connecting may take.
            (false, false) => return,
        };
        if !others && stuck >= self.settings.detect {
            self.lonely.set(true);
        }
        if stuck >= bound {
            let useless = rail.useless.get().saturating_add(1);
            rail.useless.set(match vitals.acked < MUCH {
                true => useless,
                false => 0,
            });
            rail.cut(lane);
        }
    }

    fn try_again(&self, worker: &Worker, index: u8, rail: &Rail, now: Instant) {
        let settled = self.link.borrow().lanes.is_gone(index);
        // An answer about its death may have no way to come by: the last lane seems to be dead too, or
        // the peer thinks so.
        let invited = !settled && rail.inviting.get();
        if self.ep_token.get() == 0 || !(settled || invited || self.lonely.get()) {
            return;
        }
        let pause = rail.failures.get().clamp(1, LONGEST_PAUSE);
        let due = rail
            .since
            .get()
            .and_then(|since| since.checked_add(self.settings.recovery.saturating_mul(pause)));
        if (invited || due.is_some_and(|due| due <= now))
            && let Err(error) = self.open_lane(worker, index)
        {
            rail.failures.set(rail.failures.get() + 1);
            crate::ucs_debug!("lane {index} can't be opened again yet: {error}");
        }
    }

    /// Without any lane: tries all, for as long as it takes to find out that one is dead. A lane that
    /// was thought to be alive may have been long dead at the other end, and its link be fine.
    fn try_all(&self, worker: &Worker, now: Instant) {
        const PAUSE: Duration = Duration::from_millis(40);
        let Some(mut forlorn) = self.forlorn.get() else {
            return;
        };
        if self.link.borrow().lanes.all_live().next().is_some() {
            return self.forlorn.set(None);
        }
        if !self.reaches_host() {
            forlorn.wait(now, self.settings.detect);
        }
        forlorn.looked = Some(now);
        if forlorn.tried >= self.settings.detect {
            return self.lose(forlorn.error);
        }
        for (rail, index) in self.rails.iter().zip(0u8..) {
            let rested = rail.since.get().is_none_or(|since| now - since > PAUSE);
            if rail.lane().is_none() && rested {
                // Its link may be down; there is time to try again.
                let _ = self.open_lane(worker, index);
            }
        }
        self.forlorn.set(Some(forlorn));
    }

    /// Whether the peer's host has answered by a lane that the peer is yet to be heard by: that is busy,
    /// or stopped, and not dead.
    fn reaches_host(&self) -> bool {
        let mut lanes = self.rails.iter().filter_map(Rail::lane);
        lanes.any(|lane| lane.vitals().is_some_and(|vitals| vitals.reached))
    }

    /// The peer is heard by a new lane: its way, or all, may be there again. Those that are missing are
    /// tried at once where their death is not settled, since the peer may have no other lane.
    pub(super) fn invite(&self) {
        let missing = self.rails.iter().filter(|rail| rail.lane().is_none());
        missing.for_each(|rail| rail.inviting.set(true));
    }

    /// Says something by every lane, if it is time: what is not acknowledged tells of its death.
    pub(super) fn probe(&self, now: Instant) {
        if now - self.last_probe.get() < self.settings.probe {
            return;
        }
        self.last_probe.set(now);
        let acks = self.link.borrow().received();
        self.say_everywhere(&Say::Acks { acks, want: false });
    }

    /// Whether a lane is missing.
    pub(super) fn is_maimed(&self) -> bool {
        let link = self.link.borrow();
        (0..self.rails.len() as u8).any(|lane| link.lanes.live(lane).is_none())
    }
}
