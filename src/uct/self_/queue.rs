//! The messages that were posted and not yet delivered.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// Messages that may wait for delivery.
const MAX_MESSAGES: usize = 1024;
/// Bytes that may wait for delivery, beyond which only an empty queue takes a message.
const MAX_BYTES: usize = 1 << 20;
/// Buffers that are kept for later messages, and the longest of these.
const MAX_SPARE: usize = 32;
const MAX_SPARE_LEN: usize = 64 << 10;

/// One message: its id and bytes.
pub struct Message {
    pub id: u8,
    pub data: Vec<u8>,
}

/// A bounded queue of messages that recycles their buffers.
#[derive(Default)]
pub struct Queue {
    waiting: RefCell<VecDeque<Message>>,
    bytes: Cell<usize>,
    spare: RefCell<Vec<Vec<u8>>>,
}

impl Queue {
    /// True if a message of `len` bytes may be pushed.
    pub fn has_room(&self, len: usize) -> bool {
        let count = self.waiting.borrow().len();
        count == 0 || (count < MAX_MESSAGES && self.bytes.get() + len <= MAX_BYTES)
    }

    /// An empty buffer to build a message in.
    pub fn buffer(&self) -> Vec<u8> {
        self.spare.borrow_mut().pop().unwrap_or_default()
    }

    pub fn push(&self, message: Message) {
        self.bytes.set(self.bytes.get() + message.data.len());
        self.waiting.borrow_mut().push_back(message);
    }

    /// The oldest message. Its room is free at once.
    pub fn pop(&self) -> Option<Message> {
        let message = self.waiting.borrow_mut().pop_front()?;
        self.bytes.set(self.bytes.get() - message.data.len());
        Some(message)
    }

    pub fn len(&self) -> usize {
        self.waiting.borrow().len()
    }

    /// Keeps the buffer of a delivered message.
    pub fn recycle(&self, mut data: Vec<u8>) {
        let mut spare = self.spare.borrow_mut();
        if spare.len() < MAX_SPARE && data.capacity() <= MAX_SPARE_LEN {
            data.clear();
            spare.push(data);
        }
    }
}
