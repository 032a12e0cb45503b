//! The registration cache: registrations of memory that are kept after their use, for the next one.
//!
//! - A lookup of something that was looked up before takes no lock: a small table of hints leads
//!   from an address to a slot ([`slots`]), and a reference to it is taken by one atomic operation.
//! - Memory that is unmapped is noted by an event handler ([`pending`]); no lookup that begins after
//!   that finds its registration. What is in use then is taken out of the cache at once, and
//!   deregistered with its last reference.
//! - Registrations are disjoint: one that is asked for and overlaps others takes their place, and
//!   covers them too.
//! - Where limits are reached, those go first that were used longest ago ([`table`]).
//!
//! Registrations are not carried over a fork: the child forgets them (they are its parent's), and
//! the parent makes new ones, since pages are copied when it writes to them.

mod pending;
#[allow(unsafe_code)]
mod region;
#[allow(unsafe_code)]
mod slots;
mod span;
mod sync;
mod table;

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use smallvec::SmallVec;

use pending::{Noted, Pending};
use region::Kept;
use slots::{Acquired, Slot, SlotRef, Slots};
use table::Table;

pub use region::Region;
pub use span::{Access, Span};

use crate::ucm::{self, Watch, Watcher, events};
use crate::ucs::config::Config;
use crate::ucs::status::Result;

/// Who registers. Both calls are made without an event handler around them; `register` is called
/// under the cache's lock, and must not use the cache.
pub trait Registrar: Send + Sync {
    type Handle: Send + Sync;

    /// # Errors
    /// Whatever it is, the cache gives up: after a try with no more than was asked for, and one
    /// after everything unused was deregistered.
    fn register(&self, span: Span, access: Access) -> Result<Self::Handle>;

    fn deregister(&self, handle: Self::Handle);

    /// A registration that is about to be made takes the place of this one. Under the lock, too.
    fn merged(&self, handle: &Self::Handle) {
        let _ = handle;
    }
}

/// What a cache may keep, and how it watches memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    /// Registrations.
    pub max_regions: usize,
    /// Bytes registered.
    pub max_size: usize,
    /// What the ends of registrations are multiples of, a power of two.
    pub align: usize,
    /// Of the event handler.
    pub priority: i32,
    /// After a fork, the parent registers again.
    pub purge_on_fork: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            max_regions: usize::MAX,
            max_size: usize::MAX,
            align: 16,
            priority: 1000,
            purge_on_fork: true,
        }
    }
}

impl Params {
    /// The variables `UCX_RCACHE_*`. `RCACHE_MAX_UNRELEASED` changes nothing: what nobody uses is
    /// deregistered as soon as it is out of the cache.
    pub fn read(config: &Config) -> Params {
        let regions = config.count("RCACHE_MAX_REGIONS").unwrap_or(u64::MAX);
        Params {
            max_regions: usize::try_from(regions).unwrap_or(usize::MAX),
            max_size: config.size("RCACHE_MAX_SIZE"),
            priority: i32::try_from(config.uint("RCACHE_MEM_PRIO")).unwrap_or(i32::MAX),
            purge_on_fork: config.bool_("RCACHE_PURGE_ON_FORK"),
            ..Params::default()
        }
    }
}

/// What a cache has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Lookups that took the lock.
    pub slow_lookups: u64,
    pub registered: u64,
    /// Taken out because of limits.
    pub evicted: u64,
    /// Taken out because memory went.
    pub invalidated: u64,
    /// In the cache now.
    pub regions: usize,
    /// Bytes in the cache now.
    pub bytes: usize,
}

/// A cache of registrations.
pub struct Cache<R: Registrar> {
    shared: Arc<Shared<R>>,
    /// `None` for tests, which tell of unmapped memory themselves.
    _watch: Option<Watch<Pending>>,
}

