//! What an endpoint has accepted but the socket has not taken yet.

use std::collections::VecDeque;

use smallvec::SmallVec;

use crate::sys::net::{io_slice, iovec};
use crate::uct::{IoVec, Which};

use super::io as tcp_io;

/// A copied item isn't extended beyond this, so that what was sent can be given back.
const CHUNK: usize = 64 << 10;
/// Parts of one gathering send.
pub const MAX_PARTS: usize = 64;
/// Operations that wait with their buffers in place.
const MAX_ZCOPY: usize = 64;

pub type Parts = SmallVec<[iovec; MAX_PARTS]>;
pub type Vector = SmallVec<[IoVec; 4]>;

#[derive(Debug)]
enum Item {
    /// Copied bytes, sent up to `done`.
    Copied { data: Vec<u8>, done: usize },
    /// Parts in place: the first `next` were sent.
    InPlace {
        parts: Vector,
        next: usize,
        token: u64,
    },
    /// All before this was handed to the kernel.
    Flush { token: u64 },
}

/// The queue. An idle endpoint holds no memory.
#[derive(Debug, Default)]
pub struct TxQueue {
    waiting: Option<Box<Waiting>>,
}

impl TxQueue {
    pub fn is_empty(&self) -> bool {
        self.waiting.is_none()
    }

    /// At most `bytes` copied bytes wait, and no operation.
    pub fn is_short(&self, bytes: usize) -> bool {
        let waiting = self.waiting.as_deref();
        waiting.is_none_or(|waiting| waiting.is_short(bytes))
    }

    /// Whether another operation may be accepted when `limit` copied bytes may wait.
    pub fn has_room(&self, limit: usize) -> bool {
        let waiting = self.waiting.as_deref();
        waiting.is_none_or(|waiting| waiting.has_room(limit))
    }

    pub fn push_copied(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.waiting.get_or_insert_default().push_copied(bytes);
        }
    }

    /// Parts whose first `sent` bytes have gone already.
    pub fn push_in_place(&mut self, iov: &[IoVec], sent: usize, token: u64) {
        let waiting = self.waiting.get_or_insert_default();
        waiting.push_in_place(iov, sent, token);
    }

    pub fn push_flush(&mut self, token: u64) {
        let waiting = self.waiting.get_or_insert_default();
        waiting.items.push_back(Item::Flush { token });
    }

    /// The next bytes to send, as many parts as fit.
    pub fn gather(&self, out: &mut Parts) {
        if let Some(waiting) = &self.waiting {
            waiting.gather(out);
        }
    }

    /// `n` bytes were sent; `done` is told the tokens of what has ended by that.
    pub fn advance(&mut self, n: usize, done: impl FnMut(u64)) {
        if let Some(waiting) = &mut self.waiting {
            waiting.advance(n, done);
        }
        self.settle();
    }

    fn settle(&mut self) {
        let waiting = self.waiting.as_deref();
        if waiting.is_some_and(|waiting| waiting.items.is_empty()) {
            self.waiting = None;
        }
    }

    /// Bytes that wait in place.
    pub fn in_place_bytes(&self, which: Which) -> usize {
        let waiting = self.waiting.as_deref();
        waiting.map_or(0, |waiting| waiting.in_place_bytes(which))
    }

    /// Forgets the tokens of operations; what waits in place for them is copied, unless not even
    /// that is to be sent. False if there were none.
    pub fn let_go(&mut self, which: Which, send: bool) -> bool {
        let waiting = self.waiting.as_deref_mut();
        let found = waiting.is_some_and(|waiting| waiting.let_go(which, send));
        self.settle();
        found
    }

    /// Gives up on everything; `done` is told the tokens that were waiting.
    pub fn clear(&mut self, mut done: impl FnMut(u64)) {
        let items = self.waiting.take().map(|waiting| waiting.items);
        for item in items.into_iter().flatten() {
            match item {
                Item::InPlace { token, .. } | Item::Flush { token } => done(token),
                Item::Copied { .. } => {}
            }
        }
    }

    #[cfg(test)]
    fn counts(&self) -> (usize, usize) {
        let waiting = self.waiting.as_deref();
        waiting.map_or((0, 0), |waiting| (waiting.bytes, waiting.in_place))
    }
}

