//! The lanes below: opened, lost, found dead, opened again.

use core::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use smallvec::SmallVec;

use super::kept::{Held, Kept};
use super::{Forlorn, Reliable};
use crate::ucp::replay::{LaneId, Link};
use crate::ucp::wire::numbered::Say;
use crate::ucp::wire::{am, wireup};
use crate::ucp::worker::Worker;
use crate::ucp::worker::tally::{Tally, up};
use crate::ucs::status::{Error, Result};
use crate::uct::{Ep, EpParams, IfaceCaps, Post, Stall};

/// A lane that has not answered for this long since it was opened is given up.
const TRY_TIME: Duration = Duration::from_secs(5);
/// Bytes that a lane has carried that is of use.
const MUCH: u64 = 64 << 10;
/// Lanes that fail sooner than this after they were opened are opened again later and later.
const LONGEST_PAUSE: u32 = 32;

/// From an interface of ours to one of the peer's.
#[derive(Clone, Debug)]
pub struct Way {
    /// Index of the worker's interface.
    pub local: u8,
    pub device_addr: Box<[u8]>,
    pub iface_addr: Box<[u8]>,
    /// Bytes per second.
    pub bandwidth: f64,
}

/// A way, and the lane on it while there is one.
pub struct Rail {
    pub way: Way,
    pub lane: RefCell<Option<Rc<dyn Ep>>>,
    /// It can send from where the bytes are.
    in_place: Cell<bool>,
    /// Time that what was given to it takes, in seconds.
    load: Cell<f64>,
    stall: Cell<Stall>,
    /// When it was opened, or lost.
    since: Cell<Option<Instant>>,
    /// Times in a row that it was lost without having been proven.
    failures: Cell<u32>,
    /// Times in a row that it was proven, and carried nothing much before it stalled: a way that
    /// swallows long packets looks alive again and again.
    useless: Cell<u32>,
    /// It was lost, and isn't in use again yet.
    was_lost: Cell<bool>,
    /// The lane has had no room yet for what is said on it first.
    greets: Cell<Option<LaneId>>,
    /// The lane was found dead, and its end is yet to be heard of.
    cut: Cell<bool>,
}

impl Rail {
    pub fn new(way: Way) -> Rail {
        Rail {
            way,
            lane: RefCell::default(),
            in_place: Cell::new(false),
            load: Cell::new(0.0),
            stall: Cell::default(),
            since: Cell::new(None),
            failures: Cell::new(0),
            useless: Cell::new(0),
            was_lost: Cell::new(false),
            greets: Cell::new(None),
            cut: Cell::new(false),
        }
    }

    fn cut(&self, lane: &dyn Ep) {
        self.cut.set(true);
        lane.cut(Error::EndpointTimeout);
    }

    pub fn lane(&self) -> Option<Rc<dyn Ep>> {
        self.lane.borrow().clone()
    }

    /// Gives a message to the lane. False if that has no room, or is failing: then
    /// [`Reliable::lane_failed`] hears of it soon.
    #[inline]
    pub fn post(&self, kept: &Kept) -> bool {
        match &*self.lane.borrow() {
            Some(lane) => matches!(
                kept.send(&**lane, self.in_place.get()),
                Ok(Post::Done | Post::Pending)
            ),
            None => false,
        }
    }

    /// `bytes` were given to it.
    pub fn count(&self, bytes: usize) {
        let seconds = bytes as f64 / self.way.bandwidth.max(1.0);
        self.load.set(self.load.get() + seconds);
    }
}

impl Reliable {
    fn count(&self, which: impl Fn(&Tally) -> &Cell<u64>) {
        if let Some(worker) = self.worker.upgrade() {
            up(which(&worker.tally));
        }
    }

    /// The lanes to be tried for the next message that `most` of them share, best first.
    pub(super) fn order(&self, link: &Link<Kept, Held>, most: usize) -> SmallVec<[u8; 4]> {
        let live = link.lanes.all_live().map(|id| id.lane);
        let mut order: SmallVec<[u8; 4]> = live.take(most).collect();
        let load = |lane: &u8| {
            let rail = self.rails.get(usize::from(*lane));
            rail.map_or(f64::INFINITY, |rail| rail.load.get())
        };
        order.sort_by(|a, b| load(a).total_cmp(&load(b)));
        order
    }