/// Kept by the cache's handle, and by every registration until it was deregistered.
struct Shared<R: Registrar> {
    pending: Arc<Pending>,
    /// [`ucm::forks`] when the cache was looked through last.
    forks: AtomicU32,
    /// The process that looked then.
    pid: AtomicU32,
    /// Counts slow lookups: the clock of [`SlotRef::stamp`].
    tick: AtomicU64,
    hints: Box<[AtomicPtr<Slot<R::Handle>>; HINTS]>,
    params: Params,
    registrar: R,
    state: Mutex<State<R::Handle>>,
}

struct State<H> {
    table: Table<SlotRef<H>>,
    slots: Slots<H>,
    stats: Stats,
}

/// Two for each value of the hash.
const HINTS: usize = 2048;

/// Registrations to be taken out once the lock is given back.
type Dead<H> = SmallVec<[SlotRef<H>; 4]>;

impl<R: Registrar> Cache<R> {
    /// # Errors
    /// `Unsupported` where memory can't be watched: nothing may be kept then.
    pub fn new(registrar: R, params: Params) -> Result<Cache<R>> {
        Cache::for_events(registrar, params, events::VM_UNMAPPED)
    }

    /// Where these events tell of memory that goes: `VM_UNMAPPED`, `MEM_TYPE_FREE`, both or none.
    ///
    /// # Errors
    /// As [`Cache::new`].
    pub fn for_events(registrar: R, params: Params, events: u32) -> Result<Cache<R>> {
        let pending = Arc::new(Pending::default());
        let watch = Watch::for_events(pending.clone(), events, params.priority)?;
        Ok(Cache {
            shared: Arc::new(Shared::new(registrar, params, pending)),
            _watch: Some(watch),
        })
    }

    /// A registration of the `len` bytes at `address` that allows `access`, at least.
    ///
    /// # Errors
    /// `InvalidParam` for no bytes, or what the registrar says.
    #[inline]
    pub fn get(&self, address: usize, len: usize, access: Access) -> Result<Region<R>> {
        let span = Span::new(address, len)?;
        let slot = match self.shared.hinted(span, access) {
            Some(slot) => slot,
            None => self.shared.look_up(span, access)?,
        };
        Ok(Region::new(&self.shared, slot))
    }

    pub fn registrar(&self) -> &R {
        &self.shared.registrar
    }

    /// Takes what overlaps a range out: it is deregistered with its last reference.
    pub fn invalidate(&self, span: Span) {
        self.shared.pending.unmapped(span.start, span.size());
        self.collect();
    }

    /// Deregisters what lies in memory that was unmapped meanwhile. Lookups do so as well.
    pub fn collect(&self) {
        let mut dead = Dead::new();
        let state = self.shared.lock(&mut dead);
        drop(state);
        self.shared.clone().bury(dead);
    }

    /// Takes everything out.
    pub fn purge(&self) {
        self.shared.pending.note_all();
        self.collect();
    }

    pub fn stats(&self) -> Stats {
        let state = self.shared.state.lock();
        Stats {
            regions: state.table.len(),
            bytes: state.table.bytes(),
            ..state.stats
        }
    }
}

impl<R: Registrar> Drop for Cache<R> {
    fn drop(&mut self) {
        self.purge();
    }
}

impl<R: Registrar> Shared<R> {
    fn new(registrar: R, params: Params, pending: Arc<Pending>) -> Shared<R> {
        Shared {
            pending,
            forks: AtomicU32::new(ucm::forks()),
            pid: AtomicU32::new(std::process::id()),
            tick: AtomicU64::new(1),
            hints: Box::new([const { AtomicPtr::new(core::ptr::null_mut()) }; HINTS]),
            params: Params {
                align: params.align.max(1).next_power_of_two(),
                ..params
            },
            registrar,
            state: Mutex::new(State {
                table: Table::default(),
                slots: Slots::default(),
                stats: Stats::default(),
            }),
        }
    }