/// What waits, in the order of posting.
#[derive(Debug, Default)]
struct Waiting {
    items: VecDeque<Item>,
    /// Copied bytes that wait.
    bytes: usize,
    in_place: usize,
    /// A buffer to use again.
    spare: Vec<u8>,
}

impl Waiting {
    fn is_short(&self, bytes: usize) -> bool {
        self.bytes <= bytes && self.items.len() <= 1 && self.in_place == 0
    }

    fn has_room(&self, limit: usize) -> bool {
        self.bytes < limit && self.in_place < MAX_ZCOPY
    }

    fn push_copied(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        if let Some(Item::Copied { data, .. }) = self.items.back_mut()
            && data.len() + bytes.len() <= CHUNK
        {
            data.extend_from_slice(bytes);
            return;
        }
        let mut data = std::mem::take(&mut self.spare);
        data.clear();
        data.extend_from_slice(bytes);
        self.items.push_back(Item::Copied { data, done: 0 });
    }

    fn push_in_place(&mut self, iov: &[IoVec], sent: usize, token: u64) {
        let mut parts: Vector = iov.iter().copied().filter(|part| part.len != 0).collect();
        let mut next = 0;
        advance(&mut parts, &mut next, sent);
        self.in_place += 1;
        self.items.push_back(Item::InPlace { parts, next, token });
    }

    fn gather(&self, out: &mut Parts) {
        for item in &self.items {
            match item {
                Item::Copied { data, done } => {
                    let rest = data.get(*done..).unwrap_or_default();
                    out.push(io_slice(rest.as_ptr(), rest.len()));
                }
                Item::InPlace { parts, next, .. } => {
                    for part in parts.iter().skip(*next).take(MAX_PARTS - out.len()) {
                        out.push(io_slice(part.ptr, part.len));
                    }
                }
                Item::Flush { .. } => {}
            }
            if out.len() >= MAX_PARTS {
                return;
            }
        }
    }

    fn advance(&mut self, mut n: usize, mut done: impl FnMut(u64)) {
        while let Some(item) = self.items.front_mut() {
            match item {
                Item::Copied { data, done: sent } => {
                    let step = n.min(data.len() - *sent);
                    *sent += step;
                    n -= step;
                    self.bytes -= step;
                    if *sent < data.len() {
                        return;
                    }
                    if data.capacity() <= CHUNK {
                        self.spare = std::mem::take(data);
                    }
                }
                Item::InPlace { parts, next, token } => {
                    n = advance(parts, next, n);
                    if *next < parts.len() {
                        return;
                    }
                    self.in_place -= 1;
                    done(*token);
                }
                Item::Flush { token } => done(*token),
            }
            self.items.pop_front();
        }
    }

    fn in_place_bytes(&self, which: Which) -> usize {
        let bytes = |item: &Item| match item {
            Item::InPlace { parts, next, token } if which.includes(*token) => {
                parts.iter().skip(*next).map(|part| part.len).sum()
            }
            _ => 0,
        };
        self.items.iter().map(bytes).sum()
    }

    fn let_go(&mut self, which: Which, send: bool) -> bool {
        let mut found = false;
        for item in std::mem::take(&mut self.items) {
            match item {
                Item::InPlace { parts, next, token } if which.includes(token) => {
                    found = true;
                    self.in_place -= 1;
                    if send {
                        self.push_copy_of(parts.get(next..).unwrap_or_default());
                    }
                }
                Item::Flush { token } if which.includes(token) => found = true,
                other => self.items.push_back(other),
            }
        }
        found
    }

    fn push_copy_of(&mut self, parts: &[IoVec]) {
        let mut data = Vec::new();
        for part in parts {
            tcp_io::append_posted(&mut data, part.ptr, part.len);
        }
        self.bytes += data.len();
        if !data.is_empty() {
            self.items.push_back(Item::Copied { data, done: 0 });
        }
    }
}

