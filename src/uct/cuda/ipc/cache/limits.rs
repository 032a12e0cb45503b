//! `UCX_CUDA_IPC_CACHE_*`.

/// How much of a place's memory stays open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    pub regions: usize,
    pub bytes: u64,
}

impl Limits {
    pub const NONE: Limits = Limits {
        regions: usize::MAX,
        bytes: u64::MAX,
    };

    /// The tightest of all domains holds, as domains share the cache.
    pub(super) fn tighten(&mut self, other: Limits) {
        self.regions = self.regions.min(other.regions);
        self.bytes = self.bytes.min(other.bytes);
    }

    pub(super) const fn allows(&self, regions: usize, bytes: u64) -> bool {
        regions <= self.regions && bytes <= self.bytes
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits::NONE
    }
}
