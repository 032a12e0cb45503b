//! Posted receives that wait for their message.
//!
//! A message takes the receive that was posted first among those that match. Receives for
//! exactly one tag sit in hash buckets, which grow with their number; those with a mask in one
//! list. Each has a sequence number, which decides between the two finds. The lists run through
//! the requests themselves, so that posting and matching allocate nothing.
#![forbid(unsafe_code)]

use core::cell::Cell;

use super::list::Buckets;
use crate::sys::cache;
use crate::ucp::request::{ReqRef, TagInfo};

/// The mask of an exact receive.
const EXACT: u64 = u64::MAX;

/// What a request needs to sit in the queue, besides its tag and the next request.
#[derive(Default)]
pub struct MatchLink {
    /// The neighbour before it; of the first one, the last.
    prev: Cell<Option<ReqRef>>,
    mask: Cell<u64>,
    seq: Cell<u64>,
}

/// A list by its first request. What matching the first one of a bucket touches is one cache line
/// of the request, and nothing of its `MatchLink`.
#[derive(Clone, Copy, Default)]
struct List {
    head: Option<ReqRef>,
}

impl List {
    #[inline(always)]
    fn push_back(&mut self, req: ReqRef) {
        req.set_next(None);
        let Some(head) = self.head else {
            req.link().prev.set(Some(req));
            self.head = Some(req);
            return;
        };
        let tail = head.link().prev.replace(Some(req));
        req.link().prev.set(tail);
        if let Some(tail) = tail {
            tail.set_next(Some(req));
        }
    }

    #[inline(always)]
    fn remove(&mut self, req: ReqRef) {
        let next = req.next();
        if self.head == Some(req) {
            self.head = next;
            if let Some(next) = next {
                next.link().prev.set(req.link().prev.get());
            }
            return;
        }
        let prev = req.link().prev.get();
        if let Some(prev) = prev {
            prev.set_next(next);
        }
        if let Some(after) = next.or(self.head) {
            after.link().prev.set(prev);
        }
    }

    /// The first one that waits for exactly this tag.
    #[inline(always)]
    fn find_exact(&self, tag: u64) -> Option<ReqRef> {
        let mut at = self.head;
        while let Some(req) = at {
            if req.tag() == tag {
                return Some(req);
            }
            at = req.next();
        }
        None
    }

    /// The first one that `tag` matches.
    fn find(&self, tag: u64) -> Option<ReqRef> {
        let mut at = self.head;
        while let Some(req) = at {
            if (req.tag() ^ tag) & req.link().mask.get() == 0 {
                return Some(req);
            }
            at = req.next();
        }
        None
    }

    fn drain_into(&self, out: &mut Vec<ReqRef>) {
        let mut at = self.head;
        while let Some(req) = at {
            at = req.next();
            req.dequeued();
            req.set_info(TagInfo::default());
            out.push(req);
        }
    }
}

/// The queue of posted receives of a worker.
pub struct Expected {
    buckets: Buckets<List>,
    masked: List,
    next_seq: u64,
    exact_count: usize,
    ahead: Ahead,
}

/// Guesses which request is matched next: requests lie in memory as they were posted first, so that
/// those of a deep queue are mostly matched at a regular distance from one another.
#[derive(Default)]
struct Ahead {
    last: usize,
    step: usize,
}

impl Ahead {
    /// So many requests ahead: what a look into memory takes.
    const DEPTH: usize = 8;

    #[inline(always)]
    fn matched(&mut self, req: ReqRef) {
        let at = req.area().addr();
        let step = at.wrapping_sub(self.last);
        if step == self.step && step != 0 {
            cache::fetch_to_write(req.line_at(step.wrapping_mul(Self::DEPTH)), 1);
        }
        self.last = at;
        self.step = step;
    }
}

impl Default for Expected {
    fn default() -> Self {
        Expected {
            buckets: Buckets::new(),
            masked: List::default(),
            next_seq: 0,
            exact_count: 0,
            ahead: Ahead::default(),
        }
    }
}

impl Expected {
    /// Queues a receive for messages whose tag equals `tag` in the bits of `mask`.
    #[inline(always)]
    pub fn push(&mut self, tag: u64, mask: u64, req: ReqRef) {
        req.enqueued(tag);
        let link = req.link();
        link.mask.set(mask);
        link.seq.set(self.next_seq);
        self.next_seq += 1;
        if mask != EXACT {
            return self.masked.push_back(req);
        }
        self.exact_count += 1;
        if self.buckets.is_small_for(self.exact_count) {
            self.grow();
        }
        if let Some(list) = self.buckets.get_mut(tag) {
            list.push_back(req);
        }
    }

    /// Twice the buckets. Requests keep their order within a bucket, since each old bucket is
    /// walked from its head.
    #[cold]
    fn grow(&mut self) {
        let larger = self.buckets.larger();
        for list in core::mem::replace(&mut self.buckets, larger).iter() {
            let mut at = list.head;
            while let Some(req) = at {
                at = req.next();
                if let Some(list) = self.buckets.get_mut(req.tag()) {
                    list.push_back(req);
                }
            }
        }
    }

    /// Takes the receive that a message with this tag belongs to.
    #[inline(always)]
    pub fn take_match(&mut self, tag: u64) -> Option<ReqRef> {
        let bucket = self.buckets.get_mut(tag)?;
        let exact = bucket.find_exact(tag);
        if self.masked.head.is_some() {
            return self.take_first(exact, tag);
        }
        let req = exact?;
        self.ahead.matched(req);
        bucket.remove(req);
        self.exact_count -= 1;
        req.dequeued();
        Some(req)
    }

    /// Takes the exact or the masked receive, whichever was posted first.
    fn take_first(&mut self, exact: Option<ReqRef>, tag: u64) -> Option<ReqRef> {
        let req = match (exact, self.masked.find(tag)) {
            (Some(e), Some(m)) if m.link().seq.get() < e.link().seq.get() => m,
            (Some(e), _) => e,
            (None, m) => m?,
        };
        self.remove(req);
        Some(req)
    }

    /// Takes a posted receive out; nothing happens if it is no longer there.
    pub fn remove(&mut self, req: ReqRef) {
        if !req.is_queued() {
            return;
        }
        req.dequeued();
        if req.link().mask.get() != EXACT {
            return self.masked.remove(req);
        }
        self.exact_count -= 1;
        if let Some(list) = self.buckets.get_mut(req.tag()) {
            list.remove(req);
        }
    }

    /// Takes all out, in no order.
    pub fn drain(&mut self) -> Vec<ReqRef> {
        let all = core::mem::take(self);
        let mut out = Vec::new();
        for list in all.buckets.iter().chain([&all.masked]) {
            list.drain_into(&mut out);
        }
        out
    }
}
