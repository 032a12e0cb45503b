//! The lanes below: opened, proven, lost.

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

/// So many lanes may come up and die again before one message is acknowledged. What they die of is
/// sent again by each, and would be for ever.
const MOST_FRUITLESS: u32 = 64;

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
    pub(super) stall: Cell<Stall>,
    /// When it was opened, or lost.
    pub(super) since: Cell<Option<Instant>>,
    /// Times in a row that it was lost without having been proven.
    pub(super) failures: Cell<u32>,
    /// Times in a row that it was proven, and carried nothing much before it stalled: a way that
    /// swallows long packets looks alive again and again.
    pub(super) useless: Cell<u32>,
    /// It was lost, and isn't in use again yet.
    was_lost: Cell<bool>,
    /// The lane has had no room yet for what is said on it first.
    greets: Cell<Option<LaneId>>,
    /// The lane was found dead, and its end is yet to be heard of.
    pub(super) cut: Cell<bool>,
    /// The peer has been heard by a new lane since this one was lost: the way may be there again.
    pub(super) inviting: Cell<bool>,
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
            inviting: Cell::new(false),
        }
    }

    pub(super) fn cut(&self, lane: &dyn Ep) {
        self.cut.set(true);
        lane.cut(Error::EndpointTimeout);
    }

    pub fn lane(&self) -> Option<Rc<dyn Ep>> {
        self.lane.borrow().clone()
    }

    /// Gives a message to the lane. False if that has no room.
    ///
    /// # Errors
    /// The lane's, which is failing: [`Reliable::lane_failed`] hears of it soon.
    #[inline]
    pub fn post(&self, kept: &Kept) -> Result<bool> {
        match &*self.lane.borrow() {
            Some(lane) => {
                let post = kept.send(&**lane, self.in_place.get())?;
                Ok(matches!(post, Post::Done | Post::Pending))
            }
            None => Ok(false),
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
    pub(super) fn open_lane(&self, worker: &Worker, index: u8) -> Result<()> {
        let rail = self.rails.get(usize::from(index)).ok_or(Error::NoDevice)?;
        rail.since.set(Some(Instant::now()));
        rail.stall.set(Stall::default());
        rail.cut.set(false);
        let way = &rail.way;
        let open = worker.ifaces().get(usize::from(way.local));
        let iface = &open.ok_or(Error::NoDevice)?.iface;
        let id = self.begin_life(rail, index).ok_or(Error::Busy)?;
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
        let awaited = self.link.borrow().lanes.unanswered().next().is_some();
        if awaited || self.is_lost_for_now() {
            // What was said before went by lanes that may be dead.
            self.say_again();
        }
        Ok(())
    }

    /// Also one whose last life the peer has not answered about, where the answer may have no way to
    /// come by.
    fn begin_life(&self, rail: &Rail, index: u8) -> Option<LaneId> {
        let early = self.is_lost_for_now() || rail.inviting.take();
        let lanes = &mut self.link.borrow_mut().lanes;
        let fresh = lanes.open(index);
        match early {
            true => fresh.or_else(|| lanes.reopen(index)),
            false => fresh,
        }
    }

    /// No lane is known to lead anywhere.
    pub(super) fn is_lost_for_now(&self) -> bool {
        self.forlorn.get().is_some() || self.lonely.get()
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
                if self.denied.take() || !link.is_quiet() {
                    self.fruitless.set(self.fruitless.get() + 1);
                }
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
        if self.fruitless.get() > MOST_FRUITLESS {
            crate::ucs_diag!(
                "the last {MOST_FRUITLESS} lanes to worker {:x} died of what they were given: it is given up",
                self.peer.worker
            );
            return self.lose(error);
        }
        // Lanes that have been tried all the time while the last one was waited for give less hope.
        let hopeless = self.lonely.replace(false) && self.first.get().is_none();
        if hope && !hopeless {
            return self.say_again();
        }
        // The peer sends no more, and has all of ours: that is no loss.
        if self.peer_closed.get() && self.link.borrow().is_quiet() {
            return self.lose(error);
        }
        if self.forlorn.get().is_none() {
            self.forlorn.set(Some(Forlorn {
                error,
                tried: Duration::ZERO,
                looked: None,
            }));
            self.list();
        }
        if hope {
            self.say_again();
        }
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
            rail.inviting.set(false);
            if rail.was_lost.take() {
                self.count(|tally| &tally.again);
            }
        }
        let had_none = self.first.get().is_none() || self.lonely.get();
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
}
