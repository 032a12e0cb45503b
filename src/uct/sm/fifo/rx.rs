//! The receiving side of a ring.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::sys::cache;
use crate::uct::AM_ID_MAX;
use crate::uct::iface::Events;

use super::area::{Area, Owner};
use super::layout::{
    BLOCK_HEAD, BLOCK_TAIL, CTRL_LEN, Ctrl, Geometry, LINE, Place, SHARED_RING, block, lines,
};

/// Lines of a long message that are fetched before it is delivered: its headers. Who copies the
/// payload fetches more; lines that nobody reads are better left with the sender, who will write
/// them again.
const PREFETCH: usize = 2;

/// Where a receiver reads. It must not outlive the [`Area`] that it was made from: its owner
/// keeps both.
pub struct Rx {
    /// The first word of the slot that is next, and the parity it gets with the next message.
    next: Cell<*const AtomicU64>,
    parity: Cell<u64>,
    /// What has been read.
    place: Cell<Place>,
    /// What senders were told to have been read.
    told: Cell<Place>,
    release: Place,
    geometry: Geometry,
    slot_len: usize,
    slots: *mut u8,
    data: *mut u8,
    tail: *const AtomicU64,
    complained: Cell<bool>,
}

impl Rx {
    /// The receiver of ring `ring`. Senders are told of free slots when `release_slots` have
    /// been read.
    pub fn new(area: &Area, ring: usize, release_slots: u32) -> Rx {
        let geometry = *area.geometry();
        let base = geometry.ring(ring);
        let slots = area.at(base);
        Rx {
            next: Cell::new(slots.cast::<AtomicU64>().cast_const()),
            parity: Cell::new(1),
            place: Cell::default(),
            told: Cell::default(),
            release: Place {
                slot: release_slots.clamp(1, geometry.slots),
                line: geometry.data_lines / 4,
            },
            geometry,
            slot_len: geometry.slot_len as usize,
            slots,
            data: area.at(base + geometry.slots_len()),
            tail: area.word64(block(ring) + BLOCK_TAIL),
            complained: Cell::new(false),
        }
    }

    /// The control word of the next slot, if its message is complete.
    #[inline(always)]
    fn peek(&self) -> Option<Ctrl> {
        // SAFETY: `next` points to the first word of a slot of the area, which outlives `self`.
        let ctrl = Ctrl(unsafe { &*self.next.get() }.load(Ordering::Acquire));
        (ctrl.parity() == self.parity.get()).then_some(ctrl)
    }

