//! The cache on simulated memory, against what must hold; and on real memory that comes and goes.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use proptest::prelude::*;

use super::*;
use crate::sys::map::{Mapping, PAGE, Place};
use crate::ucm::Watcher;
use crate::ucs::status::Error;

const BASE: usize = 0x10_0000;
const UNIT: usize = 16;
const UNITS: usize = 40;

/// Memory in units that are mapped or not, and that are others after each mapping.
struct Memory {
    /// Odd: mapped.
    versions: Mutex<[u32; UNITS]>,
    live: Mutex<HashSet<u64>>,
    made: AtomicUsize,
    /// Bits of access that can't be had.
    forbidden: u32,
    /// Registrations that can be at a time.
    room: Option<usize>,
}

impl Default for Memory {
    fn default() -> Self {
        Memory {
            versions: Mutex::new([0; UNITS]),
            live: Mutex::default(),
            made: AtomicUsize::new(0),
            forbidden: 0,
            room: None,
        }
    }
}

struct Handle {
    id: u64,
    span: Span,
    access: Access,
    versions: Vec<u32>,
}

fn units(span: Span) -> core::ops::Range<usize> {
    (span.start - BASE) / UNIT..(span.end - BASE).div_ceil(UNIT)
}

impl Registrar for Arc<Memory> {
    type Handle = Handle;

    fn register(&self, span: Span, access: Access) -> Result<Handle> {
        let versions = self.versions.lock()[units(span)].to_vec();
        let mut live = self.live.lock();
        if versions.iter().any(|version| version % 2 == 0) || access.0 & self.forbidden != 0 {
            return Err(Error::InvalidAddr);
        }
        if self.room.is_some_and(|room| live.len() >= room) {
            return Err(Error::NoMemory);
        }
        let id = self.made.fetch_add(1, SeqCst) as u64;
        live.insert(id);
        Ok(Handle {
            id,
            span,
            access,
            versions,
        })
    }

    fn deregister(&self, handle: Handle) {
        assert!(self.live.lock().remove(&handle.id), "deregistered twice");
    }
}

impl Memory {
    fn map(&self, units: core::ops::Range<usize>) {
        for version in &mut self.versions.lock()[units] {
            *version |= 1;
        }
    }

    fn unmap(&self, cache: &Cache<Arc<Memory>>, units: core::ops::Range<usize>) {
        let address = BASE + units.start * UNIT;
        cache.shared.pending.unmapped(address, units.len() * UNIT);
        for version in &mut self.versions.lock()[units] {
            *version += *version % 2;
        }
    }
}

fn cache(memory: &Arc<Memory>, params: Params) -> Cache<Arc<Memory>> {
    let pending = Arc::new(Pending::default());
    Cache {
        shared: Arc::new(Shared::new(memory.clone(), params, pending)),
        _watch: None,
    }
}

fn at(unit: usize) -> usize {
    BASE + unit * UNIT
}

#[test]
fn what_was_registered_is_found() {
    let memory = Arc::new(Memory::default());
    memory.map(0..UNITS);
    let cache = cache(&memory, Params::default());
    let get = |unit, len, access| cache.get(at(unit), len * UNIT, access).expect("mapped");
    let first = get(2, 4, Access::READ);
    assert_eq!(first.handle().id, 0);
    for _ in 0..3 {
        assert_eq!(get(2, 4, Access::READ).handle().id, 0);
        assert_eq!(get(3, 1, Access::READ).handle().id, 0);
    }
    let slow = cache.stats().slow_lookups;
    get(2, 4, Access::READ);
    get(3, 1, Access::READ);
    assert_eq!(cache.stats().slow_lookups, slow);
    // More is wanted: the first leaves the cache, and is there until nobody holds it.
    let second = get(4, 6, Access::WRITE);
    assert_eq!(second.span(), Span::new(at(2), 8 * UNIT).expect("a span"));
    assert_eq!(second.access(), Access::READ_WRITE);
    assert_eq!(get(2, 4, Access::READ).handle().id, 1);
    assert_eq!(memory.live.lock().len(), 2);
    drop(first);
    assert_eq!(memory.live.lock().len(), 1);
    drop(cache);
    assert_eq!(second.handle().id, 1);
    drop(second);
    assert!(memory.live.lock().is_empty());
}

#[test]
fn unmapped_memory_is_not_found() {
    let memory = Arc::new(Memory::default());
    memory.map(0..UNITS);
    let cache = cache(&memory, Params::default());
    let held = cache.get(at(0), UNIT * 4, Access::READ).expect("mapped");
    drop(cache.get(at(8), UNIT, Access::READ).expect("mapped"));
    memory.unmap(&cache, 3..20);
    memory.map(3..20);
    assert_eq!(memory.live.lock().len(), 2);
    let again = cache.get(at(0), UNIT * 4, Access::READ).expect("mapped");
    assert_eq!((held.handle().id, again.handle().id), (0, 2));
    assert_eq!(memory.live.lock().len(), 2);
    drop(held);
    assert_eq!(memory.live.lock().len(), 1);
    assert_eq!(cache.stats().invalidated, 2);
    let none = cache.get(at(1), 0, Access::READ).err();
    assert_eq!(none, Some(Error::InvalidParam));
}

