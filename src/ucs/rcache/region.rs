//! Registrations in use.
//!
//! A region does not count among those that keep the cache's shared part: its registration does,
//! from when it is made until it was deregistered. So getting and giving back a region costs one
//! atomic operation each.

use core::ffi::c_void;
use core::ptr::NonNull;
use std::sync::Arc;

use super::slots::SlotRef;
use super::span::{Access, Span};
use super::{Cache, Registrar, Shared};

/// A registration in use.
pub struct Region<R: Registrar> {
    shared: NonNull<Shared<R>>,
    slot: SlotRef<R::Handle>,
}

// SAFETY: what it points to is shared between threads anyway.
unsafe impl<R: Registrar> Send for Region<R> where R::Handle: Send + Sync {}
// SAFETY: as above.
unsafe impl<R: Registrar> Sync for Region<R> where R::Handle: Send + Sync {}

impl<R: Registrar> Region<R> {
    /// With a reference to the slot that the caller has taken.
    #[inline]
    pub(super) fn new(shared: &Arc<Shared<R>>, slot: SlotRef<R::Handle>) -> Region<R> {
        // SAFETY: never NULL. From the `Arc` itself, so that it leads back to one.
        let shared = unsafe { NonNull::new_unchecked(Arc::as_ptr(shared).cast_mut()) };
        Region { shared, slot }
    }

    /// The registration.
    #[inline]
    pub fn handle(&self) -> &R::Handle {
        // SAFETY: a region holds a reference.
        unsafe { self.slot.handle() }
    }

    /// For [`Region::from_raw`]: where the registration is kept, the same for all who hold it.
    pub fn into_raw(self) -> *mut c_void {
        let slot = self.slot;
        core::mem::forget(self);
        slot.as_ptr().cast()
    }

    /// # Safety
    /// From [`Region::into_raw`], once for each call of it, with the cache that it came from.
    pub unsafe fn from_raw(cache: &Cache<R>, raw: *mut c_void) -> Option<Region<R>> {
        // SAFETY: as the caller says: a reference holds the slot.
        let slot = unsafe { SlotRef::from_ptr(raw.cast()) }?;
        Some(Region::new(&cache.shared, slot))
    }

    /// What is registered: what was asked for, or more.
    pub fn span(&self) -> Span {
        self.slot.span()
    }

    pub fn access(&self) -> Access {
        self.slot.access()
    }
}

impl<R: Registrar> Clone for Region<R> {
    fn clone(&self) -> Self {
        self.slot.hold();
        Region {
            shared: self.shared,
            slot: self.slot,
        }
    }
}

impl<R: Registrar> Drop for Region<R> {
    #[inline]
    fn drop(&mut self) {
        if self.slot.release() {
            // SAFETY: the registration is still there, and keeps the shared part.
            unsafe { Kept::get(self.shared) }.bury_one(self.slot);
        }
    }
}

/// Counts of an `Arc` that registrations hold.
pub(super) struct Kept;

impl Kept {
    /// For a registration that is about to be made.
    pub fn keep<R: Registrar>(shared: &Arc<Shared<R>>) {
        core::mem::forget(shared.clone());
    }

    /// # Safety
    /// Once for each [`Kept::keep`].
    pub unsafe fn let_go<R: Registrar>(shared: &Arc<Shared<R>>) {
        // SAFETY: the caller's count, one of those that `keep` forgot.
        unsafe { Arc::decrement_strong_count(Arc::as_ptr(shared)) };
    }

    /// # Safety
    /// Something keeps it.
    unsafe fn get<R: Registrar>(shared: NonNull<Shared<R>>) -> Arc<Shared<R>> {
        // SAFETY: it came from an `Arc`, whose count is above zero.
        unsafe {
            Arc::increment_strong_count(shared.as_ptr());
            Arc::from_raw(shared.as_ptr())
        }
    }
}
