//! The values that hold mappings.

use core::fmt;
use std::sync::Arc;

use super::{Allocation, Cache, Opener, Place, Process, Unused};

/// A mapped address, and what keeps it mapped.
pub struct Pin<O: Opener> {
    cache: Arc<Cache<O>>,
    id: u64,
    address: u64,
}

/// A key's, see the module. It is released with [`Interest::release`], or left to the cache.
pub struct Interest<O: Opener> {
    cache: Arc<Cache<O>>,
    place: Place,
    what: Allocation,
    id: u64,
    unused: Unused,
}

/// An endpoint's, see [`Cache::peer`].
pub struct Peer<O: Opener> {
    cache: Arc<Cache<O>>,
    process: Process,
}

impl<O: Opener> Pin<O> {
    pub(super) fn new(cache: &Arc<Cache<O>>, id: u64, address: u64) -> Pin<O> {
        let cache = cache.clone();
        Pin { cache, id, address }
    }

    /// Where the allocation's first byte is, for as long as this lives.
    pub const fn address(&self) -> u64 {
        self.address
    }
}

impl<O: Opener> Interest<O> {
    pub(super) fn new(cache: &Arc<Cache<O>>, of: (Place, Allocation), id: u64) -> Interest<O> {
        let (place, what) = of;
        Interest {
            cache: cache.clone(),
            place,
            what,
            id,
            unused: Unused::Stays,
        }
    }

    pub(super) const fn id(&self) -> u64 {
        self.id
    }

    pub const fn place(&self) -> Place {
        self.place
    }

    /// The key is gone, and with [`Unused::Closes`] the mapping goes with it: now, or when those
    /// have let go that hold it still.
    pub fn release(mut self, unused: Unused) {
        self.unused = unused;
    }
}

impl<O: Opener> Drop for Pin<O> {
    fn drop(&mut self) {
        self.cache.unpin(self.id);
    }
}

impl<O: Opener> Drop for Interest<O> {
    fn drop(&mut self) {
        let of = (self.place, &self.what);
        self.cache.release(self.id, of, self.unused);
    }
}

impl<O: Opener> Peer<O> {
    pub(super) fn new(cache: &Arc<Cache<O>>, process: Process) -> Peer<O> {
        let cache = cache.clone();
        Peer { cache, process }
    }
}

impl<O: Opener> Drop for Peer<O> {
    fn drop(&mut self) {
        self.cache.forget(self.process);
    }
}

impl<O: Opener> fmt::Debug for Pin<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pin({:#x})", self.address)
    }
}

impl<O: Opener> fmt::Debug for Interest<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Interest({})", self.id)
    }
}