#[test]
fn limits_hold_where_nothing_is_in_use() {
    let memory = Arc::new(Memory::default());
    memory.map(0..UNITS);
    let params = Params {
        max_regions: 3,
        max_size: 8 * UNIT,
        ..Params::default()
    };
    let cache = cache(&memory, params);
    let get = |unit, len| {
        cache
            .get(at(unit), len * UNIT, Access::READ)
            .expect("mapped")
    };
    for unit in [0, 2, 4] {
        drop(get(unit, 1));
    }
    // The one used longest ago is that at 2.
    drop(get(0, 1));
    drop(get(6, 1));
    let stats = cache.stats();
    assert_eq!((stats.regions, stats.evicted), (3, 1));
    assert_eq!(get(0, 1).handle().id, 0);
    assert_eq!(get(4, 1).handle().id, 2);
    assert_eq!(get(2, 1).handle().id, 4);
    let large = get(10, 7);
    let stats = cache.stats();
    assert_eq!((stats.regions, stats.bytes), (2, 8 * UNIT));
    // What is in use stays, whatever the limit.
    let more = get(20, 7);
    assert_eq!(cache.stats().bytes, 14 * UNIT);
    drop((large, more));
}

#[test]
fn failures_are_worked_around() {
    let memory = Arc::new(Memory {
        forbidden: 4,
        room: Some(2),
        ..Memory::default()
    });
    memory.map(0..UNITS);
    let cache = cache(&memory, Params::default());
    let get = |unit, access| cache.get(at(unit), UNIT, access);
    assert_eq!(get(0, Access(4)).err(), Some(Error::InvalidAddr));
    drop((get(0, Access::READ), get(2, Access::READ)));
    // There is no room for a third: the others go.
    assert!(get(4, Access::READ).is_ok());
    assert_eq!(cache.stats().regions, 1);
    let (held, more) = (get(4, Access::READ), get(6, Access::READ));
    assert_eq!(get(8, Access::READ).err(), Some(Error::NoMemory));
    drop((held, more));
}

#[derive(Clone, Debug)]
enum Operation {
    Map(usize, usize),
    Unmap(usize, usize),
    Get(usize, usize, u32),
    /// Asks again for what was asked for some time ago.
    Repeat(usize),
    Put(usize),
    Collect,
    Purge,
}

