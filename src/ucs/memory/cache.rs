//! The cache of memory types: ranges of addresses that may be of other memory than the host's.
//!
//! Hooks of a driver's allocations and releases keep it true ([`crate::ucm::device`]); what is in
//! no range is host memory. Where the hooks can't be had, every address has to be asked for.
//! Without a driver in use there is nothing to look at: [`watching`] is one load.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};

use parking_lot::RwLock;

use super::MemoryType;

/// What is known of a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Info {
    pub kind: MemoryType,
    /// The device, by the driver's number; negative: not asked for yet.
    pub device: i32,
    /// What the driver's own layer wants to remember; 0 is nothing.
    pub owner: usize,
    pub owner_id: u64,
}

impl Info {
    /// Memory of which only the type is known, or not even that.
    pub const fn of(kind: MemoryType) -> Info {
        Info {
            kind,
            device: -1,
            owner: 0,
            owner_id: 0,
        }
    }
}

/// A range with what is known of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    pub base: usize,
    /// Bytes.
    pub len: usize,
    pub info: Info,
}

/// What becomes of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    Host,
    Known(Region),
    /// Only the driver knows.
    Ask,
}

const OFF: u8 = 0;
const ASKING: u8 = 1;
const CACHED: u8 = 2;

static MODE: AtomicU8 = AtomicU8::new(OFF);
static WATCHING: AtomicBool = AtomicBool::new(false);
static REGIONS: RwLock<Regions> = RwLock::new(Regions(BTreeMap::new()));

/// Whether any address may be of other memory than the host's.
#[inline(always)]
pub fn watching() -> bool {
    WATCHING.load(Relaxed)
}

/// A driver is in use. `cached`: hooks report what it allocates and frees; else all is asked for.
pub fn enable(cached: bool) {
    let regions = REGIONS.write();
    MODE.store(if cached { CACHED } else { ASKING }, Relaxed);
    regions.publish();
}

/// True if hooks keep the cache true.
pub fn is_enabled() -> bool {
    MODE.load(Relaxed) == CACHED
}

/// Whether a driver is in use.
pub fn is_used() -> bool {
    MODE.load(Relaxed) != OFF
}

/// `len` bytes at `base` have become memory of this kind.
pub fn note(base: usize, len: usize, info: Info) {
    let mut regions = REGIONS.write();
    regions.cut(base, len);
    regions.add(base, len, info);
    regions.publish();
}

/// The same for what nothing is known of yet.
pub fn note_unknown(base: usize, len: usize) {
    let mut regions = REGIONS.write();
    regions.fill(base, len, Info::of(MemoryType::UNKNOWN));
    regions.publish();
}

/// `len` bytes at `base` are nobody's, or the host's.
pub fn forget(base: usize, len: usize) {
    let mut regions = REGIONS.write();
    regions.cut(base, len);
    regions.publish();
}

/// Any range may be gone without having been freed: what is in them is to be asked for anew.
pub fn doubt() {
    for (_, info) in REGIONS.write().0.values_mut() {
        *info = Info::of(MemoryType::UNKNOWN);
    }
}

/// Bytes of the range that begins at `base`, if one does.
pub fn extent(base: usize) -> Option<usize> {
    REGIONS.read().0.get(&base).map(|(len, _)| *len)
}

/// What the cache says of `len` bytes at an address, of which the first decides.
pub fn find(at: usize) -> Found {
    let regions = REGIONS.read();
    match regions.holding(at) {
        Some(region) if region.info.kind != MemoryType::UNKNOWN => Found::Known(region),
        Some(_) => Found::Ask,
        None if MODE.load(Relaxed) == CACHED => Found::Host,
        None => Found::Ask,
    }
}

/// The range that holds an address, whatever is known of it.
pub fn region(at: usize) -> Option<Region> {
    REGIONS.read().holding(at)
}

/// By their first address: bytes, and what is known. They don't overlap.
struct Regions(BTreeMap<usize, (usize, Info)>);

impl Regions {
    fn publish(&self) {
        let watching = match MODE.load(Relaxed) {
            CACHED => !self.0.is_empty(),
            mode => mode == ASKING,
        };
        WATCHING.store(watching, Relaxed);
    }

    fn holding(&self, at: usize) -> Option<Region> {
        let (base, (len, info)) = self.0.range(..=at).next_back()?;
        (at - base < *len).then_some(Region {
            base: *base,
            len: *len,
            info: *info,
        })
    }

    fn add(&mut self, base: usize, len: usize, info: Info) {
        if len != 0 && base.checked_add(len).is_some() {
            self.0.insert(base, (len, info));
        }
    }

    /// Takes addresses out; what lies on both sides of them stays.
    fn cut(&mut self, base: usize, len: usize) {
        let end = base.saturating_add(len);
        if let Some(before) = self.holding(base).filter(|region| region.base < base) {
            let before_end = before.base + before.len;
            self.add(before.base, base - before.base, before.info);
            if before_end > end {
                return self.add(end, before_end - end, before.info);
            }
        }
        while let Some((at, (len, info))) = self.0.range(base..end).next() {
            let (at, at_end, info) = (*at, at + len, *info);
            self.0.remove(&at);
            if at_end > end {
                self.add(end, at_end - end, info);
            }
        }
    }

    /// Adds what is in no range yet.
    fn fill(&mut self, base: usize, len: usize, info: Info) {
        let (mut at, end) = (base, base.saturating_add(len));
        while at < end {
            if let Some(region) = self.holding(at) {
                at = region.base + region.len;
                continue;
            }
            let next = self.0.range(at..end).next().map_or(end, |(next, _)| *next);
            self.add(at, next - at, info);
            at = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CUDA: Info = Info::of(MemoryType::CUDA);
    const UNKNOWN: Info = Info::of(MemoryType::UNKNOWN);

    proptest! {
        /// Against a table of single addresses.
        #[test]
        fn ranges_are_as_single_addresses(
            steps in proptest::collection::vec((0usize..60, 0usize..20, 0u8..3), 1..40)
        ) {
            let mut regions = Regions(BTreeMap::new());
            let mut table = [None; 100];
            for (base, len, what) in steps {
                let part = &mut table[base..base + len];
                match what {
                    0 => {
                        regions.cut(base, len);
                        regions.add(base, len, CUDA);
                        part.fill(Some(CUDA));
                    }
                    1 => {
                        regions.cut(base, len);
                        part.fill(None);
                    }
                    _ => {
                        regions.fill(base, len, UNKNOWN);
                        part.iter_mut().filter(|at| at.is_none()).for_each(|at| *at = Some(UNKNOWN));
                    }
                }
                for (at, expected) in table.iter().enumerate() {
                    prop_assert_eq!(regions.holding(at).map(|region| region.info), *expected);
                }
            }
        }
    }

    #[test]
    fn kinds_come_from_numbers() {
        assert_eq!(MemoryType::of(1), MemoryType::CUDA);
        assert_eq!(MemoryType::of(10), MemoryType::UNKNOWN);
        assert_eq!(MemoryType::of(u32::MAX), MemoryType::UNKNOWN);
        assert!(MemoryType::CUDA_MANAGED.is_cuda() && !MemoryType::HOST.is_cuda());
    }
}
