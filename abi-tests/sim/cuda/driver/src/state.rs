//! What this process has: contexts, ranges, streams, handles. One lock over all of it.

use crate::abi::{
    Address, Answer, CONTEXT_IS_DESTROYED, Handle, INVALID_CONTEXT, OPERATING_SYSTEM,
};
use crate::arena::Arena;
use crate::block::{Block, Region};
use crate::config;
use crate::context::{Context, Primary};
use crate::event::Event;
use crate::pool::Pool;
use crate::stream::Stream;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

pub struct State {
    pub arena: Arena,
    pub regions: BTreeMap<Address, Region>,
    pub contexts: BTreeMap<Handle, Context>,
    pub primaries: Vec<Primary>,
    pub streams: BTreeMap<Handle, Stream>,
    pub events: BTreeMap<Handle, Arc<Event>>,
    /// `cuMemAddressReserve`.
    pub reservations: BTreeMap<Address, usize>,
    /// `cuMemCreate` and imports, with how often each is held.
    pub allocations: BTreeMap<Handle, (Arc<Block>, usize)>,
    pub pools: BTreeMap<Handle, Pool>,
    pub tally: Tally,
    next: Handle,
}

/// What a report tells beside the calls.
#[derive(Default)]
pub struct Tally {
    pub opened: u64,
    pub closed: u64,
    /// Ranges that were given up while operations still used them.
    pub closed_in_use: u64,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

thread_local! {
    /// Contexts that this thread pushed; the last one is current.
    static STACK: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
}

pub struct Guard(MutexGuard<'static, Option<State>>);

impl std::ops::Deref for Guard {
    type Target = State;
    fn deref(&self) -> &State {
        self.0.as_ref().expect("filled before it is given out")
    }
}

impl std::ops::DerefMut for Guard {
    fn deref_mut(&mut self) -> &mut State {
        self.0.as_mut().expect("filled before it is given out")
    }
}

pub fn state() -> Answer<Guard> {
    let mut guard = STATE.lock().map_err(|_| OPERATING_SYSTEM)?;
    if guard.is_none() {
        *guard = Some(State {
            arena: Arena::new()?,
            regions: BTreeMap::new(),
            contexts: BTreeMap::new(),
            primaries: config::get()
                .devices
                .iter()
                .map(|_| Primary::default())
                .collect(),
            streams: BTreeMap::new(),
            events: BTreeMap::new(),
            reservations: BTreeMap::new(),
            allocations: BTreeMap::new(),
            pools: BTreeMap::new(),
            tally: Tally::default(),
            next: 0,
        });
    }
    Ok(Guard(guard))
}

/// The state for a report, unless a call was interrupted that had it.
pub fn peek() -> Option<Guard> {
    STATE.try_lock().ok().filter(|s| s.is_some()).map(Guard)
}

/// The state for a program that asks.
pub fn look() -> Option<Guard> {
    STATE.lock().ok().filter(|s| s.is_some()).map(Guard)
}

/// The calling thread's stack of contexts.
pub fn stack<T>(f: impl FnOnce(&mut Vec<Handle>) -> T) -> T {
    STACK.with(|s| f(&mut s.borrow_mut()))
}

impl State {
    /// A number that was never a handle before; the lowest four bits are free.
    pub fn handle(&mut self) -> Handle {
        self.next += 16;
        0x5c00_0000_0000 + self.next
    }

    /// The current context of the calling thread.
    pub fn current(&self) -> Answer<Handle> {
        let top = stack(|s| s.last().copied()).ok_or(INVALID_CONTEXT)?;
        if self.contexts.contains_key(&top) {
            Ok(top)
        } else {
            Err(CONTEXT_IS_DESTROYED)
        }
    }

    /// Its device.
    pub fn current_device(&self) -> Answer<i32> {
        let current = self.current()?;
        Ok(self.contexts[&current].device)
    }

    /// The range that the address lies in.
    pub fn region(&self, at: Address) -> Option<&Region> {
        self.regions
            .range(..=at)
            .next_back()
            .map(|(_, r)| r)
            .filter(|r| at < r.end())
    }

    pub fn region_mut(&mut self, at: Address) -> Option<&mut Region> {
        self.regions
            .range_mut(..=at)
            .next_back()
            .map(|(_, r)| r)
            .filter(|r| at < r.end())
    }

    /// Takes a range out; the caller drops it. Its addresses are free unless they are mapped into
    /// a reservation.
    pub fn remove(&mut self, base: Address) -> Option<Region> {
        let region = self.regions.remove(&base)?;
        if let Some(block) = &region.block {
            // One is the region's, and every handle of the allocation counts as one.
            let handles = self
                .allocations
                .values()
                .filter(|(b, _)| Arc::ptr_eq(b, block))
                .count();
            let others = self.regions.values().filter_map(|r| r.block.as_ref());
            let shown = others.filter(|b| Arc::ptr_eq(b, block)).count();
            if Arc::strong_count(block) > 1 + handles + shown {
                self.tally.closed_in_use += 1;
            }
        }
        if region.kind != crate::block::Kind::Mapped {
            self.arena.give_back(base);
        }
        Some(region)
    }

    /// The ordinal here of a device of the machine.
    pub fn ordinal(machine: i32) -> Option<i32> {
        config::get()
            .devices
            .iter()
            .position(|d| *d == machine)
            .map(|p| p as i32)
    }
}
