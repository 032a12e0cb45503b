//! Where registrations live: slots that stay where they are for as long as the cache.
//!
//! A pointer to a slot may therefore be followed at any time; what it holds is decided by trying to
//! take a reference. Its state is one word: whether it can be found, and how many hold it. Who
//! takes the last reference of one that can't be found any more takes the registration out.

use core::mem::MaybeUninit;
use core::ptr::NonNull;

use super::span::{Access, Span};
use super::sync::{AtomicU32, AtomicU64, AtomicUsize, CHUNK, Ordering, Place};

const VALID: u64 = 1 << 63;

pub struct Slot<H> {
    state: AtomicU64,
    start: AtomicUsize,
    end: AtomicUsize,
    access: AtomicU32,
    /// When it was used last, in the cache's ticks.
    stamp: AtomicU64,
    /// The process that registered.
    owner: AtomicU32,
    /// There while the slot is valid or somebody holds it.
    handle: Place<MaybeUninit<H>>,
}

/// Whether a reference was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Acquired {
    Yes,
    No,
    /// One was taken, to a registration that doesn't serve; it has to be given back.
    Another,
}

/// A slot of some cache; good for as long as that cache's slots.
pub struct SlotRef<H>(NonNull<Slot<H>>);

impl<H> Clone for SlotRef<H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H> Copy for SlotRef<H> {}

// SAFETY: all parts of a slot but the handle are atomic. The handle is written before the slot
// becomes valid and taken out after the last reference went, by one thread; between these it is
// only shared.
unsafe impl<H: Send + Sync> Send for SlotRef<H> {}
// SAFETY: as above.
unsafe impl<H: Send + Sync> Sync for SlotRef<H> {}

impl<H> SlotRef<H> {
    pub fn as_ptr(self) -> *mut Slot<H> {
        self.0.as_ptr()
    }

    /// From [`SlotRef::as_ptr`] of the same cache, or NULL.
    ///
    /// # Safety
    /// The slots of that cache are still there.
    #[inline]
    pub unsafe fn from_ptr(slot: *mut Slot<H>) -> Option<SlotRef<H>> {
        NonNull::new(slot).map(SlotRef)
    }

    #[inline]
    fn slot(&self) -> &Slot<H> {
        // SAFETY: slots stay while a reference to them can be used.
        unsafe { self.0.as_ref() }
    }

    #[inline]
    pub fn span(&self) -> Span {
        Span {
            start: self.slot().start.load(Ordering::Relaxed),
            end: self.slot().end.load(Ordering::Relaxed),
        }
    }

    pub fn access(&self) -> Access {
        Access(self.slot().access.load(Ordering::Relaxed))
    }

    #[inline]
    fn serves(&self, span: Span, access: Access) -> bool {
        self.span().covers(span) && self.access().covers(access)
    }

    /// Takes a reference if this can be found and serves.
    #[inline]
    pub fn acquire(&self, span: Span, access: Access) -> Acquired {
        if !self.serves(span, access) {
            return Acquired::No;
        }
        let state = &self.slot().state;
        let mut seen = state.load(Ordering::Relaxed);
        loop {
            if seen & VALID == 0 {
                return Acquired::No;
            }
            match state.compare_exchange_weak(seen, seen + 1, Ordering::Acquire, Ordering::Relaxed)
            {
                Ok(_) => break,
                Err(now) => seen = now,
            }
        }
        // The slot may have become another registration's in between.
        if self.serves(span, access) {
            Acquired::Yes
        } else {
            Acquired::Another
        }
    }

    /// Takes one more reference. For who holds one.
    #[inline]
    pub fn hold(&self) {
        self.slot().state.fetch_add(1, Ordering::Relaxed);
    }

