//! Messages that arrived before their receive.
//!
//! A receive takes the message that arrived first among those it matches. Each message is in a
//! list of all, which masked receives and probes walk, and in a hash bucket of its tag.
#![forbid(unsafe_code)]

use super::list::{Link, List, bucket_of};
use crate::ucp::proto::rndv::ranges::Ranges;
use crate::ucp::wire::rndv::Rts;
use crate::ucp::wire::{Identity, Origin};
use crate::ucs::status::Error;

const MIN_BITS: u32 = 6;

/// Whom to tell that a synchronous send was matched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckTo {
    pub origin: Origin,
    pub op: u64,
}

/// The fragments of a message that is still coming in.
#[derive(Debug)]
pub struct Partial {
    pub identity: Identity,
    /// Offset and bytes of each fragment, in order of arrival.
    pub frags: Vec<(usize, Box<[u8]>)>,
    pub received: Ranges,
}

/// What there is of a message.
#[derive(Debug)]
pub enum Body {
    Whole(Box<[u8]>),
    Partial(Partial),
    Rndv(Box<Rts>),
    /// The rest will never come.
    Lost(Error),
}

/// A message without a receive.
#[derive(Debug)]
pub struct Message {
    pub tag: u64,
    /// Bytes of the whole message.
    pub total: usize,
    pub ack: Option<AckTo>,
    pub body: Body,
}

struct Node {
    message: Option<Message>,
    tag: u64,
    generation: u32,
    /// Claimed by a probe: not in the lists any more.
    claimed: bool,
    all: Link,
    bucket: Link,
}

/// Names a message, also one claimed by a probe. A stale handle finds nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handle {
    index: u32,
    generation: u32,
}

impl Handle {
    /// As the pointer-sized value that `ucp_tag_message_h` is; never 0.
    pub fn to_raw(self) -> u64 {
        (u64::from(self.generation) << 32) | u64::from(self.index) | 1 << 31
    }

    pub fn from_raw(raw: u64) -> Handle {
        Handle {
            index: raw as u32 & !(1 << 31),
            generation: (raw >> 32) as u32,
        }
    }
}

/// The queue of unexpected messages of a worker.
pub struct Unexpected {
    nodes: Vec<Node>,
    free: Vec<u32>,
    all: List,
    buckets: Vec<List>,
    bits: u32,
    queued: usize,
}

impl Default for Unexpected {
    fn default() -> Self {
        Unexpected {
            nodes: Vec::new(),
            free: Vec::new(),
            all: List::EMPTY,
            buckets: vec![List::EMPTY; 1 << MIN_BITS],
            bits: MIN_BITS,
            queued: 0,
        }
    }
}

fn link_all(nodes: &mut [Node], index: u32) -> Option<&mut Link> {
    nodes.get_mut(index as usize).map(|node| &mut node.all)
}

fn link_bucket(nodes: &mut [Node], index: u32) -> Option<&mut Link> {
    nodes.get_mut(index as usize).map(|node| &mut node.bucket)
}

impl Unexpected {
    /// Messages that a receive could match.
    pub fn len(&self) -> usize {
        self.queued
    }

    pub fn is_empty(&self) -> bool {
        self.queued == 0
    }

    /// A message that waits here was announced again: its receive will answer that. False if it
    /// isn't here.
    pub fn rebind(&mut self, again: &Rts) -> bool {
        for node in &mut self.nodes {
            if let Some(message) = &mut node.message
                && let Body::Rndv(rts) = &mut message.body
                && rts.identity == again.identity
            {
                **rts = again.clone();
                return true;
            }
        }
        false
    }