fn operation() -> impl Strategy<Value = Operation> {
    let range = || (0usize..UNITS - 8, 1usize..8);
    prop_oneof![
        2 => range().prop_map(|(start, len)| Operation::Map(start, len)),
        2 => range().prop_map(|(start, len)| Operation::Unmap(start, len)),
        5 => (range(), 1u32..4).prop_map(|((start, len), a)| Operation::Get(start, len, a)),
        5 => (0usize..64).prop_map(Operation::Repeat),
        5 => (0usize..64).prop_map(Operation::Put),
        1 => Just(Operation::Collect),
        1 => Just(Operation::Purge),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn nothing_stale_is_found(
        operations in prop::collection::vec(operation(), 1..120),
        max_regions in 1usize..10,
        align in prop::sample::select(vec![1usize, UNIT, 4 * UNIT]),
    ) {
        let memory = Arc::new(Memory::default());
        memory.map(0..UNITS);
        let params = Params { max_regions, align, ..Params::default() };
        let cache = cache(&memory, params);
        let mut held: Vec<Region<Arc<Memory>>> = Vec::new();
        let mut asked: Vec<(usize, usize, u32)> = Vec::new();
        for operation in operations {
            let wanted = match operation {
                Operation::Map(start, len) => { memory.map(start..start + len); None }
                Operation::Unmap(start, len) => { memory.unmap(&cache, start..start + len); None }
                Operation::Get(start, len, access) => Some((start, len, access)),
                Operation::Repeat(which) => asked.get(which % asked.len().max(1)).copied(),
                Operation::Put(which) => {
                    if !held.is_empty() { held.swap_remove(which % held.len()); }
                    None
                }
                Operation::Collect => { cache.collect(); None }
                Operation::Purge => { cache.purge(); prop_assert_eq!(cache.stats().regions, 0); None }
            };
            if let Some((start, len, access)) = wanted {
                asked.push((start, len, access));
                let span = Span::new(at(start), len * UNIT).expect("a span");
                let now = memory.versions.lock()[units(span)].to_vec();
                let there = now.iter().all(|version| version % 2 == 1);
                let before = cache.stats().registered;
                let got = cache.get(span.start, span.size(), Access(access));
                prop_assert_eq!(got.is_ok(), there);
                if let Ok(region) = got {
                    let handle = region.handle();
                    prop_assert!(handle.span.covers(span) && handle.access.covers(Access(access)));
                    let from = (span.start - handle.span.start) / UNIT;
                    prop_assert_eq!(&handle.versions[from..from + len], &now[..]);
                    held.push(region);
                }
                let stats = cache.stats();
                if stats.registered > before {
                    prop_assert!(stats.regions <= max_regions.max(held.len()));
                }
            }
            let live = memory.live.lock();
            prop_assert!(held.iter().all(|region| live.contains(&region.handle().id)));
        }
        drop(cache);
        let ids: HashSet<u64> = held.iter().map(|region| region.handle().id).collect();
        prop_assert_eq!(&*memory.live.lock(), &ids);
        drop(held);
        prop_assert!(memory.live.lock().is_empty());
    }
}

/// Real memory: a registration is what stood there when it was made.
struct Real;

impl Registrar for Real {
    type Handle = u64;

    fn register(&self, span: Span, _: Access) -> Result<u64> {
        let mut word = [0; 8];
        let first: *const u8 = core::ptr::with_exposed_provenance(span.start);
        match crate::sys::peek::read(first, &mut word) {
            true => Ok(u64::from_ne_bytes(word)),
            false => Err(Error::InvalidAddr),
        }
    }

    fn deregister(&self, _: u64) {}
}

#[test]
#[allow(unsafe_code)]
fn memory_that_comes_again_is_other_memory() {
    let cache = Cache::new(Real, Params::default()).expect("memory is watched");
    let again = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..3u64 {
            let (cache, again) = (&cache, &again);
            scope.spawn(move || {
                let mut last = 0;
                for round in 0..200u64 {
                    let mapping = Mapping::anonymous(Place::ANY, 16 * PAGE).expect("memory");
                    let address = mapping.ptr().expose_provenance();
                    again.fetch_add(usize::from(address == last), SeqCst);
                    last = address;
                    let mark = thread << 32 | round;
                    // SAFETY: the first word of a mapping of this thread's own.
                    unsafe { mapping.ptr().cast::<u64>().write(mark) };
                    for _ in 0..3 {
                        let region = cache.get(address, 16 * PAGE, Access::READ).expect("there");
                        assert_eq!(*region.handle(), mark, "stale at {address:#x}");
                    }
                }
            });
        }
    });
    assert!(again.load(SeqCst) > 0, "no address came twice");
    assert!(cache.stats().invalidated > 0);
}

#[test]
fn registrations_stay_with_who_made_them() {
    let memory = Arc::new(Memory::default());
    memory.map(0..UNITS);
    let cache = cache(&memory, Params::default());
    drop(cache.get(at(0), UNIT, Access::READ).expect("mapped"));
    // As in a forked child: the memory of the parent's registrations is copied.
    cache.shared.forks.fetch_sub(1, SeqCst);
    let region = cache.get(at(0), UNIT, Access::READ).expect("mapped");
    assert_eq!(region.handle().id, 1);
}

mod noted {
    use super::super::sync::ROOM;
    use super::*;

    fn taken(pending: &Pending) -> Vec<Noted> {
        let mut taken = Vec::new();
        pending.apply(|noted| taken.push(noted));
        taken
    }

    #[test]
    fn ranges_are_kept() {
        let pending = Pending::default();
        pending.unmapped(100, 10);
        assert!(pending.is_empty());
        pending.cover(Span { start: 50, end: 60 });
        pending.unmapped(60, 10);
        pending.unmapped(40, 10);
        assert!(pending.is_empty());
        pending.cover(Span {
            start: 100,
            end: 200,
        });
        (0..100).for_each(|start| pending.unmapped(start, 55));
        assert!(!pending.is_empty());
        let taken = taken(&pending);
        let [Noted::Spans(spans)] = &taken[..] else {
            panic!("{taken:?}")
        };
        assert_eq!(spans.len(), ROOM);
        assert_eq!(spans[0], Span { start: 0, end: 55 });
        let last = Span {
            start: ROOM - 1,
            end: 99 + 55,
        };
        assert_eq!(spans[ROOM - 1], last);
        assert!(pending.is_empty());
    }

    #[test]
    fn everything_is_more_than_ranges() {
        let pending = Pending::default();
        pending.cover(Span { start: 1, end: 2 });
        pending.unmapped(1, 1);
        pending.note_all();
        assert_eq!(taken(&pending), [Noted::All]);
        assert!(taken(&pending).is_empty());
    }
}
