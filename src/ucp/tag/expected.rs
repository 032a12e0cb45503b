//! Posted receives that wait for their message.
//!
//! A message takes the receive that was posted first among those that match. Receives for
//! exactly one tag sit in hash buckets, which grow with their number; those with a mask in one
//! list. Each has a sequence number, which decides between the two finds. The lists run through
//! the requests themselves, so that posting and matching allocate nothing.
#![forbid(unsafe_code)]

use core::cell::Cell;

use super::list::bucket_of;
use crate::ucp::request::ReqRef;

/// The mask of an exact receive.
const EXACT: u64 = u64::MAX;
const MIN_BITS: u32 = 6;

/// What a request needs to sit in the queue: its neighbours, and what it waits for.
#[derive(Default)]
pub struct MatchLink {
    prev: Cell<Option<ReqRef>>,
    next: Cell<Option<ReqRef>>,
    tag: Cell<u64>,
    mask: Cell<u64>,
    seq: Cell<u64>,
    queued: Cell<bool>,
}

impl MatchLink {
    /// Whether it is a receive that no message has matched.
    pub fn is_queued(&self) -> bool {
        self.queued.get()
    }

    /// A free request is in a list as well, singly linked.
    #[inline(always)]
    pub fn set_next(&self, next: Option<ReqRef>) {
        self.next.set(next);
    }

    #[inline(always)]
    pub fn take_next(&self) -> Option<ReqRef> {
        self.next.get()
    }
}

/// First and last request of a list.
#[derive(Clone, Copy, Default)]
struct List {
    head: Option<ReqRef>,
    tail: Option<ReqRef>,
}

impl List {
    #[inline(always)]
    fn push_back(&mut self, req: ReqRef) {
        let link = req.link();
        link.prev.set(self.tail);
        link.next.set(None);
        match self.tail.replace(req) {
            Some(tail) => tail.link().next.set(Some(req)),
            None => self.head = Some(req),
        }
    }

    #[inline(always)]
    fn remove(&mut self, req: ReqRef) {
        let link = req.link();
        let (prev, next) = (link.prev.get(), link.next.get());
        match prev {
            Some(prev) => prev.link().next.set(next),
            None => self.head = next,
        }
        match next {
            Some(next) => next.link().prev.set(prev),
            None => self.tail = prev,
        }
    }

    /// The first that `tag` matches.
    #[inline(always)]
    fn find(&self, tag: u64) -> Option<ReqRef> {
        let mut at = self.head;
        while let Some(req) = at {
            let link = req.link();
            if (link.tag.get() ^ tag) & link.mask.get() == 0 {
                return Some(req);
            }
            at = link.next.get();
        }
        None
    }

    fn drain_into(&self, out: &mut Vec<ReqRef>) {
        let mut at = self.head;
        while let Some(req) = at {
            at = req.link().next.get();
            req.link().queued.set(false);
            out.push(req);
        }
    }
}

/// The queue of posted receives of a worker.
pub struct Expected {
    buckets: Vec<List>,
    bits: u32,
    masked: List,
    next_seq: u64,
    exact_count: usize,
}

impl Default for Expected {
    fn default() -> Self {
        Expected {
            buckets: vec![List::default(); 1 << MIN_BITS],
            bits: MIN_BITS,
            masked: List::default(),
            next_seq: 0,
            exact_count: 0,
        }
    }
}

impl Expected {
    /// Queues a receive for messages whose tag equals `tag` in the bits of `mask`.
    #[inline(always)]
    pub fn push(&mut self, tag: u64, mask: u64, req: ReqRef) {
        let link = req.link();
        link.tag.set(tag);
        link.mask.set(mask);
        link.seq.set(self.next_seq);
        link.queued.set(true);
        self.next_seq += 1;
        if mask != EXACT {
            return self.masked.push_back(req);
        }
        self.exact_count += 1;
        if self.exact_count > self.buckets.len() {
            self.grow();
        }
        if let Some(list) = self.buckets.get_mut(bucket_of(tag, self.bits)) {
            list.push_back(req);
        }
    }

    /// Twice the buckets. Requests keep their order within a bucket, since each old bucket is
    /// walked from its head.
    #[cold]
    fn grow(&mut self) {
        self.bits += 1;
        let fresh = vec![List::default(); 1 << self.bits];
        for list in core::mem::replace(&mut self.buckets, fresh) {
            let mut at = list.head;
            while let Some(req) = at {
                at = req.link().next.get();
                let bucket = bucket_of(req.link().tag.get(), self.bits);
                if let Some(list) = self.buckets.get_mut(bucket) {
                    list.push_back(req);
                }
            }
        }
    }

    /// Takes the receive that a message with this tag belongs to.
    #[inline(always)]
    pub fn take_match(&mut self, tag: u64) -> Option<ReqRef> {
        let bucket = self.buckets.get_mut(bucket_of(tag, self.bits))?;
        let exact = bucket.find(tag);
        if self.masked.head.is_some() {
            return self.take_first(exact, tag);
        }
        let req = exact?;
        bucket.remove(req);
        self.exact_count -= 1;
        req.link().queued.set(false);
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
        let link = req.link();
        if !link.queued.replace(false) {
            return;
        }
        if link.mask.get() != EXACT {
            return self.masked.remove(req);
        }
        self.exact_count -= 1;
        let bucket = bucket_of(link.tag.get(), self.bits);
        if let Some(list) = self.buckets.get_mut(bucket) {
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
