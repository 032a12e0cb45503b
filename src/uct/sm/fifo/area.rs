//! A mapped segment: its fixed facts and the shared words outside the rings.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, compiler_fence, fence};

use crate::sys::shm::Mapping;
use crate::ucs::status::{Error, Result};

use super::layout::{
    ARMED, BLOCK_STATE, Geometry, MAGIC, PRIVATE_RINGS, RINGS, SHARED_RING, SLEEPS, block,
};

/// What the receiver wrote when it made the segment.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Facts {
    magic: u64,
    pub geometry: Geometry,
    /// Also in the address: tells this segment from a later one with the same name.
    pub nonce: u32,
    pub pid: u32,
    pub start_time: u64,
    pub pid_ns: u64,
    /// The doorbell (descriptor and inode), with -1 if the receiver never sleeps.
    pub bell_inode: u64,
    pub bell_fd: i32,
    reserved: u32,
}

impl Facts {
    pub fn new(geometry: Geometry, nonce: u32, pid: u32, start_time: u64, pid_ns: u64) -> Facts {
        Facts {
            magic: MAGIC,
            geometry,
            nonce,
            pid,
            start_time,
            pid_ns,
            bell_inode: 0,
            bell_fd: -1,
            reserved: 0,
        }
    }
}

/// A ring's way through its users. The shared ring is free or active.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum RingState {
    Free = 0,
    /// Taken, but its memory may still be missing: the receiver doesn't look at it.
    Claimed = 1,
    Active = 2,
    /// The sender is done, or dead: free as soon as the receiver has read everything.
    Closed = 3,
}

const STATE_BITS: u32 = 2;
const PID_BITS: u32 = 22;

/// A process, in one word: its id (of 22 bits at most) and when it started. The two lowest bits
/// are free for a [`RingState`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owner(u64);

impl Owner {
    /// `pid`: 0 if the receiver's namespace doesn't know it.
    pub const fn new(pid: u32, start_time: u64) -> Owner {
        let pid = if pid >> PID_BITS == 0 { pid as u64 } else { 0 };
        Owner(pid << STATE_BITS | start_time << (STATE_BITS + PID_BITS))
    }

    pub(super) const fn of_word(word: u64) -> Owner {
        Owner(word >> STATE_BITS << STATE_BITS)
    }

    pub(super) const fn word(self, state: RingState) -> u64 {
        self.0 | state as u64
    }

    /// Whether it is known to be dead. `is_alive`: of a process id and start time.
    pub fn is_dead(self, is_alive: impl Fn(u32, u64) -> bool) -> bool {
        let pid = self.0 >> STATE_BITS & ((1 << PID_BITS) - 1);
        pid != 0 && !is_alive(pid as u32, self.0 >> (STATE_BITS + PID_BITS))
    }
}

/// A segment in this process's memory.
pub struct Area {
    map: Mapping,
    pub facts: Facts,
}

const GENERATION: usize = super::layout::GENERATION;
const GONE: usize = GENERATION + 8;

impl Area {
    /// Initialises a new, zeroed segment of `facts.geometry.segment_len()` bytes.
    pub fn create(map: Mapping, facts: Facts) -> Result<Area> {
        if map.len() < facts.geometry.segment_len() {
            return Err(Error::InvalidParam);
        }
        let area = Area { map, facts };
        // SAFETY: the segment is longer than `Facts`, page-aligned, and nobody else knows it yet.
        unsafe { area.map.as_ptr().cast::<Facts>().write(facts) };
        fence(Ordering::SeqCst);
        Ok(area)
    }

    /// Checks that a mapping is a segment that agrees with itself.
    pub fn attach(map: Mapping) -> Result<Area> {
        if map.len() < Geometry::MIN_SEGMENT {
            return Err(Error::InvalidAddr);
        }
        // SAFETY: long enough and page-aligned; all bit patterns are values of `Facts`.
        let facts = unsafe { map.as_ptr().cast::<Facts>().read_volatile() };
        if facts.magic != MAGIC
            || facts.geometry.check().is_err()
            || map.len() < facts.geometry.segment_len()
        {
            return Err(Error::InvalidAddr);
        }
        Ok(Area { map, facts })
    }

    pub fn geometry(&self) -> &Geometry {
        &self.facts.geometry
    }