    /// The two hints for an address.
    #[inline]
    fn hints(&self, span: Span) -> &[AtomicPtr<Slot<R::Handle>>] {
        let hash = (span.start >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let first = (hash >> (usize::BITS - HINTS.trailing_zeros())) & !1;
        &self.hints[first..first + 2]
    }

    /// The fast way.
    #[inline]
    fn hinted(self: &Arc<Self>, span: Span, access: Access) -> Option<SlotRef<R::Handle>> {
        if !self.pending.is_empty() || self.forks.load(Ordering::Relaxed) != ucm::forks() {
            return None;
        }
        for hint in self.hints(span) {
            let Some(slot) = self.slot_at(hint.load(Ordering::Acquire)) else {
                continue;
            };
            match slot.acquire(span, access) {
                Acquired::Yes => {
                    slot.touch(self.tick.load(Ordering::Relaxed));
                    return Some(slot);
                }
                Acquired::No => {}
                Acquired::Another => self.clone().give_back(slot),
            }
        }
        None
    }

    /// Leads there the next time.
    fn hint(&self, span: Span, slot: SlotRef<R::Handle>, tick: u64) {
        let hints = self.hints(span);
        let free = hints.iter().find(|hint| {
            let known = self.slot_at(hint.load(Ordering::Relaxed));
            known.is_none_or(|known| !known.span().covers(span))
        });
        let hint = free.unwrap_or(&hints[(tick & 1) as usize]);
        hint.store(slot.as_ptr(), Ordering::Release);
    }

    /// The slow way.
    #[cold]
    fn look_up(self: &Arc<Self>, span: Span, access: Access) -> Result<SlotRef<R::Handle>> {
        let mut dead = Dead::new();
        let mut state = self.lock(&mut dead);
        state.stats.slow_lookups += 1;
        let tick = self.tick.fetch_add(1, Ordering::Relaxed) + 1;
        let known = state.table.covering(span);
        let known = known.filter(|(_, has)| has.covers(access));
        let found = match known.map(|(slot, _)| slot) {
            Some(slot) if slot.acquire(span, access) == Acquired::Yes => {
                slot.touch(tick);
                Ok(slot)
            }
            _ => self.register(&mut state, span, access, tick, &mut dead),
        };
        if let Ok(slot) = found {
            self.hint(span, slot, tick);
        }
        drop(state);
        self.clone().bury(dead);
        found
    }

    fn register(
        self: &Arc<Self>,
        state: &mut State<R::Handle>,
        asked: Span,
        access: Access,
        tick: u64,
        dead: &mut Dead<R::Handle>,
    ) -> Result<SlotRef<R::Handle>> {
        let mut span = asked.aligned(self.params.align);
        let mut more = access;
        for (found, has) in state.table.overlapping(span) {
            span = span.hull(found);
            more = more.with(has);
            self.merge(state, found.start, dead);
        }
        self.make_room(state, span, dead);
        // From here on it matters when this memory goes, even if that is during the registration.
        self.pending.cover(span);
        let mut result = self.registrar.register(span, more);
        if result.is_err() && (span != asked || more != access) {
            (span, more) = (asked, access);
            result = self.registrar.register(span, more);
        }
        if result.is_err() && state.table.len() != 0 {
            let state_of = |slot: SlotRef<_>| (slot.stamp(), slot.in_use());
            while let Some(slot) = state.table.evict(state_of) {
                state.stats.evicted += 1;
                dead.extend(slot.invalidate().then_some(slot));
            }
            for slot in dead.drain(..) {
                self.deregister(slot);
                state.slots.put(slot);
            }
            result = self.registrar.register(span, more);
        }
        let slot = state.slots.get();
        match result {
            Ok(handle) => {
                state.stats.registered += 1;
                self.fill(slot, span, more, tick, handle);
                state.table.insert(span, more, tick, slot);
                Ok(slot)
            }
            Err(error) => {
                state.slots.put(slot);
                Err(error)
            }
        }
    }

    /// Keeps to the limits as far as unused registrations allow.
    fn make_room(&self, state: &mut State<R::Handle>, span: Span, dead: &mut Dead<R::Handle>) {
        let Params {
            max_regions,
            max_size,
            ..
        } = self.params;
        let full = |table: &Table<SlotRef<R::Handle>>| {
            table.len() >= max_regions || table.bytes().saturating_add(span.size()) > max_size
        };
        while state.table.len() != 0 && full(&state.table) {
            let used = |slot: SlotRef<_>| (slot.stamp(), slot.in_use());
            let Some(slot) = state.table.evict(used) else {
                return;
            };
            state.stats.evicted += 1;
            dead.extend(slot.invalidate().then_some(slot));
        }
    }

    /// Takes the registration that begins at `start` out of the cache.
    fn take_out(&self, state: &mut State<R::Handle>, start: usize, dead: &mut Dead<R::Handle>) {
        if let Some(slot) = state.table.remove(start) {
            dead.extend(slot.invalidate().then_some(slot));
        }
    }

    /// Takes out what another one is about to cover, too.
    fn merge(&self, state: &mut State<R::Handle>, start: usize, dead: &mut Dead<R::Handle>) {
        if let Some(slot) = state.table.remove(start) {
            self.tell_merged(slot);
            dead.extend(slot.invalidate().then_some(slot));
        }
    }

    /// The state, after what is noted was seen to.
    fn lock(&self, dead: &mut Dead<R::Handle>) -> MutexGuard<'_, State<R::Handle>> {
        let mut state = self.state.lock();
        let forks = ucm::forks();
        if self.forks.load(Ordering::Relaxed) != forks {
            let pid = std::process::id();
            if self.pid.swap(pid, Ordering::Relaxed) != pid || self.params.purge_on_fork {
                self.pending.note_all();
            }
            self.forks.store(forks, Ordering::Relaxed);
        }
        self.pending.apply(|noted| match noted {
            Noted::All => {
                let all = state.table.clear();
                state.stats.invalidated += all.len() as u64;
                dead.extend(all.into_iter().filter(|slot| slot.invalidate()));
            }
            Noted::Spans(spans) => {
                for span in spans {
                    for (found, _) in state.table.overlapping(span) {
                        state.stats.invalidated += 1;
                        self.take_out(&mut state, found.start, dead);
                    }
                }
            }
        });
        state
    }