    /// Nothing is under way: lanes start with equal chances again.
    pub(super) fn forget_loads(&self) {
        self.rails.iter().for_each(|rail| rail.load.set(0.0));
    }

    pub(super) fn choose_first(&self) {
        let first = self.link.borrow().lanes.all_live().next();
        self.first.set(first.map(|id| id.lane));
    }

    pub(super) fn open_all(&self, worker: &Worker) -> Result<()> {
        let mut result = Err(Error::Unreachable);
        for index in 0..self.rails.len() as u8 {
            match self.open_lane(worker, index) {
                Ok(()) => result = Ok(()),
                Err(error) if result.is_err() => result = Err(error),
                Err(_) => {}
            }
        }
        self.choose_first();
        result
    }

    /// Begins a life of a lane: the first thing said on it is who we are.
    fn open_lane(&self, worker: &Worker, index: u8) -> Result<()> {
        let rail = self.rails.get(usize::from(index)).ok_or(Error::NoDevice)?;
        rail.since.set(Some(Instant::now()));
        rail.stall.set(Stall::default());
        rail.cut.set(false);
        let way = &rail.way;
        let open = worker.ifaces().get(usize::from(way.local));
        let iface = &open.ok_or(Error::NoDevice)?.iface;
        let id = self.begin_life(index).ok_or(Error::Busy)?;
        let opened = iface.create_ep(&EpParams {
            device_addr: &way.device_addr,
            iface_addr: &way.iface_addr,
            token: super::worker::lane_token(self.token, index),
        });
        rail.greets.set(Some(id));
        let greeted = opened.and_then(|lane| {
            self.greet(worker, rail, &*lane)?;
            Ok(lane)
        });
        let lane = greeted.inspect_err(|_| {
            rail.greets.set(None);
            self.link.borrow_mut().lane_down(index);
        })?;
        lane.watch();
        let caps = iface.attr().caps;
        rail.in_place.set(caps.contains(IfaceCaps::AM_ZCOPY));
        *rail.lane.borrow_mut() = Some(lane);
        worker.activate(way.local);
        Ok(())
    }

    fn begin_life(&self, index: u8) -> Option<LaneId> {
        let lanes = &mut self.link.borrow_mut().lanes;
        let fresh = lanes.open(index);
        match self.forlorn.get().is_some() || self.lonely.get() {
            true => fresh.or_else(|| lanes.reopen(index)),
            false => fresh,
        }
    }

    /// Says who we are, unless that has been said. A lane may have no room for it yet.
    fn greet(&self, worker: &Worker, rail: &Rail, lane: &dyn Ep) -> Result<()> {
        let Some(id) = rail.greets.get() else {
            return Ok(());
        };
        let header = wireup::Wireup {
            kind: wireup::Kind::Lane,
            origin: self.origin,
            to: self.peer.worker,
        };
        let address = worker.address();
        let len = wireup::Wireup::LEN + wireup::Lane::LEN + address.len();
        let said = lane.am_bcopy(am::WIREUP, len, &mut |to| {
            let mut w = crate::ucp::wire::Writer::new(to);
            header.encode(&mut w);
            wireup::Lane {
                id,
                link: self.token,
                to: self.pair.borrow().theirs(),
            }
            .encode(&mut w);
            w.bytes(&address);
            w.len()
        })?;
        match said {
            Post::Done | Post::Pending => rail.greets.set(None),
            Post::NoResource => {
                self.greeting.set(true);
                self.list();
            }
        }
        Ok(())
    }

    /// What lanes had no room for when they were opened.
    pub(super) fn greet_all(&self, worker: &Worker) {
        if !self.greeting.replace(false) {
            return;
        }
        for (rail, index) in self.rails.iter().zip(0u8..) {
            if let Some(lane) = rail.lane()
                && let Err(error) = self.greet(worker, rail, &*lane)
            {
                self.lane_failed(index, error);
            }
        }
    }

