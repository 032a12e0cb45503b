//! Messages that arrived before their receive.
//!
//! A receive takes the message that arrived first among those it matches. Each message is in a
//! list of all, which masked receives and probes walk, and in a hash bucket of its tag.
#![forbid(unsafe_code)]

use super::list::{Buckets, Link, List, NIL};
use crate::ucp::proto::rndv::ranges::Ranges;
use crate::ucp::wire::rndv::Rts;
use crate::ucp::wire::{Identity, Origin};
use crate::ucs::status::Error;

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
    /// Bytes of the whole message.
    pub total: usize,
    /// Offset and bytes of each fragment, in order of arrival.
    pub frags: Vec<(usize, Box<[u8]>)>,
    pub received: Ranges,
}

/// Messages of so many bytes need no memory of their own.
const SHORT: usize = 22;

/// What there is of a message.
#[derive(Debug)]
pub enum Body {
    Short(u8, [u8; SHORT]),
    Whole(Box<[u8]>),
    Partial(Box<Partial>),
    Rndv(Box<Rts>),
    /// The rest, of so many bytes in all, will never come.
    Lost(Error, usize),
}

impl Body {
    /// All of a message.
    pub fn whole(payload: &[u8]) -> Body {
        let mut bytes = [0; SHORT];
        match bytes.get_mut(..payload.len()) {
            Some(room) => {
                room.copy_from_slice(payload);
                Body::Short(payload.len() as u8, bytes)
            }
            None => Body::Whole(payload.into()),
        }
    }