/// Moves past `n` bytes of `parts`, returns what is left of `n`.
fn advance(parts: &mut Vector, next: &mut usize, mut n: usize) -> usize {
    while let Some(part) = parts.get_mut(*next) {
        let step = n.min(part.len);
        part.ptr = part.ptr.wrapping_add(step);
        part.len -= step;
        n -= step;
        if part.len != 0 {
            break;
        }
        *next += 1;
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Sends the queue `step` bytes at a time, and returns the lengths in order and the tokens.
    fn drain(queue: &mut TxQueue, step: usize) -> (usize, Vec<u64>) {
        let (mut sent, mut tokens) = (0, Vec::new());
        while !queue.is_empty() {
            let mut parts = Parts::new();
            queue.gather(&mut parts);
            let all: usize = parts.iter().map(|part| part.iov_len).sum();
            let n = all.min(step);
            queue.advance(n, |token| tokens.push(token));
            sent += n;
        }
        (sent, tokens)
    }

    #[test]
    fn tokens_come_in_order() {
        let data = [7u8; 100];
        let iov = [
            IoVec {
                ptr: data.as_ptr(),
                len: 60,
            },
            IoVec {
                ptr: std::ptr::null(),
                len: 0,
            },
            IoVec {
                ptr: data.as_ptr(),
                len: 40,
            },
        ];
        for step in [1, 7, 61, 1000] {
            let mut queue = TxQueue::default();
            queue.push_copied(&data);
            queue.push_flush(1);
            queue.push_in_place(&iov, 30, 2);
            queue.push_copied(&data);
            queue.push_flush(3);
            assert_eq!(drain(&mut queue, step), (270, vec![1, 2, 3]), "step {step}");
            assert_eq!(queue.counts(), (0, 0));
        }
    }

    #[test]
    fn what_was_taken_in_is_not_looked_at_again() {
        let mut data = vec![7u8; 300];
        let iov = [IoVec {
            ptr: data.as_ptr(),
            len: 300,
        }];
        let mut queue = TxQueue::default();
        queue.push_copied(&[1; 10]);
        queue.push_in_place(&iov, 100, 1);
        queue.push_copied(&[2; 10]);
        queue.push_in_place(&iov, 0, 2);
        queue.push_flush(3);
        assert_eq!(queue.in_place_bytes(Which::All), 500);
        assert!(queue.let_go(Which::One(2), true));
        assert!(!queue.let_go(Which::One(2), true));
        assert_eq!(queue.in_place_bytes(Which::All), 200);
        assert!(queue.let_go(Which::One(1), true));
        assert_eq!(queue.in_place_bytes(Which::All), 0);
        assert_eq!(queue.counts(), (520, 0));
        let range = data.as_ptr_range();
        let mut parts = Parts::new();
        queue.gather(&mut parts);
        let ours = |at: *const u8| !range.contains(&at);
        assert!(
            parts
                .iter()
                .all(|part| ours(part.iov_base.cast_const().cast()))
        );
        assert_eq!(drain(&mut queue, 64), (520, vec![3]));
        data.fill(0);
    }

    #[test]
    fn many_parts_go_in_several_sends() {
        let data = [1u8; 200];
        let iov: Vec<IoVec> = (0..200)
            .map(|i| IoVec {
                ptr: &raw const data[i],
                len: 1,
            })
            .collect();
        let mut queue = TxQueue::default();
        queue.push_in_place(&iov, 0, 9);
        let mut parts = Parts::new();
        queue.gather(&mut parts);
        assert_eq!(parts.len(), MAX_PARTS);
        assert_eq!(drain(&mut queue, usize::MAX), (200, vec![9]));
    }

    proptest! {
        #[test]
        fn nothing_is_lost(sizes in prop::collection::vec(0usize..100_000, 1..20), step in 1usize..200_000) {
            let data = vec![0u8; 100_000];
            let mut queue = TxQueue::default();
            for size in &sizes {
                queue.push_copied(&data[..*size]);
            }
            prop_assert_eq!(drain(&mut queue, step).0, sizes.iter().sum::<usize>());
            prop_assert_eq!(queue.counts(), (0, 0));
        }
    }
}
