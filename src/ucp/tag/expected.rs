//! Posted receives that wait for their message.
//!
//! A message takes the receive that was posted first among those that match. Receives for
//! exactly one tag sit in hash buckets, which grow with their number; those with a mask in one
//! list. Each has a sequence number, which decides between the two finds.
#![forbid(unsafe_code)]

use super::list::{Link, List, NIL, bucket_of};
use crate::ucp::request::ReqRef;

/// The mask of an exact receive.
const EXACT: u64 = u64::MAX;
const MIN_BITS: u32 = 6;

struct Node {
    tag: u64,
    mask: u64,
    seq: u64,
    link: Link,
    req: Option<ReqRef>,
}

/// Where a posted receive sits; needed to cancel it.
pub type Handle = u32;

/// The queue of posted receives of a worker.
pub struct Expected {
    nodes: Vec<Node>,
    free: Vec<u32>,
    buckets: Vec<List>,
    bits: u32,
    masked: List,
    next_seq: u64,
    exact_count: usize,
}

fn link(nodes: &mut [Node], index: u32) -> Option<&mut Link> {
    nodes.get_mut(index as usize).map(|node| &mut node.link)
}

impl Default for Expected {
    fn default() -> Self {
        Expected {
            nodes: Vec::new(),
            free: Vec::new(),
            buckets: vec![List::EMPTY; 1 << MIN_BITS],
            bits: MIN_BITS,
            masked: List::EMPTY,
            next_seq: 0,
            exact_count: 0,
        }
    }
}

impl Expected {
    /// Number of posted receives.
    pub fn len(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Queues a receive for messages whose tag equals `tag` in the bits of `mask`.
    pub fn push(&mut self, tag: u64, mask: u64, req: ReqRef) -> Handle {
        let node = Node {
            tag,
            mask,
            seq: self.next_seq,
            link: Link::ALONE,
            req: Some(req),
        };
        self.next_seq += 1;
        let index = match self.free.pop() {
            Some(index) => {
                if let Some(slot) = self.nodes.get_mut(index as usize) {
                    *slot = node;
                }
                index
            }
            None => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as u32
            }
        };
        if mask == EXACT {
            self.exact_count += 1;
            if self.exact_count > self.buckets.len() {
                self.grow();
            }
            if let Some(list) = self.buckets.get_mut(bucket_of(tag, self.bits)) {
                list.push_back(self.nodes.as_mut_slice(), link, index);
            }
        } else {
            self.masked
                .push_back(self.nodes.as_mut_slice(), link, index);
        }
        index
    }

    /// Twice the buckets. Nodes keep their order within a bucket, since each old bucket is
    /// walked from its head.
    fn grow(&mut self) {
        self.bits += 1;
        let old = core::mem::replace(&mut self.buckets, vec![List::EMPTY; 1 << self.bits]);
        for list in old {
            let mut at = list.head();
            while let Some(node) = self.nodes.get(at as usize) {
                let next = node.link.next();
                let bucket = bucket_of(node.tag, self.bits);
                if let Some(list) = self.buckets.get_mut(bucket) {
                    list.push_back(self.nodes.as_mut_slice(), link, at);
                }
                at = next;
            }
        }
    }

    fn find_exact(&self, tag: u64) -> Option<(u32, u64)> {
        let mut at = self.buckets.get(bucket_of(tag, self.bits))?.head();
        while let Some(node) = self.nodes.get(at as usize) {
            if node.tag == tag {
                return Some((at, node.seq));
            }
            at = node.link.next();
        }
        None
    }

    fn find_masked(&self, tag: u64) -> Option<(u32, u64)> {
        let mut at = self.masked.head();
        while let Some(node) = self.nodes.get(at as usize) {
            if (node.tag ^ tag) & node.mask == 0 {
                return Some((at, node.seq));
            }
            at = node.link.next();
        }
        None
    }

    /// Takes the receive that a message with this tag belongs to.
    pub fn take_match(&mut self, tag: u64) -> Option<ReqRef> {
        let exact = if self.exact_count == 0 {
            None
        } else {
            self.find_exact(tag)
        };
        let masked = if self.masked.head() == NIL {
            None
        } else {
            self.find_masked(tag)
        };
        let index = match (exact, masked) {
            (Some((e, e_seq)), Some((m, m_seq))) => {
                if e_seq < m_seq {
                    e
                } else {
                    m
                }
            }
            (Some((index, _)), None) | (None, Some((index, _))) => index,
            (None, None) => return None,
        };
        self.remove(index)
    }

    /// Takes a posted receive out. `None` if it is no longer there.
    pub fn remove(&mut self, index: Handle) -> Option<ReqRef> {
        let node = self.nodes.get_mut(index as usize)?;
        let req = node.req.take()?;
        let (tag, mask) = (node.tag, node.mask);
        if mask == EXACT {
            self.exact_count -= 1;
            let bucket = bucket_of(tag, self.bits);
            if let Some(list) = self.buckets.get_mut(bucket) {
                list.remove(self.nodes.as_mut_slice(), link, index);
            }
        } else {
            self.masked.remove(self.nodes.as_mut_slice(), link, index);
        }
        self.free.push(index);
        Some(req)
    }

    /// Takes all out, in no order.
    pub fn drain(&mut self) -> Vec<ReqRef> {
        let all = core::mem::take(self);
        all.nodes.into_iter().filter_map(|node| node.req).collect()
    }
}
