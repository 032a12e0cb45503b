//! How senders take places in the shared ring, and what becomes of those of dead ones.
//!
//! A sender takes a lock that names it, notes at the slot who takes it and where the data lines
//! go on behind it, moves the head, and lets go of the lock; then it fills the slot. It can be
//! killed anywhere: the head is moved last, so another can take over a lock whose holder is dead,
//! and the receiver skips a slot whose sender is.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::sys::hostid::is_alive;

use super::area::{Area, Owner, RingState};
use super::layout::{BLOCK_HEAD, BLOCK_LOCK, Geometry, Place, SHARED_RING, block};

/// Tries for the lock before it counts as no room: it is held for some instructions only, unless
/// its holder is kept from running.
const SPINS: u32 = 100;
/// So many times without the lock are followed by a look for its holder's life.
const LOCK_CHECK: u32 = 256;

/// A sender's access to the places. It must not outlive the [`Area`] that it was made from.
pub struct Share {
    /// The lock when this sender holds it, and its mark at a slot.
    me: u64,
    head: *const AtomicU64,
    lock: *const AtomicU64,
    /// The start of the segment.
    base: *mut u8,
    geometry: Geometry,
    busy: Cell<u32>,
}

impl Share {
    pub fn new(area: &Area, owner: Owner) -> Share {
        Share {
            me: owner.word(RingState::Claimed),
            head: area.word64(block(SHARED_RING) + BLOCK_HEAD),
            lock: area.word64(block(SHARED_RING) + BLOCK_LOCK),
            base: area.at(0),
            geometry: *area.geometry(),
            busy: Cell::new(0),
        }
    }

    fn head(&self) -> &AtomicU64 {
        // SAFETY: points into the area, which outlives `self`.
        unsafe { &*self.head }
    }

    fn lock_word(&self) -> &AtomicU64 {
        // SAFETY: points into the area, which outlives `self`.
        unsafe { &*self.lock }
    }

    /// Takes the place that `reserve` finds behind the last one: it is given that, and returns
    /// what it found and the place behind it.
    pub fn take<T>(&self, reserve: impl FnOnce(Place) -> Option<(T, Place)>) -> Option<T> {
        if !self.lock() {
            return None;
        }
        let head = Place::unpack(self.head().load(Ordering::Relaxed));
        let found = reserve(head).map(|(found, next)| {
            let claim = self.geometry.claim(head.slot);
            for (at, word) in [(claim, self.me), (claim + 8, u64::from(next.line))] {
                let to = self.base.wrapping_add(at).cast();
                // SAFETY: inside the segment by its layout, aligned, an atomic in every process.
                unsafe { AtomicU64::from_ptr(to) }.store(word, Ordering::Relaxed);
            }
            self.head().store(next.pack(), Ordering::Release);
            found
        });
        self.lock_word().store(0, Ordering::Release);
        found
    }

    fn swap_lock(&self, from: u64) -> bool {
        let lock = self.lock_word();
        lock.compare_exchange(from, self.me, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    fn lock(&self) -> bool {
        for _ in 0..SPINS {
            if self.swap_lock(0) {
                return true;
            }
            core::hint::spin_loop();
        }
        self.lock_of_the_dead()
    }

    #[cold]
    fn lock_of_the_dead(&self) -> bool {
        let count = self.busy.get().wrapping_add(1);
        self.busy.set(count);
        let held = self.lock_word().load(Ordering::Relaxed);
        count.is_multiple_of(LOCK_CHECK)
            && Owner::of_word(held).is_dead(is_alive)
            && self.swap_lock(held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::shm::{Mapping, memory_file};
    use crate::uct::sm::fifo::area::Facts;
    use crate::uct::sm::fifo::rx::Rx;
    use crate::uct::sm::fifo::tx::Tx;

    fn area() -> Area {
        let geometry = Geometry::new(4, 64, 64).expect("geometry");
        let file = memory_file(geometry.segment_len()).expect("file");
        let map = Mapping::of_file(&file, geometry.segment_len()).expect("map");
        Area::create(map, Facts::new(geometry, 1, 1, 1, 1)).expect("area")
    }

    /// No process has this start time.
    const DEAD: Owner = Owner::new(1, 1 << 39);

    #[test]
    fn a_dead_holder_loses_the_lock() {
        let (area, me) = (area(), Owner::new(2, 2));
        let tx = Tx::new(&area, SHARED_RING, Some(me));
        let lock = area.word64(block(SHARED_RING) + BLOCK_LOCK);
        // Of another namespace: nobody can know.
        lock.store(Owner::new(0, 7).word(RingState::Claimed), Ordering::Relaxed);
        assert!(!(0..2 * LOCK_CHECK).any(|_| tx.send_short(1, 0, &[])));
        lock.store(DEAD.word(RingState::Claimed), Ordering::Relaxed);
        assert!((0..LOCK_CHECK).any(|_| tx.send_short(1, 0, &[])));
        assert_eq!(lock.load(Ordering::Relaxed), 0);
        assert!(tx.send_short(1, 0, &[]));
    }

    /// Slots that a dead sender took are skipped, in whichever round, and the lines with them.
    #[test]
    fn slots_of_a_dead_sender_are_skipped() {
        let area = area();
        let rx = Rx::new(&area, SHARED_RING, 1);
        let dead = Share::new(&area, DEAD);
        let unknown = Share::new(&area, Owner::new(0, 7));
        let tx = Tx::new(&area, SHARED_RING, Some(Owner::new(2, 2)));
        let seen = crate::uct::conformance::Seen::default();
        let next = |lines| {
            move |head: Place| {
                let (slot, line) = (head.slot.wrapping_add(1), head.line + lines);
                Some(((), Place { slot, line }))
            }
        };
        let mut sent = 0;
        for round in 0..20u8 {
            assert!(!rx.skip_dead(&area, is_alive));
            dead.take(next(round as u32 % 2)).expect("a place");
            let sends = 1 + usize::from(round % 2);
            for _ in 0..sends {
                let pack = &mut |to: &mut [u8]| {
                    to.fill(round);
                    to.len()
                };
                assert_eq!(tx.send_packed(1, 60, pack), Some(true));
            }
            assert_eq!(rx.poll(&seen, 16), 0, "it isn't there yet");
            assert!(rx.skip_dead(&area, is_alive));
            assert_eq!(rx.poll(&seen, 16), 1 + sends);
            sent += sends;
        }
        assert_eq!(seen.messages.borrow().len(), sent);
        unknown.take(next(0)).expect("a place");
        assert!(!rx.skip_dead(&area, is_alive));
    }
}
