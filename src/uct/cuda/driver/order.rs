//! The order of what a program does in memory of a device and of what we do there.
//!
//! Calls that change nothing but memory of devices (`cuMemset`, `cuMemcpy` between devices) return
//! before they are done, and nothing orders them with our streams: we would send what was there
//! before. The driver can be told to wait in them, for all memory of a context, or, where it is too
//! old for that, for an allocation.

use super::Driver;
use super::table::Address;
use crate::ucs::status::Error;

/// `CU_CTX_SYNC_MEMOPS`
const SYNC_MEMOPS: u32 = 0x80;
/// `CU_POINTER_ATTRIBUTE_SYNC_MEMOPS`
const OF_POINTER: core::ffi::c_int = 6;

impl Driver {
    /// The driver can be told for a context.
    pub fn orders_contexts(&self) -> bool {
        self.set_flags.is_some()
    }

    /// From now on calls that change memory of the current context are done when they return; only
    /// those that change the allocation at `at`, where the driver can't be told for a context.
    ///
    /// # Errors
    /// The driver's. An old one can't be told for mappings and pools.
    pub fn keep_order(&self, at: Address) -> Result<(), Error> {
        let Some(set) = self.set_flags else {
            // SAFETY: room for the value; the driver looks the address up.
            let code = unsafe { (self.table.set_attribute)(&1, OF_POINTER, at) };
            return self.check("cuPointerSetAttribute", code);
        };
        let mut flags = 0;
        // SAFETY: room for the flags.
        let code = unsafe { (self.table.context_flags)(&mut flags) };
        self.check("cuCtxGetFlags", code)?;
        if flags & SYNC_MEMOPS != 0 {
            return Ok(());
        }
        // SAFETY: no pointers. The flags that a program chose are kept, if the driver takes them.
        let set = |flags| self.check("cuCtxSetFlags", unsafe { set(flags) });
        set(flags | SYNC_MEMOPS).or_else(|_| set(SYNC_MEMOPS))
    }
}
