//! The sending side of a ring.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::sys::cache;
use crate::sys::usermem::copy;

use super::area::{Area, Owner};
use super::layout::{BLOCK_TAIL, CTRL_LEN, Ctrl, Geometry, LINE, Place, block, lead, lines};
use super::share::Share;

/// Lines of a long message that are fetched before it is packed; then the processor's own guesses
/// have caught up.
const PREFETCH: usize = 32;

/// Where a sender writes. It must not outlive the [`Area`] that it was made from: its owner keeps
/// both.
pub struct Tx {
    /// The slot of the next message and the parity it gets; in the shared ring its head decides.
    next: Cell<Slot>,
    /// Where the next message goes, again only in a ring of our own.
    head: Cell<Place>,
    /// What the receiver was known to have read.
    tail: Cell<Place>,
    share: Option<Share>,
    slots: *mut u8,
    data: *mut u8,
    geometry: Geometry,
    /// log2 of the number of slots.
    shift: u32,
    tail_word: *const AtomicU64,
}

/// A slot in memory, with the parity that makes it a message.
#[derive(Clone, Copy)]
struct Slot {
    ptr: *mut u8,
    parity: u64,
}

/// A reserved place for one message.
struct Reserved {
    slot: Slot,
    line: u32,
    /// Number of the slot after it.
    next: u32,
}

impl Tx {
    /// The sender of ring `ring`, which is claimed, or shared by all: then `share` says who this is.
    pub fn new(area: &Area, ring: usize, share: Option<Owner>) -> Tx {
        let geometry = *area.geometry();
        let base = geometry.ring(ring);
        let tail_word = area.word64(block(ring) + BLOCK_TAIL);
        let tail = Place::unpack(tail_word.load(Ordering::Acquire));
        let tx = Tx {
            next: Cell::new(Slot {
                ptr: core::ptr::null_mut(),
                parity: 0,
            }),
            slots: area.at(base),
            data: area.at(base + geometry.slots_len()),
            geometry,
            shift: geometry.slots.trailing_zeros(),
            head: Cell::new(tail),
            tail: Cell::new(tail),
            tail_word,
            share: share.map(|owner| Share::new(area, owner)),
        };
        tx.next.set(tx.slot(tail.slot));
        tx
    }

    /// Longest message in a slot.
    #[inline(always)]
    pub fn max_inline(&self) -> usize {
        self.geometry.max_inline()
    }

    /// Longest message.
    #[inline(always)]
    pub fn max_message(&self) -> usize {
        self.geometry.max_message as usize
    }

    #[inline(always)]
    fn slot(&self, number: u32) -> Slot {
        let index = number & (self.geometry.slots - 1);
        let offset = index as usize * self.geometry.slot_len as usize;
        Slot {
            ptr: self.slots.wrapping_add(offset),
            parity: u64::from(!(number >> self.shift) & 1),
        }
    }

    #[inline(always)]
    fn reserve(&self, lines: u32) -> Option<Reserved> {
        if let Some(share) = &self.share {
            return self.reserve_shared(share, lines);
        }
        let head = self.head.get();
        let (line, after) = match head.reserve(self.tail.get(), lines, &self.geometry) {
            Some(found) => found,
            None => head.reserve(self.reload_tail(), lines, &self.geometry)?,
        };
        let slot = self.next.get();
        self.head.set(after);
        self.next
            .set(if after.slot & (self.geometry.slots - 1) == 0 {
                self.slot(after.slot)
            } else {
                Slot {
                    ptr: slot.ptr.wrapping_add(self.geometry.slot_len as usize),
                    parity: slot.parity,
                }
            });
        let next = after.slot;
        Some(Reserved { slot, line, next })
    }

    #[cold]
    fn reload_tail(&self) -> Place {
        // SAFETY: points into the area, which outlives `self`.
        let tail = Place::unpack(unsafe { &*self.tail_word }.load(Ordering::Acquire));
        self.tail.set(tail);
        tail
    }

    fn reserve_shared(&self, share: &Share, lines: u32) -> Option<Reserved> {
        share.take(|head| {
            let (line, next) = match head.reserve(self.tail.get(), lines, &self.geometry) {
                Some(found) => found,
                None => head.reserve(self.reload_tail(), lines, &self.geometry)?,
            };
            let reserved = Reserved {
                slot: self.slot(head.slot),
                line,
                next: next.slot,
            };
            Some((reserved, next))
        })
    }

