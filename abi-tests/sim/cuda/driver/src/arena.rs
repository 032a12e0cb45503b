//! Device addresses: one big range that the CPU may not touch, handed out lowest first, so that a
//! range which was freed is the next one of its size to be used again.

use crate::abi::{Answer, INVALID_VALUE, OUT_OF_MEMORY};
use crate::sys;
use std::collections::BTreeMap;

/// Every range begins and ends at a multiple of this.
pub const ALIGN: usize = 2 << 20;
const SIZE: usize = 1 << 40;

pub struct Arena {
    base: u64,
    used: BTreeMap<u64, usize>,
}

impl Arena {
    pub fn new() -> Answer<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping where the kernel likes.
        let at = unsafe { sys::map(0, SIZE, libc::PROT_NONE, flags, -1, 0)? };
        Ok(Self {
            base: at.next_multiple_of(ALIGN as u64),
            used: BTreeMap::new(),
        })
    }

    pub fn contains(&self, at: u64) -> bool {
        (self.base..self.base + (SIZE - ALIGN) as u64).contains(&at)
    }

    /// A free range of at least `size` bytes.
    pub fn take(&mut self, size: usize, align: usize) -> Answer<u64> {
        if size == 0 || (align != 0 && !align.is_power_of_two()) {
            return Err(INVALID_VALUE);
        }
        if size > SIZE - 2 * ALIGN {
            return Err(OUT_OF_MEMORY);
        }
        let size = size.next_multiple_of(ALIGN);
        let align = align.max(ALIGN) as u64;
        let mut at = self.base.next_multiple_of(align);
        for (used, len) in &self.used {
            if at + size as u64 <= *used {
                break;
            }
            at = at.max(used + *len as u64).next_multiple_of(align);
        }
        if !self.contains(at + size as u64) {
            return Err(OUT_OF_MEMORY);
        }
        self.used.insert(at, size);
        Ok(at)
    }

    /// Gives a range back; the CPU can't touch it whatever was mapped there.
    pub fn give_back(&mut self, at: u64) {
        if let Some(len) = self.used.remove(&at) {
            let flags =
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
            // SAFETY: a range of ours that nobody uses any more.
            let _ = unsafe { sys::map(at, len, libc::PROT_NONE, flags, -1, 0) };
        }
    }
}
