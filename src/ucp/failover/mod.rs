//! Endpoints that survive the loss of a lane: every message is numbered, kept until the peer has
//! acknowledged it, and sent again by another lane if its own dies.
//!
//! [`Reliable`] looks like a lane to the protocols above, and has all lanes to the peer below. The
//! logic is [`crate::ucp::replay`]'s; here are the bytes, the lanes, and the clock.
//!
//! | file | what |
//! |---|---|
//! | `lane` | what protocols call |
//! | `kept` | messages that are kept |
//! | `rails` | the lanes: opened, proven, lost |
//! | `look` | lanes that are found dead, or tried again |
//! | `hear` | what comes in |
//! | `serve` | what is done in the course of progress |
//! | `gone` | links that have failed, and peers that don't know it |
//! | `turns` | when acknowledgements can wait for an answer |
//! | `worker` | the worker's part |
#![forbid(unsafe_code)]

mod config;
mod gone;
mod hear;
mod kept;
mod lane;
mod look;
mod rails;
mod serve;
#[cfg(test)]
mod tests;
mod turns;
mod worker;

use core::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};
use std::time::{Duration, Instant};

use smallvec::SmallVec;

pub use config::FAILOVER;
pub use kept::Overhead;
pub use rails::Way;
pub use worker::Links;

use crate::ucp::replay::{Channel, Limits, Link, MAX_LANES, Pair, Seq};
use crate::ucp::wire::Origin;
use crate::ucp::wire::am;
use crate::ucp::wire::numbered::{Between, Say};
use crate::ucp::worker::Worker;
use crate::ucs::config::Config;
use crate::ucs::status::{Error, Result};
use crate::uct::Which;
use kept::{Held, Kept, Pool};
use rails::Rail;
use turns::Turns;

/// Pieces of large transfers that may be unacknowledged. They are not copied, but for the fragments
/// of eager messages, none of which is long.
const BULK: Limits = Limits {
    messages: 64,
    bytes: usize::MAX,
};

/// Links are numbered from 1.
const NO_LINK: u64 = 0;

/// The variables that matter here.
#[derive(Clone, Copy, Debug)]
struct Settings {
    /// A lane whose bytes are not acknowledged for this long is dead, if there is another.
    detect: Duration,
    /// The same for the last lane.
    detect_last: Duration,
    /// Dead lanes are tried again after this.
    recovery: Duration,
    /// Every lane is tried after this.
    probe: Duration,
    /// Lanes that share large transfers.
    rails: usize,
    /// Lanes that share the fragments of eager messages.
    eager_rails: usize,
    /// Bytes of messages that wait for their acknowledgement.
    buffer: usize,
}

impl Settings {
    /// The channel of a message: what says itself where it belongs may overtake others.
    fn channel(&self, id: u8) -> Channel {
        match id {
            am::RNDV_DATA | am::RNDV_PUT => Channel::Bulk,
            am::EAGER_MIDDLE | am::AM_MIDDLE if self.eager_rails > 1 => Channel::Bulk,
            _ => Channel::Ordered,
        }
    }

    /// Most lanes that share messages of this kind.
    fn rails_of(&self, id: u8) -> usize {
        match id {
            am::EAGER_MIDDLE | am::AM_MIDDLE => self.eager_rails,
            _ => self.rails,
        }
    }

    fn read(config: &Config) -> Settings {
        let time = |name: &str| {
            let seconds = config.time(name);
            Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
        };
        let detect = time("FAILOVER_DETECT_TIME").max(Duration::from_millis(100));
        let keepalive = time("KEEPALIVE_INTERVAL");
        Settings {
            detect,
            detect_last: keepalive.saturating_mul(3).max(detect),
            recovery: time("FAILOVER_RECOVERY_INTERVAL").max(Duration::from_millis(10)),
            probe: match keepalive.is_zero() {
                true => Duration::MAX,
                // Who asks comes once in an interval, about.
                false => keepalive / 2,
            },
            rails: (config.uint("MAX_RNDV_RAILS") as usize).max(1),
            eager_rails: (config.uint("MAX_EAGER_RAILS") as usize).max(1),
            buffer: config.size("FAILOVER_BUFFER").max(64 << 10),
        }
    }
}