    /// Sends a header and payload that fit in a slot together; false if there is no room.
    #[inline(always)]
    pub fn send_short(&self, id: u8, header: u64, payload: &[u8]) -> bool {
        debug_assert!(8 + payload.len() <= self.max_inline());
        let Some(Reserved { slot, .. }) = self.reserve(0) else {
            return false;
        };
        let len = 8 + payload.len();
        if CTRL_LEN + len <= LINE {
            self.keep_second_line(slot);
        }
        let to = slot.ptr.wrapping_add(CTRL_LEN);
        // SAFETY: the slot is ours until it is published, and long enough for both.
        unsafe {
            to.cast::<u64>().write(header);
            copy(payload.as_ptr(), to.add(8), payload.len());
        }
        slot.publish(Ctrl::inline(slot.parity, id, len as u32));
        true
    }

    /// Of messages in the first line of each slot alone the processor guesses worse which lines come
    /// next than of a walk over all lines: measured, a tenth of the latency of 8 bytes.
    #[inline(always)]
    fn keep_second_line(&self, slot: Slot) {
        if self.geometry.slot_len as usize > LINE {
            cache::fetch_to_read(slot.ptr.wrapping_add(LINE), 1);
        }
    }

    /// Sends what `pack` writes, `max_len` bytes at most. `None` if there is no room, `Some(false)`
    /// if `pack` says that it wrote more than it could have.
    pub fn send_packed(
        &self,
        id: u8,
        max_len: usize,
        pack: &mut dyn FnMut(&mut [u8]) -> usize,
    ) -> Option<bool> {
        debug_assert!(max_len <= self.max_message());
        let inline = max_len <= self.max_inline();
        let wanted = if inline { 0 } else { lines(max_len as u32) };
        let Reserved { slot, line, next } = self.reserve(wanted)?;
        let to = if inline {
            slot.ptr.wrapping_add(CTRL_LEN)
        } else {
            let offset = line & (self.geometry.data_lines - 1);
            let to = self.data.wrapping_add(offset as usize * LINE);
            cache::fetch_to_write(to, PREFETCH.min(wanted as usize));
            to.wrapping_add(lead(max_len as u32))
        };
        // SAFETY: the place is ours until it is published and has `max_len` bytes: the lines end where
        // these do. Whatever other processes left there are initialised bytes.
        let room = unsafe { core::slice::from_raw_parts_mut(to, max_len) };
        let len = pack(room);
        let parity = slot.parity;
        if len > max_len {
            slot.publish(Ctrl::inline(parity, Ctrl::SKIP, 0));
            return Some(false);
        }
        let ctrl = if inline {
            Ctrl::inline(parity, id, len as u32)
        } else {
            self.give_back(next, line, lines(len as u32));
            let ctrl = Ctrl::data(parity, id, len as u32, line);
            if len == max_len {
                ctrl.at_end()
            } else {
                let lead = lead(max_len as u32);
                if lead != 0 {
                    // SAFETY: both places are inside the lines that were reserved.
                    unsafe { core::ptr::copy(to, to.sub(lead), len) };
                }
                ctrl
            }
        };
        slot.publish(ctrl);
        Some(true)
    }

    /// Where a message of `len` bytes would be written next and how many lines it would take, if
    /// that is known to be free and this sender's alone.
    #[inline]
    pub fn ahead(&self, len: usize) -> Option<(*mut u8, u32)> {
        if self.share.is_some() {
            return None;
        }
        let lines = lines(len as u32);
        let (line, _) = (self.head.get()).reserve(self.tail.get(), lines, &self.geometry)?;
        let offset = line & (self.geometry.data_lines - 1);
        Some((self.data.wrapping_add(offset as usize * LINE), lines))
    }

    /// Data lines that were reserved but not needed, if nothing was sent meanwhile.
    fn give_back(&self, slot: u32, line: u32, used: u32) {
        if self.share.is_none() && self.head.get().slot == slot {
            let line = line.wrapping_add(used);
            self.head.set(Place { slot, line });
        }
    }
}

impl Slot {
    /// Makes the message visible.
    #[inline(always)]
    fn publish(self, ctrl: Ctrl) {
        // SAFETY: the slot is inside the mapped ring, its first word is aligned and an atomic in
        // every process.
        let word = unsafe { AtomicU64::from_ptr(self.ptr.cast()) };
        word.store(ctrl.0, Ordering::Release);
    }
}
