//! Links that are here no more.
//!
//! Of those that have failed the peer may not know: its lanes may work again, or never have been lost. It
//! is told when it speaks of one. Of those that have ended as both sides wished something may still come,
//! by a connection that was slower than the others, and must not be taken for the beginning of another;
//! or an end has been made again there, for which ours hasn't waited.

use core::cell::RefCell;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::rails::Way;
use super::{NO_LINK, Reliable};
use crate::ucp::ep::Message;
use crate::ucp::wire::numbered::Between;
use crate::ucp::wire::{Origin, am, wireup};
use crate::ucp::worker::Worker;
use crate::uct::EpParams;

/// So many are remembered.
const MOST: usize = 256;
/// A peer that goes on is told again after this: the word may have been lost.
pub(super) const TELL_EVERY: Duration = Duration::from_millis(100);

/// See the module.
pub struct Gone {
    ways: Vec<Way>,
    told: Option<Instant>,
}

impl Gone {
    fn new(link: &Reliable) -> Gone {
        Gone {
            ways: link.rails.iter().map(|rail| rail.way.clone()).collect(),
            told: None,
        }
    }

    /// The ways by which the peer is told now; none if it was told a moment ago.
    fn tell(&mut self) -> Vec<Way> {
        let now = Instant::now();
        if self.told.is_some_and(|told| now - told < TELL_EVERY) {
            return Vec::new();
        }
        self.told = Some(now);
        self.ways.clone()
    }
}

/// The last of those that have ended in good order, by the peer's endpoint and its link.
#[derive(Default)]
pub struct Ended(RefCell<VecDeque<((Origin, u64), Gone)>>);

impl Ended {
    fn push(&self, peer: Origin, theirs: u64, gone: Gone) {
        let mut all = self.0.borrow_mut();
        if all.len() >= MOST {
            all.pop_front();
        }
        all.push_back(((peer, theirs), gone));
    }

    pub(super) fn contains(&self, peer: Origin, theirs: u64) -> bool {
        let all = self.0.borrow();
        all.iter().any(|(link, _)| *link == (peer, theirs))
    }

    fn tell(&self, peer: Origin, theirs: u64) -> Option<Vec<Way>> {
        let mut all = self.0.borrow_mut();
        let found = all.iter_mut().find(|(link, _)| *link == (peer, theirs));
        found.map(|(_, gone)| gone.tell())
    }
}

impl Reliable {
    /// It ends as both sides wished.
    pub(super) fn remember_end(&self, worker: &Worker) {
        let theirs = self.pair.borrow().theirs();
        worker.links.ended.push(self.peer, theirs, Gone::new(self));
    }

    /// What is to be remembered of it: the peer's endpoint has to go too, as soon as it is heard of.
    pub(super) fn remember(&self, worker: &Worker) {
        let mut all = worker.links.gone.borrow_mut();
        if all.len() >= MOST
            && let Some(any) = all.keys().next().copied()
        {
            all.remove(&any);
        }
        all.insert(self.peer, Gone::new(self));
    }
}

impl Worker {
    /// A message between links, of which ours isn't here. False if there never was one that is remembered.
    pub(super) fn speaks_of_gone(&self, origin: Origin, between: Between) -> bool {
        let failed = self
            .links
            .gone
            .borrow_mut()
            .get_mut(&origin)
            .map(Gone::tell);
        let ended = || self.links.ended.tell(origin, between.from.into());
        let Some(ways) = failed.or_else(ended) else {
            return false;
        };
        if ways.is_empty() {
            return true;
        }
        let Between { from, to } = between;
        self.refuse(origin.worker, &ways, to.into(), from.into());
        true
    }

    /// Tells a peer that its link `theirs` leads to `ours`, which is gone; 0: that it went with one that is.
    /// By every way, since some may be dead.
    pub(super) fn refuse(&self, peer: u64, ways: &[Way], ours: u64, theirs: u64) {
        crate::ucs_diag!("worker {peer:x} goes on with a link that is gone here: it is told");
        let header = wireup::Wireup {
            kind: wireup::Kind::Stale,
            origin: Origin {
                worker: self.uid(),
                conn: 0,
            },
            to: peer,
        };
        let message = Message::new(am::WIREUP, wireup::Wireup::LEN + 16, |w| {
            header.encode(w);
            w.u64(theirs).u64(ours);
        });
        for way in ways {
            let Some(open) = self.ifaces().get(usize::from(way.local)) else {
                continue;
            };
            message.say_apart(self, way.local, || {
                open.iface.create_ep(&EpParams {
                    device_addr: &way.device_addr,
                    iface_addr: &way.iface_addr,
                    token: super::worker::lane_token(NO_LINK, 0),
                })
            });
        }
    }
}