/// A flush that waits until all up to `point` is acknowledged.
#[derive(Clone, Copy)]
struct Waiting {
    point: [Seq; 2],
    token: u64,
}

/// Without any lane.
#[derive(Clone, Copy)]
struct Forlorn {
    /// What the last one ended with.
    error: Error,
    /// For how long others have been tried in vain.
    tried: Duration,
    /// The last look at them.
    looked: Option<Instant>,
}

/// All lanes of one endpoint, as one that can't be lost while any of them is left.
pub struct Reliable {
    this: Weak<Reliable>,
    worker: Weak<Worker>,
    /// Names it in the tokens of its lanes, and to the peer.
    token: u64,
    origin: Origin,
    peer: Origin,
    /// Which link of the peer's goes with this one.
    pair: RefCell<Pair>,
    /// The last lives of the peer's lanes that it was heard by: it is told again when that may be lost.
    heard: Cell<[u16; MAX_LANES]>,
    told_stale: Cell<Option<Instant>>,
    /// The endpoint; 0 when that is closed.
    ep_token: Cell<u64>,
    /// In the order of preference; the index is the number of the lane.
    rails: Box<[Rail]>,
    /// The lane for messages that keep their order.
    first: Cell<Option<u8>>,
    link: RefCell<Link<Kept, Held>>,
    pool: Pool,
    flushes: RefCell<SmallVec<[Waiting; 2]>>,
    /// What no lane had room for.
    unsaid: RefCell<VecDeque<Say>>,
    turns: Turns,
    /// Something may be on its way by a lane that is dead.
    wary: Cell<bool>,
    /// In the worker's list of those to be served.
    listed: Cell<bool>,
    /// In its list of those to be looked at now and then.
    watched: Cell<bool>,
    /// A lane has had no room yet for what is said on it first.
    greeting: Cell<bool>,
    /// The peer has closed its end.
    peer_closed: Cell<bool>,
    /// Ours has said that it is.
    said_closed: Cell<bool>,
    lost: Cell<bool>,
    /// There is no lane, and others are tried for a while.
    forlorn: Cell<Option<Forlorn>>,
    /// Lanes in a row that were in use, and died before the peer had acknowledged any message.
    fruitless: Cell<u32>,
    /// A lane failed as it was given something, which is still with who sends it.
    denied: Cell<bool>,
    /// Nothing has moved on the only lane for as long as it takes to give up one of several.
    lonely: Cell<bool>,
    last_probe: Cell<Instant>,
    settings: Settings,
}

impl Reliable {
    /// Opens `ways`, best first, to the peer's endpoint `peer`.
    ///
    /// # Errors
    /// That of the last way if none could be opened; `ExceedsLimit` when numbers are used up.
    pub fn open(
        worker: &Worker,
        origin: Origin,
        peer: Origin,
        ep_token: u64,
        ways: Vec<Way>,
    ) -> Result<Rc<Reliable>> {
        let settings = Settings::read(&worker.context().config);
        let ordered = Limits {
            messages: 1024,
            bytes: settings.buffer,
        };
        let token = worker.links.next_token();
        u32::try_from(token).map_err(|_| Error::ExceedsLimit)?;
        let pair = worker.links.pair(token, peer);
        let reliable = Rc::new_cyclic(|this| Reliable {
            this: this.clone(),
            worker: worker.this.clone(),
            token,
            origin,
            peer,
            pair: RefCell::new(pair),
            heard: Cell::default(),
            told_stale: Cell::new(None),
            ep_token: Cell::new(ep_token),
            rails: ways.into_iter().map(Rail::new).collect(),
            first: Cell::new(None),
            link: RefCell::new(Link::new([ordered, BULK])),
            pool: Pool::default(),
            flushes: RefCell::default(),
            unsaid: RefCell::default(),
            turns: Turns::default(),
            wary: Cell::new(true),
            listed: Cell::new(false),
            watched: Cell::new(false),
            greeting: Cell::new(false),
            peer_closed: Cell::new(false),
            said_closed: Cell::new(false),
            lost: Cell::new(false),
            forlorn: Cell::new(None),
            fruitless: Cell::new(0),
            denied: Cell::new(false),
            lonely: Cell::new(false),
            last_probe: Cell::new(Instant::now()),
            settings,
        });
        reliable.open_all(worker)?;
        worker.links.insert(reliable.clone());
        reliable.list();
        Ok(reliable)
    }