    /// True if nothing waits here.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.peek().is_none()
    }

    /// Delivers what waits, `most` messages at most, and returns how many.
    #[inline(always)]
    pub fn poll(&self, events: &dyn Events, most: usize) -> usize {
        match self.peek() {
            Some(ctrl) => self.deliver(ctrl, events, most),
            None => 0,
        }
    }

    fn deliver(&self, first: Ctrl, events: &dyn Events, most: usize) -> usize {
        let (mut ctrl, mut count) = (first, 0);
        loop {
            let next = self.next.get().wrapping_byte_add(self.slot_len);
            cache::fetch_to_read(next.cast(), 1);
            match self.message(ctrl) {
                Some(data) => events.am(ctrl.id(), data),
                None if ctrl.id() == Ctrl::SKIP => {}
                None => self.complain(ctrl),
            }
            self.advance(ctrl, next);
            count += 1;
            if count >= most || (!ctrl.is_inline() && events.pauses()) {
                return count;
            }
            match self.peek() {
                Some(next) => ctrl = next,
                None => return count,
            }
        }
    }

    /// The bytes of a message, if its control word makes sense: another process wrote it.
    #[inline(always)]
    fn message(&self, ctrl: Ctrl) -> Option<&[u8]> {
        let len = ctrl.len() as usize;
        if ctrl.id() >= AM_ID_MAX {
            return None;
        }
        let start = if ctrl.is_inline() {
            if len > self.slot_len - CTRL_LEN {
                return None;
            }
            self.next.get().cast::<u8>().wrapping_add(CTRL_LEN)
        } else {
            let data = self.data_at(ctrl)?;
            cache::fetch_to_read(data, PREFETCH.min(lines(ctrl.len()) as usize));
            data.wrapping_add(ctrl.lead())
        };
        // SAFETY: just checked to lie inside the ring. A well-behaved sender doesn't write there
        // until the tail is advanced; one that does garbles its own message, which the reader
        // has to survive anyway.
        Some(unsafe { core::slice::from_raw_parts(start, len) })
    }

    #[inline(always)]
    fn data_at(&self, ctrl: Ctrl) -> Option<*const u8> {
        let offset = ctrl.pos() & (self.geometry.data_lines - 1);
        let end = offset + lines(ctrl.len());
        // Lines are used in order, so that the next are never far.
        let ahead = ctrl.pos().wrapping_sub(self.place.get().line);
        let valid = ctrl.len() <= self.geometry.max_message
            && end <= self.geometry.data_lines
            && ahead < self.geometry.data_lines;
        valid.then(|| self.data.wrapping_add(offset as usize * LINE).cast_const())
    }

    /// Goes on to the next slot, at `next` unless this was the last one of the ring.
    #[inline(always)]
    fn advance(&self, ctrl: Ctrl, next: *const AtomicU64) {
        let mut place = self.place.get();
        place.slot = place.slot.wrapping_add(1);
        let told = self.told.get();
        let mut tell = place.slot.wrapping_sub(told.slot) >= self.release.slot;
        if !ctrl.is_inline() && self.data_at(ctrl).is_some() {
            place.line = ctrl.pos().wrapping_add(lines(ctrl.len()));
            tell |= place.line.wrapping_sub(told.line) >= self.release.line;
        }
        self.place.set(place);
        if place.slot & (self.geometry.slots - 1) == 0 {
            self.parity.set(self.parity.get() ^ 1);
            self.next.set(self.slots.cast::<AtomicU64>().cast_const());
        } else {
            self.next.set(next);
        }
        if tell {
            self.tell();
        }
    }

    /// For the shared ring, `area`'s: if the next slot was taken by a sender that has died since,
    /// makes it one without a message. True if so.
    #[cold]
    pub fn skip_dead(&self, area: &Area, is_alive: impl Fn(u32, u64) -> bool) -> bool {
        let mut place = self.place.get();
        let head = area.word64(block(SHARED_RING) + BLOCK_HEAD);
        if Place::unpack(head.load(Ordering::Acquire)).slot == place.slot {
            return false;
        }
        let claim = area.geometry().claim(place.slot);
        let owner = Owner::of_word(area.word64(claim).load(Ordering::Relaxed));
        // It may have filled the slot before it died, but not any more.
        if !owner.is_dead(is_alive) || !self.is_empty() {
            return false;
        }
        let line = area.word64(claim + 8).load(Ordering::Relaxed) as u32;
        if line.wrapping_sub(place.line) <= self.geometry.data_lines {
            place.line = line;
            self.place.set(place);
        }
        let skip = Ctrl::inline(self.parity.get(), Ctrl::SKIP, 0);
        // SAFETY: as in `peek`; the only one who could write here is dead.
        unsafe { &*self.next.get() }.store(skip.0, Ordering::Relaxed);
        true
    }

    /// Tells senders of everything that was read.
    pub fn tell(&self) {
        let place = self.place.get();
        // SAFETY: points into the area, which outlives `self`.
        unsafe { &*self.tail }.store(place.pack(), Ordering::Release);
        self.told.set(place);
    }

    #[cold]
    fn complain(&self, ctrl: Ctrl) {
        if !self.complained.replace(true) {
            crate::ucs_error!(
                "shared memory: a peer wrote an element that can't be (id {}, length {}); \
                 elements like this are dropped",
                ctrl.id(),
                ctrl.len()
            );
        }
    }
}
