//! The registered regions of a context, by the ids that packed keys carry.
//!
//! What arrives from the network names a region by its id; it is served only while that region
//! is registered, and only inside its bounds. A late, repeated or invented id finds nothing.

use std::sync::Arc;

use parking_lot::Mutex;

use super::Memory;
use crate::ucp::worker::ids::IdTable;

/// Names a region for as long as it is registered; 0 names none.
pub type RegionId = u64;

/// See the module.
#[derive(Default)]
pub struct Regions(Mutex<IdTable<Arc<Memory>>>);

impl Regions {
    /// Enters a region under a new id.
    pub fn insert(&self, memory: Arc<Memory>) -> RegionId {
        self.0.lock().insert(memory)
    }

    /// The region is no more; operations that hold it still end first.
    pub fn remove(&self, id: RegionId) -> Option<Arc<Memory>> {
        self.0.lock().remove(id)
    }

    pub fn find(&self, id: RegionId) -> Option<Arc<Memory>> {
        self.0.lock().cloned(id)
    }

    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
