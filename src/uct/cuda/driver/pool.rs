//! Pools that processes share, and allocations in them.

use core::ffi::c_int;

use super::share::{BY_FABRIC, Fabric};
use super::table::{Access, Address, Opaque};
use super::{Device, Driver};
use crate::ucs::status::Error;

const MEMPOOL_HANDLE: c_int = 17;

/// Names an allocation in its pool (`CUmemPoolPtrExportData`).
pub type PoolPointer = [u8; 64];

/// A pool of another process, until dropped.
#[derive(Debug)]
pub struct Pool {
    driver: &'static Driver,
    raw: Opaque,
}

// SAFETY: a handle that the driver takes from any thread.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

/// An allocation in such a pool, until dropped.
#[derive(Debug)]
pub struct Borrowed {
    driver: &'static Driver,
    at: Address,
}

impl Driver {
    /// Fabric handle of the pool that the address was allocated from, and what names it there.
    /// `None` if it is of no pool.
    pub fn export_pool(&self, at: Address) -> Result<Option<(Fabric, PoolPointer)>, Error> {
        let mut pool: Opaque = core::ptr::null_mut();
        // SAFETY: room for the handle.
        let code = unsafe { (self.table.attribute)((&raw mut pool).cast(), MEMPOOL_HANDLE, at) };
        self.check("cuPointerGetAttribute", code)?;
        if pool.is_null() {
            return Ok(None);
        }
        let (mut fabric, mut pointer) = ([0; 64], [0; 64]);
        // SAFETY: room for the handle; the pool of an allocation that is alive.
        let code = unsafe {
            (self.table.pool_export)((&raw mut fabric).cast(), pool, BY_FABRIC as c_int, 0)
        };
        self.check("cuMemPoolExportToShareableHandle", code)?;
        // SAFETY: room for the name.
        let code = unsafe { (self.table.pool_export_pointer)(&mut pointer, at) };
        self.check("cuMemPoolExportPointer", code)?;
        Ok(Some((fabric, pointer)))
    }

    /// Opens another process's pool for the device.
    pub fn import_pool(&'static self, mut fabric: Fabric, device: Device) -> Result<Pool, Error> {
        let mut raw = core::ptr::null_mut();
        // SAFETY: room for the handle, and a fabric handle's bytes.
        let code = unsafe {
            (self.table.pool_import)(&mut raw, (&raw mut fabric).cast(), BY_FABRIC as c_int, 0)
        };
        self.check("cuMemPoolImportFromShareableHandle", code)?;
        let pool = Pool { driver: self, raw };
        pool.allow(device)?;
        Ok(pool)
    }
}

impl Pool {
    /// Lets the device use what is in it.
    pub fn allow(&self, device: Device) -> Result<(), Error> {
        let access = Access::of(device.ordinal());
        // SAFETY: a pool that we hold, one description.
        let code = unsafe { (self.driver.table.pool_set_access)(self.raw, &access, 1) };
        self.driver.check("cuMemPoolSetAccess", code)
    }

    /// The allocation of that name.
    pub fn pointer(&self, mut name: PoolPointer) -> Result<Borrowed, Error> {
        let mut at = 0;
        // SAFETY: room for the address; the driver checks the name.
        let code = unsafe { (self.driver.table.pool_import_pointer)(&mut at, self.raw, &mut name) };
        self.driver.check("cuMemPoolImportPointer", code)?;
        Ok(Borrowed {
            driver: self.driver,
            at,
        })
    }
}

impl Borrowed {
    pub const fn address(&self) -> Address {
        self.at
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: held once by this value.
        self.driver.give_back("cuMemPoolDestroy", || unsafe {
            (self.driver.table.pool_destroy)(self.raw)
        });
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        // SAFETY: opened by this value; who uses the address holds it.
        self.driver
            .give_back("cuMemFree", || unsafe { (self.driver.table.free)(self.at) });
    }
}