    /// Gives a reference back; true if the registration has to be taken out by the caller.
    #[inline]
    #[must_use]
    pub fn release(&self) -> bool {
        self.slot().state.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// It can't be found any more; true if the registration has to be taken out by the caller.
    #[must_use]
    pub fn invalidate(&self) -> bool {
        self.slot().state.fetch_and(!VALID, Ordering::AcqRel) == VALID
    }

    pub fn in_use(&self) -> bool {
        self.slot().state.load(Ordering::Relaxed) & !VALID != 0
    }

    pub fn owner(&self) -> u32 {
        self.slot().owner.load(Ordering::Relaxed)
    }

    pub fn stamp(&self) -> u64 {
        self.slot().stamp.load(Ordering::Relaxed)
    }

    /// Notes that it is being used.
    #[inline]
    pub fn touch(&self, tick: u64) {
        if self.slot().stamp.load(Ordering::Relaxed) != tick {
            self.slot().stamp.store(tick, Ordering::Relaxed);
        }
    }

    /// The registration.
    ///
    /// # Safety
    /// The caller holds a reference for as long as he uses the result.
    pub unsafe fn handle(&self) -> &H {
        // SAFETY: it is there, and nobody changes it, while there are references.
        unsafe {
            self.slot()
                .handle
                .with(|handle| (*handle).assume_init_ref())
        }
    }

    /// Takes the registration out.
    ///
    /// # Safety
    /// The caller is who was told to, by `release` or `invalidate`.
    pub unsafe fn take(&self) -> H {
        // SAFETY: nobody can reach it any more, and it is taken once.
        unsafe {
            self.slot()
                .handle
                .with_mut(|handle| (*handle).assume_init_read())
        }
    }

    /// Enters a registration, with one reference.
    ///
    /// # Safety
    /// The slot is free, and nobody else fills it.
    pub unsafe fn fill(&self, span: Span, access: Access, stamp: u64, handle: H) {
        let slot = self.slot();
        slot.start.store(span.start, Ordering::Relaxed);
        slot.end.store(span.end, Ordering::Relaxed);
        slot.access.store(access.0, Ordering::Relaxed);
        slot.stamp.store(stamp, Ordering::Relaxed);
        slot.owner.store(std::process::id(), Ordering::Relaxed);
        // SAFETY: nobody reads it before the state says so.
        slot.handle.with_mut(|at| unsafe { (*at).write(handle) });
        slot.state.store(VALID | 1, Ordering::Release);
    }
}

/// All slots of a cache. Under its lock.
pub struct Slots<H> {
    /// Never moved, never freed before this is.
    chunks: Vec<NonNull<[Slot<H>; CHUNK]>>,
    free: Vec<SlotRef<H>>,
}

// SAFETY: as for `SlotRef`; the chunks are this one's own.
unsafe impl<H: Send + Sync> Send for Slots<H> {}

impl<H> Default for Slots<H> {
    fn default() -> Self {
        Slots {
            chunks: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<H> Slots<H> {
    /// A free slot, to be filled.
    pub fn get(&mut self) -> SlotRef<H> {
        if let Some(slot) = self.free.pop() {
            return slot;
        }
        let chunk = Box::new(core::array::from_fn(|_| Slot::empty()));
        let chunk = NonNull::from(Box::leak(chunk));
        self.chunks.push(chunk);
        let first = chunk.cast::<Slot<H>>();
        // SAFETY: within the chunk.
        let slot = |index| SlotRef(unsafe { first.add(index) });
        self.free.extend((1..CHUNK).rev().map(slot));
        slot(0)
    }

    /// Gives a slot back whose registration was taken out.
    pub fn put(&mut self, slot: SlotRef<H>) {
        self.free.push(slot);
    }
}

impl<H> Drop for Slots<H> {
    fn drop(&mut self) {
        for chunk in &self.chunks {
            // SAFETY: leaked above; who owns the slots says that nobody refers to them any more.
            drop(unsafe { Box::from_raw(chunk.as_ptr()) });
        }
    }
}

impl<H> Slot<H> {
    fn empty() -> Slot<H> {
        Slot {
            state: AtomicU64::new(0),
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            access: AtomicU32::new(0),
            stamp: AtomicU64::new(0),
            owner: AtomicU32::new(0),
            handle: Place::new(MaybeUninit::uninit()),
        }
    }
}
