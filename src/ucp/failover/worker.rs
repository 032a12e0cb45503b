//! The worker's part: finding the link that a message is of, and serving those that need it.

use core::cell::{Cell, RefCell};
use core::ptr::NonNull;
use std::collections::VecDeque;
use std::rc::{Rc, Weak};
use std::time::{Duration, Instant};

use hashbrown::HashMap;

use super::gone::{Ended, Gone};
use super::serve::Need;
use super::{NO_LINK, Reliable};
use crate::ucp::address::WorkerAddress;
use crate::ucp::replay::{Hearing, Pair, Refusal};
use crate::ucp::wire::Origin;
use crate::ucp::wire::numbered::{LinkMessage, Numbered};
use crate::ucp::wire::wireup::Lane;
use crate::ucp::worker::Worker;
use crate::ucs::async_thread::{Timer, Wake};
use crate::ucs::status::Error;
use crate::uct::Place;

/// Set in tokens of lanes that belong to a link; the rest is the link's number and the lane's.
const LANE_TOKEN: u64 = 1 << 63;
const LANE_BITS: u32 = 4;

/// So many rounds of service the clock is left alone.
const ROUNDS: u32 = 8;
/// Time between two looks at the lanes.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// A sleeping worker is woken after this for links under way, and at most after this for lanes to be tried again.
const WAKE_EVERY: Duration = Duration::from_millis(50);
const WAKE_SELDOM: Duration = Duration::from_secs(1);
/// Time that one look at links which only wait may take; the others' turn comes with the next.
const LOOK_MOST: Duration = Duration::from_millis(1);

pub(super) fn lane_token(link: u64, lane: u8) -> u64 {
    LANE_TOKEN | (link << LANE_BITS) | u64::from(lane)
}

/// The links of a worker.
#[derive(Default)]
pub struct Links {
    /// By the peer's endpoint.
    by_peer: RefCell<HashMap<Origin, Rc<Reliable>>>,
    /// The same by their own numbers.
    by_token: RefCell<HashMap<u64, Weak<Reliable>>>,
    /// Those that have something to do.
    listed: RefCell<Vec<Rc<Reliable>>>,
    /// Those that only wait for time to pass, with a lane that is missing.
    watched: RefCell<VecDeque<Rc<Reliable>>>,
    next: Cell<u64>,
    rounds: Cell<u32>,
    last_look: Cell<Option<Instant>>,
    /// Wakes a worker that sleeps meanwhile.
    timer: RefCell<Option<(Duration, Timer)>>,
    /// Those that have failed, by the peer's endpoint.
    pub(super) gone: RefCell<HashMap<Origin, Gone>>,
    pub(super) ended: Ended,
    /// The link of a peer that the next one answers.
    answers: Cell<Option<(Origin, u64)>>,
    /// For bytes that nobody wants.
    waste: RefCell<Vec<u8>>,
}

impl Links {
    pub(super) fn next_token(&self) -> u64 {
        let token = self.next.get() + 1;
        self.next.set(token);
        token
    }

    /// Whether the link of this endpoint's has failed here: none of its may go with another of ours.
    pub fn has_failed(&self, peer: Origin) -> bool {
        self.gone.borrow().contains_key(&peer)
    }

    /// For a new link `ours`.
    pub(super) fn pair(&self, ours: u64, peer: Origin) -> Pair {
        let theirs = match self.answers.get() {
            Some((origin, theirs)) if origin == peer => theirs,
            _ => NO_LINK,
        };
        Pair::new(ours, theirs, self.has_failed(peer))
    }

    pub(super) fn insert(&self, link: Rc<Reliable>) {
        self.gone.borrow_mut().remove(&link.peer);
        self.by_token
            .borrow_mut()
            .insert(link.token, link.this.clone());
        self.by_peer.borrow_mut().insert(link.peer, link);
    }

    pub(super) fn remove(&self, link: &Reliable) {
        self.by_token.borrow_mut().remove(&link.token);
        let mut by_peer = self.by_peer.borrow_mut();
        if by_peer
            .get(&link.peer)
            .is_some_and(|other| core::ptr::eq(&**other, link))
        {
            by_peer.remove(&link.peer);
        }
    }

    #[inline]
    pub fn find(&self, peer: Origin) -> Option<Rc<Reliable>> {
        self.by_peer.borrow().get(&peer).cloned()
    }

    fn by_token(&self, token: u64) -> Option<Rc<Reliable>> {
        self.by_token.borrow().get(&token)?.upgrade()
    }

