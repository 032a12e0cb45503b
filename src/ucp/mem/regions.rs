//! The registered regions of a context, by the ids that packed keys carry.
//!
//! What arrives from the network names a region by its id; it is served only while that region
//! is registered, and only inside its bounds. A late, repeated or invented id finds nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::Memory;
use crate::ucp::worker::ids::IdTable;

/// Names a region for as long as it is registered; 0 names none.
pub type RegionId = u64;

/// See the module.
#[derive(Default)]
pub struct Regions {
    by_id: Mutex<IdTable<Arc<Memory>>>,
    /// Those that other processes can map, by address.
    shared: Mutex<BTreeMap<usize, Arc<Memory>>>,
    /// How many: for a look without the lock.
    shared_count: AtomicUsize,
}

impl Regions {
    /// Enters a region under a new id.
    pub fn insert(&self, memory: Arc<Memory>) -> RegionId {
        if memory.entry().is_some() {
            let mut shared = self.shared.lock();
            shared.insert(memory.address(), memory.clone());
            self.shared_count.store(shared.len(), Ordering::Relaxed);
        }
        self.by_id.lock().insert(memory)
    }

    /// The region that other processes can map and that holds these bytes.
    pub fn find_shared(&self, address: usize, len: usize) -> Option<Arc<Memory>> {
        if self.shared_count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let shared = self.shared.lock();
        let (_, memory) = shared.range(..=address).next_back()?;
        memory.slice(address as u64, len)?;
        Some(memory.clone())
    }

    /// The region is no more; operations that hold it still end first.
    pub fn remove(&self, id: RegionId) -> Option<Arc<Memory>> {
        let memory = self.by_id.lock().remove(id)?;
        let mut shared = self.shared.lock();
        let same = |other: &Arc<Memory>| Arc::ptr_eq(other, &memory);
        if shared.get(&memory.address()).is_some_and(same) {
            shared.remove(&memory.address());
            self.shared_count.store(shared.len(), Ordering::Relaxed);
        }
        drop(shared);
        Some(memory)
    }

    pub fn find(&self, id: RegionId) -> Option<Arc<Memory>> {
        self.by_id.lock().cloned(id)
    }

    pub fn len(&self) -> usize {
        self.by_id.lock().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