    /// Appends a message.
    pub fn push(&mut self, message: Message) -> Handle {
        let tag = message.tag;
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.nodes.push(Node {
                    message: None,
                    tag,
                    generation: 1,
                    claimed: false,
                    all: Link::ALONE,
                    bucket: Link::ALONE,
                });
                (self.nodes.len() - 1) as u32
            }
        };
        let mut generation = 0;
        if let Some(node) = self.nodes.get_mut(index as usize) {
            node.message = Some(message);
            node.tag = tag;
            node.claimed = false;
            generation = node.generation;
        }
        self.queued += 1;
        self.all
            .push_back(self.nodes.as_mut_slice(), link_all, index);
        if self.queued > self.buckets.len() {
            self.grow();
        } else if let Some(list) = self.buckets.get_mut(bucket_of(tag, self.bits)) {
            list.push_back(self.nodes.as_mut_slice(), link_bucket, index);
        }
        Handle { index, generation }
    }

    /// Twice the buckets, filled in order of arrival.
    fn grow(&mut self) {
        self.bits += 1;
        self.buckets = vec![List::EMPTY; 1 << self.bits];
        let mut at = self.all.head();
        while let Some(node) = self.nodes.get(at as usize) {
            let next = node.all.next();
            let bucket = bucket_of(node.tag, self.bits);
            if let Some(list) = self.buckets.get_mut(bucket) {
                list.push_back(self.nodes.as_mut_slice(), link_bucket, at);
            }
            at = next;
        }
    }

    /// The first message that a receive of `tag` under `mask` matches.
    pub fn find(&self, tag: u64, mask: u64) -> Option<(Handle, &Message)> {
        if self.queued == 0 {
            return None;
        }
        let exact = mask == u64::MAX;
        let mut at = if exact {
            self.buckets.get(bucket_of(tag, self.bits))?.head()
        } else {
            self.all.head()
        };
        while let Some(node) = self.nodes.get(at as usize) {
            if (node.tag ^ tag) & mask == 0 {
                let handle = Handle {
                    index: at,
                    generation: node.generation,
                };
                return node.message.as_ref().map(|message| (handle, message));
            }
            at = if exact {
                node.bucket.next()
            } else {
                node.all.next()
            };
        }
        None
    }

    fn node(&mut self, handle: Handle) -> Option<&mut Node> {
        self.nodes
            .get_mut(handle.index as usize)
            .filter(|node| node.generation == handle.generation && node.message.is_some())
    }

    /// The message, whether queued or claimed.
    pub fn get_mut(&mut self, handle: Handle) -> Option<&mut Message> {
        self.node(handle)?.message.as_mut()
    }

    /// A probe takes the message out of the queue, but leaves it here for its receive.
    pub fn claim(&mut self, handle: Handle) {
        let Some(node) = self.node(handle) else {
            return;
        };
        if core::mem::replace(&mut node.claimed, true) {
            return;
        }
        let tag = node.tag;
        self.queued -= 1;
        self.all
            .remove(self.nodes.as_mut_slice(), link_all, handle.index);
        if let Some(list) = self.buckets.get_mut(bucket_of(tag, self.bits)) {
            list.remove(self.nodes.as_mut_slice(), link_bucket, handle.index);
        }
    }

    /// The rest of this message will never come. Only who has claimed it needs to know that it
    /// ever began.
    pub fn lose(&mut self, handle: Handle, error: Error) {
        match self.node(handle) {
            Some(Node {
                claimed: true,
                message: Some(message),
                ..
            }) => {
                message.ack = None;
                message.body = Body::Lost(error);
            }
            _ => drop(self.take(handle)),
        }
    }

    /// Takes the message, queued or claimed.
    pub fn take(&mut self, handle: Handle) -> Option<Message> {
        self.node(handle)?;
        self.claim(handle);
        let node = self.nodes.get_mut(handle.index as usize)?;
        node.generation = node.generation.wrapping_add(1).max(1) & 0x00ff_ffff;
        self.free.push(handle.index);
        node.message.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(tag: u64) -> Message {
        Message {
            tag,
            total: 0,
            ack: None,
            body: Body::Whole(Box::default()),
        }
    }

    proptest! {
        /// Agrees with a plain list under any sequence of arrivals, receives and probes.
        #[test]
        fn like_a_list(steps in proptest::collection::vec((0u8..4, 0u64..6, any::<bool>()), 0..300)) {
            let mut queue = Unexpected::default();
            let mut model: Vec<(u64, Handle)> = Vec::new();
            for (what, tag, exact) in steps {
                let mask = if exact { u64::MAX } else { 1 };
                if what < 2 {
                    let handle = queue.push(message(tag));
                    model.push((tag, handle));
                    continue;
                }
                let want = model.iter().position(|(t, _)| (t ^ tag) & mask == 0);
                let found = queue.find(tag, mask).map(|(handle, _)| handle);
                prop_assert_eq!(found, want.map(|i| model[i].1));
                if let (Some(handle), Some(i)) = (found, want) {
                    model.remove(i);
                    if what == 3 {
                        queue.claim(handle);
                        prop_assert!(queue.get_mut(Handle::from_raw(handle.to_raw())).is_some());
                    }
                    prop_assert!(queue.take(handle).is_some());
                    prop_assert!(queue.take(handle).is_none());
                }
                prop_assert_eq!(queue.len(), model.len());
            }
        }
    }
}
