//! What has to be known of an endpoint's one-sided operations to order and to flush them.
//!
//! Operations take different ways: by loads and stores, by a lane that accesses the peer's
//! memory, or as messages that the target carries out. Messages arrive in order and are carried
//! out as they arrive; nothing else is ordered by itself.

use core::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use crate::ucp::ep::flush::Then;
use crate::ucp::request::ReqRef;
use crate::ucs::status::{Error, Result};

/// How an operation reaches the target's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Loads and stores of this process.
    Mapped,
    /// A lane that reads or writes the peer's memory without its help.
    Lane,
    /// Messages that the target carries out.
    Message,
    /// The same over several lanes at once. They have taken effect when the operation ends, and
    /// nothing orders them among others.
    Rails,
}

/// What a fence since the last quiet moment forbids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Fence {
    #[default]
    Open,
    /// Messages are on their way: what doesn't go behind them as a message must wait.
    Messages,
    /// Everything must wait.
    All,
}

/// What an operation in flight means for those after a fence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Later messages don't overtake it.
    Ordered,
    Unordered,
    /// A question whether all messages have taken effect.
    Flush,
}

/// What waits behind a fence.
pub enum Held {
    Op(ReqRef, Way),
    Flush(ReqRef, Then),
    /// Another fence, between what was posted before and after it.
    Fence,
}

/// See the module.
#[derive(Default)]
pub struct Order {
    in_flight: [Cell<usize>; 3],
    /// Messages have been sent that no answer has told of.
    unflushed: Cell<bool>,
    fence: Cell<Fence>,
    pub(super) held: RefCell<VecDeque<Held>>,
    pub(super) releasing: Cell<bool>,
    /// The target has been asked on behalf of what is held.
    pub(super) asking: Cell<bool>,
    /// The endpoint is among those that a fence looks at.
    listed: Cell<bool>,
    /// A failed operation's error, told by the next flush.
    failure: Cell<Option<Error>>,
    /// As the target: one more than the number of the peer's last request that was served.
    served: Cell<u64>,
    /// As the receiver: one more than the number of the last message that was announced.
    announced: Cell<u64>,
    /// As the target: the first error since the peer's last flush.
    pub(super) refused: Cell<Option<Error>>,
}

/// Counts an operation as long as it lives.
pub struct InFlight {
    order: Rc<Order>,
    kind: Kind,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let count = self.order.cell(self.kind);
        count.set(count.get().saturating_sub(1));
    }
}

impl Order {
    fn cell(&self, kind: Kind) -> &Cell<usize> {
        let [ordered, unordered, flush] = &self.in_flight;
        match kind {
            Kind::Ordered => ordered,
            Kind::Unordered => unordered,
            Kind::Flush => flush,
        }
    }

    pub(super) fn count(self: &Rc<Self>, kind: Kind) -> InFlight {
        let count = self.cell(kind);
        count.set(count.get() + 1);
        InFlight {
            order: self.clone(),
            kind,
        }
    }

    /// Operations that have begun and not ended, flushes not counted.
    pub(super) fn operations(&self) -> usize {
        self.cell(Kind::Ordered).get() + self.cell(Kind::Unordered).get()
    }

    /// True if messages may not have taken effect yet.
    pub fn needs_flush(&self) -> bool {
        self.unflushed.get() || self.cell(Kind::Flush).get() != 0
    }

    /// The target has been asked something, or does something of which it tells.
    pub fn is_asked(&self) -> bool {
        self.operations() + self.cell(Kind::Flush).get() != 0
    }

    /// All that was posted has taken effect.
    pub fn is_quiet(&self) -> bool {
        !self.needs_flush() && self.operations() == 0 && self.held.borrow().is_empty()
    }

    /// As [`Order::is_quiet`], and there is no failure that a flush has to tell.
    pub fn is_flushed(&self) -> bool {
        self.is_quiet() && self.failure.get().is_none()
    }

    /// The first failure that nobody has been told of is kept for the next flush.
    pub(super) fn note_failure(&self, error: Error) {
        self.failure.set(self.failure.get().or(Some(error)));
    }

    /// A failure that nobody has been told of.
    pub fn take_failure(&self) -> Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    pub(super) fn set_unflushed(&self, unflushed: bool) {
        self.unflushed.set(unflushed);
    }

    /// True if it wasn't listed.
    pub(in crate::ucp) fn list(&self, listed: bool) -> bool {
        self.listed.replace(listed) != listed
    }

    /// Whether an operation may begin now.
    #[inline]
    pub fn allows(&self, way: Way) -> bool {
        match self.fence.get() {
            Fence::Open => true,
            Fence::Messages if way == Way::Message => true,
            _ => self.is_over(),
        }
    }

    /// What the fence was for is over.
    #[cold]
    fn is_over(&self) -> bool {
        let over = self.is_quiet() && !self.releasing.get();
        if over {
            self.fence.set(Fence::Open);
        }
        over
    }

    /// What a fence at this moment means for what comes.
    pub(super) fn fence_now(&self) -> Fence {
        if self.cell(Kind::Unordered).get() != 0 {
            Fence::All
        } else if self.needs_flush() || self.operations() != 0 {
            Fence::Messages
        } else {
            Fence::Open
        }
    }

    pub(super) fn fence(&self) -> Fence {
        self.fence.get()
    }

    pub(super) fn set_fence(&self, fence: Fence) {
        self.fence.set(fence);
    }

    /// The peer asks for something, under this number. False if that was served before.
    pub(in crate::ucp) fn serve(&self, seq: u64) -> bool {
        let fresh = seq >= self.served.get();
        if fresh {
            self.served.set(seq.saturating_add(1));
        }
        fresh
    }

    /// Whether the message with this number is announced for the first time.
    pub(in crate::ucp) fn announce(&self, seq: u64) -> bool {
        let fresh = seq >= self.announced.get();
        if fresh {
            self.announced.set(seq.saturating_add(1));
        }
        fresh
    }
}
