//! Closing in order a connection by socket address, which is over for both when one end is closed.
//!
//! Whoever has closed (by [`Endpoint::leave`]) waits until the other's worker has taken notice, and says
//! so in a `Closed` that carries its address. To be answered is what this asks for, and it always is:
//!
//! | what the worker that hears it has | what answers |
//! |---|---|
//! | an end in use | it fails, which says `Aborted` |
//! | one that is being closed in order | it ends, which says `Closed` |
//! | one that has been closed, and waits itself | the same; its own question may have been dropped |
//! | one that has failed, or none any more | the worker, by lanes made for that |
//!
//! A server that closes before the client is known to have its answer asks when it is, or is told by the
//! end of the socket between them; a client is connected before it asks. The end of the lane, which
//! comes with that of the peer's worker or process, ends the wait as well. So does, since a close must
//! not last for ever whatever a network does, a [long time](NOTICE).
//!
//! When both ends are being closed there is more to it.
//!
//! A close waits for what the peer has yet to receive. The peer won't, once its end is closed: the
//! connection is over with either of its endpoints. As the peer's close may wait in the same way for
//! what is to be received here, both say that they are closing; and each then says, as soon as
//! nothing that the other has sent is being received any more, that nothing will be. What only
//! a receiver could end is ended by that.
//!
//! Between endpoints by worker address a close concerns one side only: its worker may receive
//! whatever is sent to it all the same.

use std::rc::Rc;
use std::time::{Duration, Instant};

use super::Endpoint;
use crate::ucp::proto::Op;
use crate::ucp::request::ReqRef;
use crate::ucp::wire::wireup::Kind;
use crate::ucs::status::Error;

/// The peer's notice is waited for no longer than this.
const NOTICE: Duration = Duration::from_secs(60);

/// How far the two closes are.
#[derive(Clone, Copy, Default)]
pub(super) struct Parting {
    /// Ours has begun, and the peer knows.
    ours: bool,
    /// The peer's has begun.
    theirs: bool,
    /// Nothing that the peer has sent will be received any more, and it knows.
    over: bool,
    /// The peer has been asked for its notice.
    asked: bool,
    /// Since when that is waited for.
    pub(super) since: Option<Instant>,
    /// Nothing is left to be done but what waits for the lane.
    pub(super) going: bool,
    /// It has been closed, and may still be needed.
    pub(super) lingers: bool,
}

impl Endpoint {
    /// One end of a connection by socket address.
    pub fn is_by_sockaddr(&self) -> bool {
        self.origin().is_by_sockaddr()
    }

    pub(super) fn parting(&self) -> Parting {
        self.rare
            .get()
            .map(|rare| rare.parting.get())
            .unwrap_or_default()
    }

    pub(super) fn set_parting(&self, change: impl FnOnce(&mut Parting)) {
        let mut parting = self.parting();
        change(&mut parting);
        self.rare().parting.set(parting);
    }

    /// The user has closed it, and the peer may need it.
    pub(in crate::ucp) fn is_lingering(&self) -> bool {
        self.parting().lingers
    }

    /// The user has closed it, which may still go on: its handle is nobody's any more.
    pub(in crate::ucp) fn is_given_back(&self) -> bool {
        !self.is_held()
            && (self.is_lingering() || self.is_going() || self.is_closing() || self.has_left())
    }

    pub(super) fn is_going(&self) -> bool {
        self.parting().going
    }

    pub(super) fn set_going(&self) {
        self.set_parting(|parting| parting.going = true);
    }

    /// Messages of the peer that have not met a receive won't be received any more.
    pub(in crate::ucp) fn receives_no_more(&self) -> bool {
        self.parting().over
    }

    /// The peer learns of a close here that can't end at once. One that has not been announced has
    /// nothing that the peer would have to answer.
    pub(super) fn tell_closing(self: &Rc<Self>) {
        if self.is_by_sockaddr()
            && self.is_wired()
            && self.is_announced()
            && self.failed.get().is_none()
            && !self.parting().ours
            && self.is_closing()
        {
            self.set_parting(|parting| parting.ours = true);
            self.send_message(self.word(Kind::Closing));
            self.part();
        }
    }

    /// The peer's close has begun.
    pub(in crate::ucp) fn peer_is_closing(self: &Rc<Self>) {
        self.set_parting(|parting| parting.theirs = true);
        self.part();
    }