    /// Deregisters. Not under the lock.
    fn bury(self: Arc<Self>, dead: Dead<R::Handle>) {
        if dead.is_empty() {
            return;
        }
        dead.iter().for_each(|slot| self.deregister(*slot));
        let mut state = self.state.lock();
        dead.into_iter().for_each(|slot| state.slots.put(slot));
    }

    #[cold]
    fn give_back(self: Arc<Self>, slot: SlotRef<R::Handle>) {
        if slot.release() {
            self.bury_one(slot);
        }
    }

    #[cold]
    fn bury_one(self: Arc<Self>, slot: SlotRef<R::Handle>) {
        self.bury(Dead::from_slice(&[slot]));
    }
}

/// The parts that rely on who holds references.
#[allow(unsafe_code)]
impl<R: Registrar> Shared<R> {
    #[inline]
    fn slot_at(&self, hint: *mut Slot<R::Handle>) -> Option<SlotRef<R::Handle>> {
        // SAFETY: hints are slots of this cache, which live as long as it does.
        unsafe { SlotRef::from_ptr(hint) }
    }

    fn tell_merged(&self, slot: SlotRef<R::Handle>) {
        // SAFETY: it was in the table until now, and is invalidated, or taken out, after this.
        self.registrar.merged(unsafe { slot.handle() });
    }

    fn fill(
        self: &Arc<Self>,
        slot: SlotRef<R::Handle>,
        span: Span,
        access: Access,
        tick: u64,
        handle: R::Handle,
    ) {
        Kept::keep(self);
        // SAFETY: from the free slots, under the lock.
        unsafe { slot.fill(span, access, tick, handle) };
    }

    /// For who was told to take it out; once. A registration that the parent of this process made
    /// stays the parent's.
    fn deregister(self: &Arc<Self>, slot: SlotRef<R::Handle>) {
        // SAFETY: told by `release` or `invalidate`.
        let handle = unsafe { slot.take() };
        if slot.owner() == std::process::id() {
            self.registrar.deregister(handle);
        } else {
            core::mem::forget(handle);
        }
        // SAFETY: kept when the slot was filled; once.
        unsafe { Kept::let_go(self) };
    }
}

#[cfg(test)]
mod tests;
