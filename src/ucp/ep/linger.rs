//! An endpoint by worker address that has been closed in order goes on answering for a while.
//!
//! What the peer sends before it knows of the close may need an answer: a large message that meets a
//! posted receive, a get, a flush. An endpoint that the peer can have been counting on lives on
//! therefore, without an owner, until the peer has heard of the close. It says so behind all that it
//! has sent, in `Heard`, or says that it needs this end, in `Request`, and then closes its own end
//! one day; who has sent nothing says nothing, and is not waited for longer than a minute. From then on
//! it introduces itself to the worker again before it asks for anything. An end of the peer's that is
//! closed, has failed, or is lost needs nothing either.
//!
//! The worker's end doesn't wait for any of that.

use std::rc::Rc;
use std::time::{Duration, Instant};

use super::Endpoint;
use crate::ucp::wire::wireup::Kind;
use crate::ucs::status::Error;

/// A peer that has used no lane to this end says nothing, and sends nothing either.
const LONGEST: Duration = Duration::from_secs(60);

impl Endpoint {
    /// Whether messages that need this end may be on their way when it is closed. Who has not been
    /// introduced introduces itself first.
    pub(super) fn may_be_needed(&self) -> bool {
        !self.is_by_sockaddr()
            && self.is_wired()
            && self.is_announced()
            && self.failed.get().is_none()
    }

    /// The user's part is over.
    pub(super) fn linger(self: &Rc<Self>) {
        self.end_stream(Error::Canceled, true);
        self.set_parting(|parting| parting.since = Some(Instant::now()));
        self.set_lingering(true);
        self.say_closed(Kind::Closed);
    }

    /// The end here is gone.
    pub(in crate::ucp) fn lingers_no_more(&self) {
        self.set_lingering(false);
    }

    /// The peer has introduced itself, once more perhaps: it relies on the end here, until it says that
    /// its own is closed.
    pub(in crate::ucp) fn peer_is_back(&self) {
        self.set_relied_on();
        if self.is_by_sockaddr() {
            return;
        }
        self.set_lingering(false);
        self.set_peer_stopped(false);
        if self.is_going() {
            self.set_parting(|parting| parting.going = false);
        }
    }

    /// The peer needs nothing of this end any more: it goes as soon as what it does is done.
    pub(in crate::ucp) fn go(self: &Rc<Self>) {
        self.set_going();
        self.gone_if_idle();
    }

    /// Something that kept it has ended.
    pub(super) fn gone_if_idle(self: &Rc<Self>) {
        if self.is_going() && !self.is_held() {
            self.drop_unowned();
        }
    }

    /// The peer's end is closed; it waits to hear that this is known. No lane is made for that, and if
    /// there is no room now or the peer is gone, it has waited long enough one day.
    pub(in crate::ucp) fn say_heard(self: &Rc<Self>) {
        // One that nobody holds is about to go, and says so.
        if self.config().lanes.numbered && !self.is_held() {
            return self.say_closed(Kind::Closed);
        }
        if !self.is_blocked() && self.attempts().is_some_and(|lane| lane.proven().is_some()) {
            let _ = self.post(&self.word(Kind::Heard), false);
        }
    }

    /// It is not known why the peer should still need it.
    pub(in crate::ucp) fn end_lingering(self: &Rc<Self>, now: Instant) {
        let since = self.parting().since.filter(|_| self.is_lingering());
        if since.is_some_and(|since| now.saturating_duration_since(since) > LONGEST) {
            self.go();
        }
    }

    fn set_lingering(&self, lingers: bool) {
        if self.is_lingering() != lingers {
            self.set_parting(|parting| parting.lingers = lingers);
            self.worker.count_lingering(lingers);
        }
    }
}