    /// The worker is about to sleep: nothing may come of what the links wait for, which only the clock
    /// can tell. Nobody is woken for it once there is nothing more.
    pub fn keep_time(&self, wake: impl FnOnce() -> Wake) {
        let mut timer = self.timer.borrow_mut();
        let wanted = match (self.listed.borrow().first(), self.watched.borrow().front()) {
            (Some(_), _) => WAKE_EVERY,
            (None, Some(link)) => link.settings.recovery.clamp(WAKE_EVERY, WAKE_SELDOM),
            (None, None) => {
                timer.take_if(|(_, timer)| timer.take_due());
                return;
            }
        };
        timer.take_if(|(every, timer)| *every > wanted || *every < wanted && timer.take_due());
        if timer.is_none() {
            // Without a thread, which is logged, lanes are looked at when something else wakes it.
            *timer = Timer::start(wanted, wake())
                .ok()
                .map(|timer| (wanted, timer));
        }
    }

    fn watch(&self, link: &Rc<Reliable>) {
        if link.begin_watch() {
            self.watched.borrow_mut().push_back(link.clone());
        }
    }

    /// A place for bytes that nobody wants.
    pub(super) fn waste(&self, len: usize) -> Place {
        const MOST: usize = 64 << 10;
        let mut waste = self.waste.borrow_mut();
        waste.resize(MOST, 0);
        match NonNull::new(waste.as_mut_ptr()) {
            Some(ptr) => Place::Buffer(ptr, len.clamp(1, MOST)),
            None => Place::Discard,
        }
    }

    pub fn is_idle(&self) -> bool {
        self.listed.borrow().is_empty() && self.watched.borrow().is_empty()
    }

    /// The worker's end.
    pub fn clear(&self) {
        self.listed.borrow_mut().clear();
        self.watched.borrow_mut().clear();
        let all = core::mem::take(&mut *self.by_peer.borrow_mut());
        drop(all);
    }
}

impl Worker {
    /// There is something to do for a link.
    pub(super) fn list_link(&self, link: Rc<Reliable>) {
        self.links.listed.borrow_mut().push(link);
        self.note_work();
    }

    /// Serves those that need it.
    pub(in crate::ucp) fn serve_links(&self) -> usize {
        if self.links.is_idle() {
            return 0;
        }
        let now = self.links.time_to_look();
        let mut listed = core::mem::take(&mut *self.links.listed.borrow_mut());
        listed.retain(|link| {
            let need = link.serve(self, now);
            if need == Need::Service {
                return true;
            }
            link.unlisted();
            if need == Need::Look {
                self.links.watch(link);
            }
            false
        });
        // The list keeps its memory: while an answer is awaited this runs in every round.
        let mut fresh = self.links.listed.borrow_mut();
        listed.append(&mut fresh);
        *fresh = listed;
        drop(fresh);
        if let Some(now) = now {
            self.look_at_watched(now);
        }
        0
    }

    /// Looks at links that only wait for time to pass. There may be thousands, whose lanes are tried
    /// again: traffic is not to wait for all of them.
    fn look_at_watched(&self, now: Instant) {
        let count = self.links.watched.borrow().len();
        for _ in 0..count {
            let next = self.links.watched.borrow_mut().pop_front();
            let Some(link) = next else { return };
            link.unwatched();
            // One that has more to do is served anyway.
            if link.is_listed() {
                self.links.watch(&link);
                continue;
            }
            match link.serve(self, Some(now)) {
                Need::Nothing => {}
                Need::Look => self.links.watch(&link),
                Need::Service => link.list(),
            }
            if now.elapsed() > LOOK_MOST {
                return;
            }
        }
    }

    /// Before the worker sleeps: what peers wait for is told.
    pub(in crate::ucp) fn acknowledge_all(&self) {
        if self.links.is_idle() {
            return;
        }
        let listed = self.links.listed.borrow().clone();
        listed.iter().for_each(|link| link.acknowledge_if_owed());
    }

    /// `NUMBERED` as a whole message.
    pub(in crate::ucp) fn on_numbered(&self, data: &[u8]) -> Option<()> {
        let (head, message) = decode(data)?;
        match self.links.find(head.origin) {
            Some(link) if link.is_of_pair(self, head.between) => {
                link.on_message(self, &head, message)
            }
            Some(_) => Some(()),
            None => self.speaks_of_gone(head.origin, head.between).then_some(()),
        }
    }

    pub(in crate::ucp) fn place_numbered(
        &self,
        header: &[u8],
        offset: usize,
        total: usize,
    ) -> Place {
        let found = decode(header).and_then(|(head, inner)| {
            let link = self.links.find(head.origin)?;
            let ours = link.is_of_pair(self, head.between);
            ours.then(|| link.place(self, &head, inner, offset, total))
        });
        found.unwrap_or(Place::Discard)
    }

    pub(in crate::ucp) fn placed_numbered(&self, header: &[u8], total: usize) -> Option<()> {
        let (head, inner) = decode(header)?;
        match self.links.find(head.origin) {
            Some(link) if link.is_of_pair(self, head.between) => {
                link.placed(self, &head, inner, total);
            }
            Some(_) => {}
            None => {
                let known = self.speaks_of_gone(head.origin, head.between);
                return known.then_some(());
            }
        }
        Some(())
    }

