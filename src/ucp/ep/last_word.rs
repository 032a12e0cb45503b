//! What a peer hears that asks something of an endpoint which has failed.
//!
//! Its end may have used another lane than the one that was lost, or none yet, and wait for ever: for the
//! bytes of a message that it receives now, for the answer to a get. So whoever asks is told, by a lane of
//! its own, that what was in flight here has been given up. The worker remembers that for a while when the
//! endpoint is closed.

use core::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use super::{Endpoint, Message};
use crate::ucp::wire::Origin;
use crate::ucp::wire::wireup::Kind;
use crate::ucp::worker::Worker;
use crate::uct::Route;

/// No endpoint has this token: what becomes of the lane is told to nobody.
const NOBODY: u64 = 0;
/// Closed endpoints that are remembered.
const MOST: usize = 256;

/// "What was in flight is given up", to one endpoint of a peer.
pub struct LastWord {
    to: Origin,
    /// Where the lane led that was lost.
    route: Box<dyn Route>,
    /// The interface that it is of.
    local: u8,
    message: Message,
}

impl LastWord {
    fn say(&self, worker: &Worker) {
        self.message
            .say_apart(worker, self.local, || self.route.open(NOBODY));
    }
}

/// Of endpoints that have failed and are closed, the last ones.
#[derive(Default)]
pub struct LastWords(RefCell<VecDeque<LastWord>>);

impl LastWords {
    pub fn keep(&self, word: LastWord) {
        let mut words = self.0.borrow_mut();
        if words.len() >= MOST {
            words.pop_front();
        }
        words.push_back(word);
    }

    fn say(&self, worker: &Worker, to: Origin) {
        if let Some(word) = self.0.borrow().iter().find(|word| word.to == to) {
            word.say(worker);
        }
    }
}

impl Endpoint {
    /// What its peer's endpoint hears when it asks; `None` unless its lane was lost, by which that would
    /// have heard already, and where numbers tell.
    pub(in crate::ucp) fn last_word(&self) -> Option<LastWord> {
        self.failure()?;
        if !self.is_wired() || self.config().lanes.numbered {
            return None;
        }
        let lane = self.attempts()?.proven()?;
        lane.check().err()?;
        let am = self.config().lanes.am;
        let local = self.config().lanes.all.get(usize::from(am))?.local;
        Some(LastWord {
            to: self.peer_origin(),
            route: lane.route()?,
            local,
            message: self.word(Kind::Aborted),
        })
    }
}

impl Worker {
    /// The endpoint that answers what a peer's endpoint asks for. If that has failed, the peer is told so
    /// instead.
    pub(in crate::ucp) fn endpoint_to_answer(&self, origin: Origin) -> Option<Rc<Endpoint>> {
        let ep = self.endpoint_of(origin);
        match ep {
            Some(ep) if ep.failure().is_none() => return Some(ep),
            Some(ep) => {
                if let Some(word) = ep.last_word() {
                    word.say(self);
                }
            }
            None => self.last_words.say(self, origin),
        }
        None
    }
}
