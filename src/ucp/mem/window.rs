//! Addresses that a peer uses, and where the bytes are in this process.

use crate::sys::usermem::UserMem;

/// `len` bytes that peers know as those at `base`, and that are at `at` here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    base: u64,
    at: usize,
    len: usize,
}

impl Window {
    pub const EMPTY: Window = Window {
        base: 0,
        at: 0,
        len: 0,
    };

    /// Memory that the user has registered and keeps until `ucp_mem_unmap`.
    pub(super) const fn of_user(at: usize, len: usize) -> Window {
        Window {
            base: at as u64,
            at,
            len,
        }
    }

    /// Memory of this process under its own addresses.
    pub(super) fn of_own(memory: UserMem) -> Window {
        Window::of_user(memory.ptr().expose_provenance(), memory.len())
    }

    /// A peer's memory, of which the part in `memory` is mapped here, under the peer's addresses.
    pub fn of_peer(memory: UserMem, base: u64, len: u64) -> Window {
        let len = usize::try_from(len).unwrap_or(usize::MAX).min(memory.len());
        Window {
            base,
            ..Window::of_own(memory.part(0, len))
        }
    }

    /// Where it is in this process.
    pub fn address(&self) -> usize {
        self.at
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The `len` bytes that peers know as those at `address`, if they are all in the window.
    /// What the window was made of must still be there when they are used.
    pub fn slice(&self, address: u64, len: usize) -> Option<UserMem> {
        let offset = offset_in(self.base, self.len as u64, address, len)?;
        let at = self.at.wrapping_add(offset);
        // SAFETY: inside of what the user registered and keeps until `ucp_mem_unmap`, or of what
        // is mapped as long as its owner lives, which who holds the window makes sure of.
        Some(unsafe { UserMem::new(core::ptr::with_exposed_provenance_mut(at), len) })
    }
}

/// Where the `len` bytes at `address` lie in a region, if they do.
pub fn offset_in(base: u64, region_len: u64, address: u64, len: usize) -> Option<usize> {
    let offset = address.checked_sub(base)?;
    let end = offset.checked_add(len as u64)?;
    (end <= region_len).then_some(usize::try_from(offset).ok()?)
}