    /// A lane is dead. What was on it goes by another when the peer has answered.
    pub(super) fn lane_failed(&self, index: u8, error: Error) {
        let Some(rail) = self.rails.get(usize::from(index)) else {
            return;
        };
        let Some(lane) = rail.lane.take() else { return };
        drop(lane);
        rail.greets.set(None);
        rail.since.set(Some(Instant::now()));
        rail.failures.set(rail.failures.get() + 1);
        let hope = {
            let mut link = self.link.borrow_mut();
            if link.lanes.live(index).is_some() {
                rail.was_lost.set(true);
                self.count(|tally| &tally.lost);
            }
            link.lane_down(index);
            (0..self.rails.len() as u8).any(|lane| link.lanes.open_id(lane).is_some())
        };
        self.choose_first();
        crate::ucs_diag!(
            "lane {index} to worker {:x} is lost: {error}; {}",
            self.peer.worker,
            if hope { "others go on" } else { "none is left" }
        );
        if hope {
            return self.say_again();
        }
        if self.ep_token.get() == 0 || self.peer_closed.get() {
            return self.lose(error);
        }
        if self.forlorn.get().is_none() {
            self.forlorn.set(Some(Forlorn { error, tried: None }));
            self.list();
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
        let enough = |first| now - first > self.settings.detect;
        if forlorn.tried.is_some_and(enough) {
            return self.lose(forlorn.error);
        }
        for (rail, index) in self.rails.iter().zip(0u8..) {
            let rested = rail.since.get().is_none_or(|since| now - since > PAUSE);
            if rail.lane().is_none() && rested {
                forlorn.tried.get_or_insert(now);
                // Its link may be down; there is time to try again.
                let _ = self.open_lane(worker, index);
            }
        }
        self.forlorn.set(Some(forlorn));
    }

    /// Says all that may have been lost with a lane.
    pub(super) fn say_again(&self) {
        let (downs, stops) = {
            let link = self.link.borrow();
            (link.downs(), link.stops())
        };
        self.unsaid.borrow_mut().clear();
        downs.into_iter().for_each(|down| self.say(Say::Down(down)));
        stops
            .into_iter()
            .for_each(|stop| self.say(Say::Stopped(stop)));
        for (lane, epoch) in (0u8..).zip(self.heard.get()) {
            if epoch != 0 {
                self.say(Say::Heard(LaneId { lane, epoch }));
            }
        }
        self.list();
    }

    /// The peer has heard us by a lane that was opened.
    pub(super) fn lane_proven(&self, index: u8) {
        if let Some(rail) = self.rails.get(usize::from(index)) {
            rail.failures.set(rail.useless.get());
            if rail.was_lost.take() {
                self.count(|tally| &tally.again);
            }
        }
        let had_none = self.first.get().is_none();
        self.forlorn.set(None);
        crate::ucs_diag!("lane {index} to worker {:x} is in use", self.peer.worker);
        // Messages that keep their order stay where they are until there are none: a change would only
        // make them wait for each other.
        self.list();
        if had_none {
            self.choose_first();
            self.say_again();
        }
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
        if stuck >= bound {
            let useless = rail.useless.get().saturating_add(1);
            rail.useless.set(match vitals.acked < MUCH {
                true => useless,
                false => 0,
            });
            rail.cut(lane);
        } else if stuck >= self.settings.detect {
            self.lonely.set(true);
        }
    }

    fn try_again(&self, worker: &Worker, index: u8, rail: &Rail, now: Instant) {
        // The last lane seems to be dead too: an answer about this one may have no way to come by.
        let settled = self.link.borrow().lanes.is_gone(index) || self.lonely.get();
        if !settled || self.ep_token.get() == 0 {
            return;
        }
        let pause = rail.failures.get().clamp(1, LONGEST_PAUSE);
        let due = rail
            .since
            .get()
            .and_then(|since| since.checked_add(self.settings.recovery.saturating_mul(pause)));
        if due.is_some_and(|due| due <= now)
            && let Err(error) = self.open_lane(worker, index)
        {
            rail.failures.set(rail.failures.get() + 1);
            crate::ucs_debug!("lane {index} can't be opened again yet: {error}");
        }
    }

    /// Whether a lane is missing.
    pub(super) fn is_maimed(&self) -> bool {
        let link = self.link.borrow();
        (0..self.rails.len() as u8).any(|lane| link.lanes.live(lane).is_none())
    }
}