    /// Address of byte `offset` of the segment.
    pub(super) fn at(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset < self.map.len());
        self.map.as_ptr().as_ptr().wrapping_add(offset)
    }

    pub(super) fn word32(&self, offset: usize) -> &AtomicU32 {
        debug_assert!(offset.is_multiple_of(4) && offset + 4 <= self.map.len());
        // SAFETY: offsets come from the layout, so they are aligned and inside; the mapping lives
        // as long as `self`; such words are only used as atomics, in every process.
        unsafe { AtomicU32::from_ptr(self.at(offset).cast()) }
    }

    pub(super) fn word64(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset.is_multiple_of(8) && offset + 8 <= self.map.len());
        // SAFETY: as for `word32`.
        unsafe { AtomicU64::from_ptr(self.at(offset).cast()) }
    }

    fn state(&self, ring: usize) -> &AtomicU64 {
        self.word64(block(ring) + BLOCK_STATE)
    }

    /// Changes when a ring got a sender or lost it.
    #[inline(always)]
    pub fn generation(&self) -> u32 {
        self.word32(GENERATION).load(Ordering::Acquire)
    }

    fn next_generation(&self) {
        self.word32(GENERATION).fetch_add(1, Ordering::SeqCst);
    }

    /// A ring is in use: the receiver has to look at it. Any other value counts as free.
    pub fn ring_state(&self, ring: usize) -> RingState {
        match self.state(ring).load(Ordering::Acquire) & ((1 << STATE_BITS) - 1) {
            1 => RingState::Claimed,
            2 => RingState::Active,
            3 => RingState::Closed,
            _ => RingState::Free,
        }
    }

    /// Takes a ring for one sender. It must be activated, or given back by [`Area::free`].
    pub fn claim(&self, owner: Owner) -> Option<usize> {
        (1..=PRIVATE_RINGS).find(|ring| self.claim_ring(*ring, owner))
    }

    fn claim_ring(&self, ring: usize, owner: Owner) -> bool {
        let claimed = owner.word(RingState::Claimed);
        self.state(ring)
            .compare_exchange(0, claimed, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// A sender uses the shared ring: the receiver shall look at it more closely.
    pub fn share(&self) {
        if self.ring_state(SHARED_RING) != RingState::Active {
            self.activate(SHARED_RING);
        }
    }

    /// The claimed ring has memory: the receiver shall look at it.
    pub fn activate(&self, ring: usize) {
        self.set_state(ring, RingState::Active);
        self.next_generation();
    }

    /// The sender's last message is in the ring.
    pub fn close(&self, ring: usize) {
        self.set_state(ring, RingState::Closed);
        self.next_generation();
    }

    /// A claimed ring that got no memory, or a closed one that was read to its end.
    pub fn free(&self, ring: usize) {
        self.state(ring).store(0, Ordering::Release);
    }

    fn set_state(&self, ring: usize, state: RingState) {
        let word = self.state(ring);
        let owner = Owner::of_word(word.load(Ordering::Relaxed));
        word.store(owner.word(state), Ordering::Release);
    }

    /// Closes rings whose sender has died, and frees those that never got one.
    pub fn close_dead(&self, is_alive: impl Fn(u32, u64) -> bool) {
        for ring in 1..RINGS {
            let seen = self.state(ring).load(Ordering::Acquire);
            let owner = Owner::of_word(seen);
            let next = match self.ring_state(ring) {
                RingState::Active => owner.word(RingState::Closed),
                RingState::Claimed => 0,
                RingState::Free | RingState::Closed => continue,
            };
            if owner.is_dead(&is_alive) {
                // Of several that notice, one closes.
                let won = self.state(ring).compare_exchange(
                    seen,
                    next,
                    Ordering::AcqRel,
                    Ordering::Relaxed,
                );
                if won.is_ok() {
                    self.next_generation();
                }
            }
        }
    }

    /// The receiver has closed its interface.
    pub fn set_gone(&self) {
        self.word32(GONE).store(1, Ordering::Release);
    }

    pub fn is_gone(&self) -> bool {
        self.word32(GONE).load(Ordering::Acquire) != 0
    }

    /// The receiver is about to sleep. What was published before is seen by a look at the rings
    /// after this; what comes later finds the flag.
    pub fn arm(&self) {
        self.word32(ARMED).store(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Takes the flag back; a sender that was faster rings or has rung.
    pub fn disarm(&self) {
        self.word32(ARMED).store(0, Ordering::SeqCst);
    }

    /// The receiver may sleep from now on: senders look whether it does. Unless this is set before
    /// the first of them comes, [`barrier::everywhere`] has to follow before it sleeps: a sender
    /// that hasn't seen this yet then has published before the receiver looks for messages.
    ///
    /// [`barrier::everywhere`]: crate::sys::barrier::everywhere
    pub fn will_sleep(&self) {
        self.word32(SLEEPS).store(1, Ordering::SeqCst);
    }

    /// For senders, after publishing: true if the receiver sleeps and this sender is to ring.
    #[inline]
    pub fn must_ring(&self) -> bool {
        // What was published stays before this look, as far as the compiler is concerned; for
        // processors the receiver sees to it.
        compiler_fence(Ordering::SeqCst);
        if self.word32(SLEEPS).load(Ordering::Relaxed) == 0 {
            return false;
        }
        fence(Ordering::SeqCst);
        let armed = self.word32(ARMED);
        armed.load(Ordering::Relaxed) != 0 && armed.swap(0, Ordering::SeqCst) != 0
    }

    /// The doorbell's descriptor in the receiver; to be called before the address is given out.
    pub fn set_bell(&mut self, fd: i32, inode: u64) {
        self.facts.bell_fd = fd;
        self.facts.bell_inode = inode;
        // SAFETY: as in `create`; no other process has the address yet.
        unsafe { self.map.as_ptr().cast::<Facts>().write(self.facts) };
        fence(Ordering::SeqCst);
    }
}