    /// What messages are labelled with.
    #[inline]
    fn between(&self) -> Between {
        Between {
            from: self.token as u32,
            to: self.pair.borrow().theirs() as u32,
        }
    }

    /// The peer's side of the connection.
    pub fn peer(&self) -> Origin {
        self.peer
    }

    /// The endpoint that uses it now; the last one has been closed.
    pub fn adopt(&self, ep_token: u64) {
        self.said_closed.set(false);
        self.ep_token.set(ep_token);
    }

    /// The endpoint is gone. What the peer still sends is heard, until it closes its end too.
    pub fn orphan(&self, ep_token: u64) {
        if self.ep_token.get() == ep_token {
            self.ep_token.set(0);
            self.list();
        }
    }

    /// The peer has closed its end.
    pub fn peer_has_closed(&self) {
        self.peer_closed.set(true);
        self.list();
    }

    /// Our end says that it is closed, or has failed.
    pub fn say_closed(&self) {
        self.said_closed.set(true);
    }

    /// Whether the peer has to hear yet that our end is closed, before it does without the link.
    pub fn owes_word(&self) -> bool {
        !self.said_closed.get()
    }

    /// One end relies on the other again, which is made if it is closed: both will say once more when
    /// they are.
    pub fn reopen(&self) {
        self.said_closed.set(false);
        self.peer_closed.set(false);
    }

    /// Both ends are closed; what is left is to hear that the peer has heard everything.
    fn is_over(&self) -> bool {
        self.ep_token.get() == 0 && self.peer_closed.get()
    }

    /// All ways to the peer are lost, or not needed any more.
    fn lose(&self, error: Error) {
        if self.lost.replace(true) {
            return;
        }
        self.first.set(None);
        self.unsaid.borrow_mut().clear();
        self.flushes.borrow_mut().clear();
        self.drop_lanes();
        self.link.borrow_mut().abandon(drop);
        let Some(worker) = self.worker.upgrade() else {
            return;
        };
        worker.links.remove(self);
        // A good end, agreed on by both sides, needs no word.
        let agreed = error == Error::Canceled || self.is_over();
        if agreed {
            self.remember_end(&worker);
        } else {
            self.remember(&worker);
        }
        if let Some(ep) = worker.endpoint_by_token(self.ep_token.get()) {
            ep.fail(error);
        } else if !agreed {
            // What has begun to come in has a user all the same.
            worker.end_parts_from(self.peer, error);
        }
    }

    /// Before the messages that are kept: lanes may have bytes of theirs in place.
    fn drop_lanes(&self) {
        for lane in self.rails.iter().filter_map(|rail| rail.lane.take()) {
            lane.let_go(Which::All);
        }
    }
}

impl Drop for Reliable {
    fn drop(&mut self) {
        self.drop_lanes();
        let counts = self.link.get_mut().counts;
        if let Some(worker) = self.worker.upgrade() {
            worker.tally.add(counts);
        }
        if counts.deaths != 0 || counts.duplicates != 0 {
            crate::ucs_info!(
                "failover to worker {:x}: {} lanes lost, {} messages sent again, {} duplicates dropped",
                self.peer.worker,
                counts.deaths,
                counts.replays,
                counts.duplicates
            );
        }
    }
}
