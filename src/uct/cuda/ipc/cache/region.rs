//! What is open.

/// A process, in whatever pid namespace.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Process {
    pub pid: i32,
    /// Its pid namespace, by the kernel's number.
    pub pid_ns: u32,
}

/// Whose memory it is, and which of our devices uses it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Place {
    pub process: Process,
    /// By the driver's number.
    pub device: i32,
}

/// An allocation of another process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Allocation {
    /// Its address in its owner.
    pub base: u64,
    pub len: u64,
    /// The driver gives no two allocations of a process the same.
    pub buffer_id: u64,
}

impl Allocation {
    pub fn overlaps(&self, other: &Allocation) -> bool {
        let end = |a: &Allocation| a.base.saturating_add(a.len.max(1));
        self.base < end(other) && other.base < end(self)
    }

    /// What lies at `address` in its owner, from the beginning; `None` outside.
    pub fn offset(&self, address: u64) -> Option<u64> {
        let offset = address.checked_sub(self.base)?;
        (offset <= self.len).then_some(offset)
    }
}

/// An allocation that is open here.
pub(super) struct Region<T> {
    pub place: Place,
    pub what: Allocation,
    pub open: T,
    /// Those that have the address.
    pub pins: usize,
    /// Keys that have mapped it.
    pub keys: usize,
    /// When it was last used, by the cache's clock.
    pub used: u64,
    /// Not to be found any more: its owner has freed it, or it was given up.
    pub retired: bool,
    /// To be closed when nobody holds it.
    pub unwanted: bool,
}

impl<T> Region<T> {
    pub const fn is_over(&self) -> bool {
        self.pins == 0 && (self.retired || (self.unwanted && self.keys == 0))
    }
}