    /// Says that nothing will be received any more, when that is so.
    pub(super) fn part(self: &Rc<Self>) {
        let Parting {
            ours, theirs, over, ..
        } = self.parting();
        if ours && theirs && !over && self.failed.get().is_none() && !self.is_serving() {
            self.set_parting(|parting| parting.over = true);
            self.send_message(self.word(Kind::Drained));
        }
    }

    /// Something of the peer's is being received, or answered.
    fn is_serving(self: &Rc<Self>) -> bool {
        let named = self.worker.named_of(self);
        named.into_iter().any(ReqRef::is_of_peer)
    }

    /// The peer receives nothing any more: what needs a receiver there ends. Both ends are closing.
    pub(in crate::ucp) fn peer_receives_no_more(self: &Rc<Self>) {
        if !self.is_closing() || self.failed.get().is_some() {
            return;
        }
        for id in self.worker.op_ids() {
            // A callback may have ended others meanwhile.
            let Some(req) = self.worker.op_by_id(id) else {
                continue;
            };
            let ours = req.ep().is_some_and(|ep| Rc::ptr_eq(&ep, self)) && !req.is_of_peer();
            if ours && needs_receiver(req) {
                self.unqueue(req);
                self.worker.finish(req, Err(Error::ConnectionReset));
            }
        }
    }

    /// A close in order ends when the peer's worker has taken notice, as in UCX: then its endpoint has
    /// failed, or is closed.
    pub(super) fn waits_for_notice(&self) -> bool {
        self.is_by_sockaddr()
            && self.is_wired()
            && self.failed.get().is_none()
            && !self.peer_stopped.get()
    }

    /// All has been done that was to be done before the close: the peer is told. What the peer, or its
    /// end, answers ends the request.
    pub(super) fn leave(self: &Rc<Self>, req: ReqRef) {
        self.set_parting(|parting| parting.since = Some(Instant::now()));
        self.await_farewell(req);
        self.ask_notice();
    }

    /// The peer is to answer. A server's client that doesn't know this end yet is asked when it does.
    fn ask_notice(self: &Rc<Self>) {
        if self.is_announced() {
            self.set_parting(|parting| parting.asked = true);
            self.set_announced(false);
            self.say_last(self.question());
        }
    }

    /// The client knows this end of the connection.
    pub(in crate::ucp) fn client_knows(self: &Rc<Self>) {
        if self.parting().asked {
            return;
        }
        self.set_announced(true);
        if self.has_left() {
            self.ask_notice();
        }
    }

    /// The peer's notice is overdue.
    pub(in crate::ucp) fn end_overdue(self: &Rc<Self>, now: Instant) {
        let since = self.parting().since.filter(|_| self.has_left());
        if since.is_some_and(|since| now.saturating_duration_since(since) > NOTICE) {
            crate::ucs_diag!("{} takes no notice of a close", self.peer_name());
            self.end_with_peer();
        }
    }

    /// The peer's end is closed, and so this connection is over. `answer`: the peer waits to hear of it.
    pub(in crate::ucp) fn over_with_peer(self: &Rc<Self>, aborted: bool, answer: bool) {
        self.set_announced(answer);
        self.set_peer_stopped(true);
        if self.has_left() {
            return self.end_with_peer();
        }
        if aborted && (self.awaits_peer() || self.awaits_bytes()) {
            return self.fail_with_peer(Error::ConnectionReset);
        }
        self.peer_has_closed();
        if self.is_owned() {
            self.fail_with_peer(Error::ConnectionReset);
        } else if self.is_closing() && self.failed.get().is_none() {
            self.end_with_peer();
        } else if self.failed.get().is_none() {
            self.say_closed(Kind::Closed);
            if !self.is_held() {
                self.drop_unowned();
            }
        }
    }

    /// The peer's end is closed while ours is being closed in order: what is left ends, and so does
    /// the close, in good order.
    pub(in crate::ucp) fn end_with_peer(self: &Rc<Self>) {
        let error = Error::ConnectionReset;
        // A callback may post a receive that meets one more message of the peer's.
        self.set_parting(|parting| parting.over = true);
        self.let_go();
        self.end_pending(error);
        self.fail_held(error);
        self.worker.finish_all_of(self, error);
        self.end_flushes(error);
    }
}

/// Whether only a receive at the peer ends this send.
fn needs_receiver(req: ReqRef) -> bool {
    let op = req.take_op();
    let needs = match &op {
        Op::Eager(flight) => flight.stage().is_sync(),
        Op::SyncWait | Op::Announce(_) | Op::Offered(_) | Op::Stream(_) | Op::RndvPut(_) => true,
        _ => false,
    };
    req.set_op(op);
    needs
}
