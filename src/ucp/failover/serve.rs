//! What is done in the course of progress.

use std::time::Instant;

use smallvec::SmallVec;

use super::Reliable;
use super::kept::Kept;
use crate::ucp::replay::{Channel, LaneId};
use crate::ucp::wire::am;
use crate::ucp::wire::numbered::{LinkMessage, Say};
use crate::ucp::worker::Worker;
use crate::ucs::status::Error;
use crate::uct::{Ep, Post};

/// What waits to be said; acknowledgements aren't kept, they are renewed.
const MOST_UNSAID: usize = 256;

/// What a link has to be come back for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Need {
    Nothing,
    /// Time passes: whether its lanes still lead anywhere, or do so again.
    Look,
    /// In every round of progress.
    Service,
}

impl Reliable {
    /// There is something to do for it.
    #[inline]
    pub(super) fn list(&self) {
        if !self.listed.get()
            && let (Some(worker), Some(this)) = (self.worker.upgrade(), self.this.upgrade())
        {
            self.listed.set(true);
            worker.list_link(this);
        }
    }

    /// Out of the list.
    pub(super) fn unlisted(&self) {
        self.listed.set(false);
    }

    pub(super) fn is_listed(&self) -> bool {
        self.listed.get()
    }

    /// Into the list of those that are looked at now and then. False if it is there.
    pub(super) fn begin_watch(&self) -> bool {
        !self.watched.replace(true)
    }

    /// Out of that list.
    pub(super) fn unwatched(&self) {
        self.watched.set(false);
    }

    /// Says something about lanes and numbers, now or later. What is about lanes goes by all that are
    /// open, since which of them lead anywhere may not be known yet.
    pub(super) fn say(&self, say: Say) {
        let said = match say {
            Say::Acks { .. } => self.try_say(&say),
            _ => self.say_everywhere(&say),
        };
        if said {
            return;
        }
        let mut unsaid = self.unsaid.borrow_mut();
        if unsaid.len() < MOST_UNSAID {
            unsaid.push_back(say);
        }
        drop(unsaid);
        self.list();
    }

    fn try_say(&self, say: &Say) -> bool {
        let first = self.first.get().map(usize::from);
        let lane = first.and_then(|first| self.rails.get(first)?.lane());
        lane.is_some_and(|lane| self.say_on(&*lane, say))
    }

    /// True if any lane took it.
    pub(super) fn say_everywhere(&self, say: &Say) -> bool {
        let lanes = self.rails.iter().filter_map(|rail| rail.lane());
        lanes.filter(|lane| self.say_on(&**lane, say)).count() != 0
    }

    fn say_on(&self, lane: &dyn Ep, say: &Say) -> bool {
        let between = self.between();
        if between.to == 0 {
            // Nobody is known who would understand.
            return false;
        }
        self.wary.set(true);
        self.list();
        let message = LinkMessage {
            origin: self.origin,
            between,
            say: say.clone(),
        };
        let post = lane.am_bcopy(am::LINK, LinkMessage::MAX, &mut |to| {
            let mut w = crate::ucp::wire::Writer::new(to);
            message.encode(&mut w);
            w.len()
        });
        matches!(post, Ok(Post::Done | Post::Pending))
    }

    /// One round.
    pub(super) fn serve(&self, worker: &Worker, now: Option<Instant>) -> Need {
        if self.lost.get() {
            return Need::Nothing;
        }
        if now.is_none() && self.only_waits() {
            return Need::Service;
        }
        self.greet_all(worker);
        self.say_unsaid();
        self.replay();
        let due = self.link.borrow_mut().acks().due();
        if due {
            self.acknowledge();
        }
        if let Some(now) = now {
            self.look_at_lanes(worker, now);
        }
        let (quiet, owes) = {
            let mut link = self.link.borrow_mut();
            (link.is_quiet(), link.acks().owes())
        };
        if quiet {
            self.forget_loads();
            // Nothing has to keep its order now: the best lane, which may have come later, takes over.
            self.choose_first();
        }
        if self.is_over() && quiet {
            if owes {
                self.acknowledge();
            }
            self.lose(Error::Canceled);
            return Need::Nothing;
        }
        let maimed = || self.ep_token.get() != 0 && self.is_maimed();
        match !quiet || owes || !self.unsaid.borrow().is_empty() || self.greeting.get() {
            true => Need::Service,
            false if self.wary.get() || maimed() => Need::Look,
            false => Need::Nothing,
        }
    }

    /// Whether acknowledgements of the peer are all that anything here waits for: so it is while an
    /// answer is awaited, in every round of progress.
    fn only_waits(&self) -> bool {
        let mut link = self.link.borrow_mut();
        self.unsaid.borrow().is_empty()
            && !self.greeting.get()
            && !link.has_replays()
            && !link.acks().owes()
            && !link.is_quiet()
    }

    /// Tells what has arrived here.
    pub(super) fn acknowledge(&self) {
        let acks = self.link.borrow().received();
        if self.try_say(&Say::Acks { acks, want: false }) {
            self.link.borrow_mut().acks().sent();
        }
    }

    pub(super) fn acknowledge_if_owed(&self) {
        let owes = self.link.borrow_mut().acks().owes();
        if owes {
            self.acknowledge();
        }
    }

    fn say_unsaid(&self) {
        loop {
            let next = self.unsaid.borrow_mut().pop_front();
            let Some(say) = next else { return };
            let said = match say {
                Say::Acks { .. } => self.try_say(&say),
                _ => self.say_everywhere(&say),
            };
            if !said {
                return self.unsaid.borrow_mut().push_front(say);
            }
        }
    }

    /// Sends again what was lost with a lane.
    fn replay(&self) {
        let between = self.between();
        let mut link = self.link.borrow_mut();
        while link.has_replays() {
            let most = self.settings.rails.max(self.settings.eager_rails);
            let bulk = self.order(&link, most);
            let Some(first) = self.first.get().and_then(|first| link.lanes.live(first)) else {
                return;
            };
            let bulk: SmallVec<[LaneId; 4]> = bulk
                .into_iter()
                .filter_map(|index| link.lanes.live(index))
                .collect();
            let Some((mut posted, kept)) = link.next_replay(first) else {
                return;
            };
            if matches!(kept, Kept::Gone) {
                // Its user has given it up. The peer waits for it in vain, as for all that a forced
                // close leaves behind, and is told when it says anything.
                drop(link);
                return self.lose(Error::ConnectionReset);
            }
            let lanes: &[LaneId] = match posted.channel {
                Channel::Ordered => &[first],
                Channel::Bulk => &bulk,
            };
            let taken = lanes.iter().any(|lane| {
                posted.lane = *lane;
                kept.relabel(&posted, between);
                let rail = self.rails.get(usize::from(lane.lane));
                rail.is_some_and(|rail| rail.post(kept) == Ok(true))
            });
            if !taken {
                return;
            }
            link.resent(&posted);
        }
    }
}