    /// `LINK`.
    pub(in crate::ucp) fn on_link(&self, data: &[u8]) -> Option<()> {
        let message = LinkMessage::decode(data).filter(|message| message.between.is_known())?;
        match self.links.find(message.origin) {
            Some(link) if link.is_of_pair(self, message.between) => link.on_link(self, &message),
            Some(_) => {}
            // Who only acknowledges waits for nothing.
            None if self
                .links
                .ended
                .contains(message.origin, message.between.from.into())
                && !message.say.wants_answer() => {}
            None => {
                let known = self.speaks_of_gone(message.origin, message.between);
                return known.then_some(());
            }
        }
        Some(())
    }

    /// A peer has opened a lane, the first or a further one.
    pub(in crate::ucp) fn on_lane(
        &self,
        origin: Origin,
        address: &WorkerAddress<'_>,
        lane: Lane,
    ) -> Option<()> {
        if lane.to == NO_LINK && self.links.ended.contains(origin, lane.link) {
            crate::ucs_diag!("a lane of link {}, which has ended, comes late", lane.link);
            return Some(());
        }
        let Some(link) = self.links.find(origin) else {
            return self.first_lane(origin, address, lane);
        };
        let hearing = link.hear_lane(lane);
        if !matches!(hearing, Hearing::Ours | Hearing::Late) {
            crate::ucs_diag!("lane of link {} to {}: {hearing:?}", lane.link, lane.to);
        }
        match hearing {
            Hearing::Ours => {}
            Hearing::Late => return Some(()),
            Hearing::Stale(ours) => {
                self.refuse_lane(origin, address, ours, lane.link);
                return Some(());
            }
            Hearing::Replaced => {
                link.lose(Error::ConnectionReset);
                self.refuse_lane(origin, address, lane.to, lane.link);
                return Some(());
            }
        }
        link.on_lane(lane.id);
        Some(())
    }

    /// A lane of a link that none of ours goes with. One that names another is late: what had arrived there is
    /// gone with it.
    fn first_lane(&self, origin: Origin, address: &WorkerAddress<'_>, lane: Lane) -> Option<()> {
        if lane.to != NO_LINK || self.links.has_failed(origin) {
            self.refuse_lane(origin, address, lane.to, lane.link);
            return Some(());
        }
        self.links.answers.set(Some((origin, lane.link)));
        let opened = self.peer_numbers(origin, address);
        self.links.answers.set(None);
        opened.ok()?;
        self.links.find(origin)?.on_lane(lane.id);
        Some(())
    }

    fn refuse_lane(&self, origin: Origin, address: &WorkerAddress<'_>, ours: u64, theirs: u64) {
        let ways = crate::ucp::ep::ways(self, address);
        self.refuse(origin.worker, &ways, ours, theirs);
    }

    /// The peer says that our link `ours` leads to its `theirs`, which is gone.
    pub(in crate::ucp) fn on_stale(&self, worker: u64, ours: u64, theirs: u64) {
        let link = self.links.by_token(ours);
        let Some(link) = link.filter(|link| link.peer.worker == worker) else {
            return;
        };
        let refusal = link.pair.borrow_mut().refused(theirs);
        crate::ucs_diag!("link {ours} to {theirs} of worker {worker:x}: {refusal:?}");
        if refusal == Refusal::Lost {
            link.lose(Error::ConnectionReset);
        }
    }

    /// Whether this names a lane of a link, not of an endpoint.
    pub(in crate::ucp) fn is_link_lane(token: u64) -> bool {
        token & LANE_TOKEN != 0
    }

    /// A lane with this token has failed; false if the token is no lane's of a link.
    pub(in crate::ucp) fn link_lane_failed(&self, token: u64, error: Error) -> bool {
        if !Self::is_link_lane(token) {
            return false;
        }
        let lane = (token & ((1 << LANE_BITS) - 1)) as u8;
        let link = (token & !LANE_TOKEN) >> LANE_BITS;
        if let Some(link) = self.links.by_token(link) {
            link.lane_failed(lane, error);
        }
        true
    }
}

/// The header, and a message that is none of ours.
fn decode(data: &[u8]) -> Option<(Numbered, &[u8])> {
    use crate::ucp::wire::am;
    let others = |head: &Numbered| !matches!(head.id, am::NUMBERED | am::LINK);
    Numbered::decode(data).filter(|(head, _)| head.between.is_known() && others(head))
}

impl Links {
    /// The worker has been idle for a while, or was woken: the next round looks at the lanes.
    pub fn hurry(&self) {
        self.rounds.set(ROUNDS);
    }

    fn time_to_look(&self) -> Option<Instant> {
        let rounds = self.rounds.get() + 1;
        self.rounds.set(rounds);
        if rounds < ROUNDS {
            return None;
        }
        self.rounds.set(0);
        let now = Instant::now();
        let last = self.last_look.get();
        if last.is_some_and(|last| now - last < LOOK_EVERY) {
            return None;
        }
        self.last_look.set(Some(now));
        Some(now)
    }
}