    /// The bytes, if all are here.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Body::Short(len, bytes) => bytes.get(..usize::from(*len)),
            Body::Whole(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// A message without a receive.
#[derive(Debug)]
pub struct Message {
    pub tag: u64,
    pub ack: Option<Box<AckTo>>,
    pub body: Body,
}

impl Message {
    /// Bytes of the whole message.
    pub fn total(&self) -> usize {
        match &self.body {
            Body::Short(len, _) => usize::from(*len),
            Body::Whole(bytes) => bytes.len(),
            Body::Partial(partial) => partial.total,
            Body::Rndv(rts) => usize::try_from(rts.total).unwrap_or(usize::MAX),
            Body::Lost(_, total) => *total,
        }
    }
}

/// What a receive finds that takes whole messages only.
pub enum Whole<T> {
    /// No message that it matches.
    None,
    /// One that isn't whole, or whose sender is to be told.
    Other,
    /// One, of whose tag and bytes this has become.
    Taken(T),
}

/// One cache line.
#[repr(align(64))]
struct Node {
    message: Option<Message>,
    generation: u32,
    /// Its neighbours in order of arrival; where none is queued here, the next such node.
    all: Link,
    bucket: Link,
}

const _: () = assert!(size_of::<Node>() == 64);

impl Node {
    /// Its message is gone: the handle of that finds nothing any more, and the next message may come.
    #[inline(always)]
    fn retire(&mut self, handle: Handle, free: &mut u32) {
        self.generation = (handle.generation.wrapping_add(1) & 0x00ff_ffff).max(1);
        self.all = Link::to(core::mem::replace(free, handle.index));
    }
}

/// Set in the generation of a message that a probe has claimed: it is not in the lists any more.
const CLAIMED: u32 = 1 << 31;

const CHUNK: usize = 64;

/// All nodes. They stay where they are as their number grows.
#[derive(Default)]
struct Nodes {
    chunks: Vec<Box<[Node]>>,
}

impl Nodes {
    #[inline(always)]
    fn get(&self, index: u32) -> Option<&Node> {
        let index = index as usize;
        self.chunks.get(index / CHUNK)?.get(index % CHUNK)
    }

    #[inline(always)]
    fn get_mut(&mut self, index: u32) -> Option<&mut Node> {
        let index = index as usize;
        self.chunks.get_mut(index / CHUNK)?.get_mut(index % CHUNK)
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut Node> {
        self.chunks.iter_mut().flatten()
    }

    /// Another chunk, each of whose nodes names the next one; the first of them.
    #[cold]
    fn grow(&mut self) -> u32 {
        let first = (self.chunks.len() * CHUNK) as u32;
        let end = first + CHUNK as u32;
        let fresh = (first + 1..=end).map(|next| Node {
            message: None,
            generation: 1,
            all: Link::to(if next == end { NIL } else { next }),
            bucket: Link::ALONE,
        });
        self.chunks.push(fresh.collect());
        first
    }
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
    nodes: Nodes,
    /// The first node without a message.
    free: u32,
    all: List,
    buckets: Buckets<List>,
    queued: usize,
}

impl Default for Unexpected {
    fn default() -> Self {
        Unexpected {
            nodes: Nodes::default(),
            free: NIL,
            all: List::EMPTY,
            buckets: Buckets::new(),
            queued: 0,
        }
    }
}

fn link_all(nodes: &mut Nodes, index: u32) -> Option<&mut Link> {
    nodes.get_mut(index).map(|node| &mut node.all)
}

fn link_bucket(nodes: &mut Nodes, index: u32) -> Option<&mut Link> {
    nodes.get_mut(index).map(|node| &mut node.bucket)
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
        for node in self.nodes.iter_mut() {
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
        if self.free == NIL {
            self.free = self.nodes.grow();
        }
        let index = self.free;
        let mut generation = 0;
        if let Some(node) = self.nodes.get_mut(index) {
            self.free = node.all.next();
            node.message = Some(message);
            generation = node.generation;
        }
        self.queued += 1;
        self.all.push_back(&mut self.nodes, link_all, index);
        if self.buckets.is_small_for(self.queued) {
            self.grow();
        } else if let Some(list) = self.buckets.get_mut(tag) {
            list.push_back(&mut self.nodes, link_bucket, index);
        }
        Handle { index, generation }
    }

    /// Twice the buckets, filled in order of arrival.
    fn grow(&mut self) {
        self.buckets = self.buckets.larger();
        let mut at = self.all.head();
        while let Some(Node {
            message: Some(message),
            all,
            ..
        }) = self.nodes.get(at)
        {
            let next = all.next();
            if let Some(list) = self.buckets.get_mut(message.tag) {
                list.push_back(&mut self.nodes, link_bucket, at);
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
            self.buckets.get(tag)?.head()
        } else {
            self.all.head()
        };
        while let Some(node) = self.nodes.get(at)
            && let Some(message) = &node.message
        {
            if (message.tag ^ tag) & mask == 0 {
                let handle = Handle {
                    index: at,
                    generation: node.generation,
                };
                return Some((handle, message));
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
        self.nodes.get_mut(handle.index).filter(|node| {
            node.generation & !CLAIMED == handle.generation && node.message.is_some()
        })
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
        let Some(tag) = node.message.as_ref().map(|message| message.tag) else {
            return;
        };
        if node.generation & CLAIMED != 0 {
            return;
        }
        node.generation |= CLAIMED;
        self.unlink(handle.index, tag);
    }

    /// Out of the lists.
    #[inline(always)]
    fn unlink(&mut self, index: u32, tag: u64) {
        self.queued -= 1;
        self.all.remove(&mut self.nodes, link_all, index);
        if let Some(list) = self.buckets.get_mut(tag) {
            list.remove(&mut self.nodes, link_bucket, index);
        }
    }

    /// The rest of this message will never come. Only who has claimed it needs to know that it
    /// ever began.
    pub fn lose(&mut self, handle: Handle, error: Error) {
        match self.node(handle) {
            Some(Node {
                generation,
                message: Some(message),
                ..
            }) if *generation & CLAIMED != 0 => {
                message.ack = None;
                message.body = Body::Lost(error, message.total());
            }
            _ => drop(self.take(handle)),
        }
    }

    /// Takes the message, queued or claimed.
    pub fn take(&mut self, handle: Handle) -> Option<Message> {
        self.node(handle)?;
        self.claim(handle);
        let node = self.nodes.get_mut(handle.index)?;
        let message = node.message.take();
        node.retire(handle, &mut self.free);
        message
    }

    /// The fast path of [`Unexpected::find`] and [`Unexpected::take`]: nothing is moved.
    #[inline(always)]
    pub fn take_whole<T>(
        &mut self,
        tag: u64,
        mask: u64,
        store: impl FnOnce(u64, &[u8]) -> T,
    ) -> Whole<T> {
        let Some((handle, message)) = self.find(tag, mask) else {
            return Whole::None;
        };
        let (None, Some(bytes)) = (&message.ack, message.body.bytes()) else {
            return Whole::Other;
        };
        let (tag, stored) = (message.tag, store(message.tag, bytes));
        self.unlink(handle.index, tag);
        if let Some(node) = self.nodes.get_mut(handle.index) {
            node.message = None;
            node.retire(handle, &mut self.free);
        }
        Whole::Taken(stored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(tag: u64) -> Message {
        Message {
            tag,
            ack: None,
            body: Body::whole(&tag.to_ne_bytes()),
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
                    if what == 2 && exact {
                        let taken = queue.take_whole(tag, mask, |tag, bytes| (tag, bytes.len()));
                        prop_assert!(matches!(taken, Whole::Taken((t, 8)) if t == tag));
                        prop_assert!(queue.take(handle).is_none());
                        prop_assert_eq!(queue.len(), model.len());
                        continue;
                    }
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
