//! Memory of a device that we allocate, and host memory that we register with the driver.

use super::context::{Held, Owner};
use super::driver::{self, Driver};
use super::memtype;
use crate::ucs::memory::MemoryType;
use crate::ucs::status::{Error, Result};
use crate::uct::md::DeviceMemory;

/// An allocation. It is freed when this is dropped.
#[derive(Debug)]
pub struct Allocation {
    driver: &'static Driver,
    held: Held,
    at: u64,
    len: usize,
    kind: MemoryType,
}

// SAFETY: the driver's calls may be made in any thread.
unsafe impl Send for Allocation {}
// SAFETY: as above; nothing changes by reference.
unsafe impl Sync for Allocation {}

/// Allocates memory of a driver: in the current context, or else in the active primary one of a
/// device. `retains`: where none is active that of the first device is made so.
///
/// # Errors
/// `Unsupported` for other types than CUDA's, `NoDevice`, `NoMemory`.
pub fn allocate(kind: MemoryType, len: usize, retains: bool) -> Result<Allocation> {
    if !kind.is_cuda() {
        return Err(Error::Unsupported);
    }
    let driver = driver::get().map_err(|_| Error::NoDevice)?;
    let held = match retains {
        true => Held::any(driver)?,
        false => Held::active(driver)?.ok_or(Error::NoDevice)?,
    };
    let current = held.enter(driver)?;
    let at = match kind {
        MemoryType::CUDA_MANAGED => driver.alloc_managed(len),
        _ => driver.alloc(len),
    }?;
    drop(current);
    Ok(Allocation {
        driver,
        held,
        at,
        len,
        kind,
    })
}

impl Allocation {
    /// Whose it is.
    pub fn owner(&self) -> Result<Owner> {
        let known = memtype::detect(self.at as usize)?;
        known.map(|known| known.owner).ok_or(Error::InvalidAddr)
    }
}

impl DeviceMemory for Allocation {
    fn address(&self) -> usize {
        self.at as usize
    }

    fn len(&self) -> usize {
        self.len
    }

    fn kind(&self) -> MemoryType {
        self.kind
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let _current = self.held.enter(self.driver);
        // SAFETY: allocated by us; who drops this has no use for it any more.
        let free = || unsafe { self.driver.free(self.at) };
        if free().or_else(|_| free()).is_err() {
            crate::ucs_warn!("{} bytes of device memory can't be freed", self.len);
        }
    }
}

/// Host memory that is registered with the driver until this is dropped.
#[derive(Debug)]
pub struct Pinned {
    driver: &'static Driver,
    held: Held,
    at: *mut u8,
}

impl Pinned {
    /// Registers host memory; `Ok(None)` for memory that the driver knows already, and where no
    /// context is active that it could be registered in.
    ///
    /// # Safety
    /// The memory is there until this is dropped.
    pub unsafe fn new(at: *mut u8, len: usize) -> Result<Option<Pinned>> {
        let driver = driver::get().map_err(|_| Error::NoDevice)?;
        if driver.look_up(at.addr() as u64)?.is_some() {
            return Ok(None);
        }
        let Some(held) = Held::active(driver)? else {
            return Ok(None);
        };
        let current = held.enter(driver)?;
        // SAFETY: the caller's promise.
        unsafe { driver.register(at, len) }?;
        drop(current);
        Ok(Some(Pinned { driver, held, at }))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let end = || {
            let _current = self.held.enter(self.driver)?;
            self.driver.unregister(self.at)
        };
        // Once more: pages that stay pinned are lost to the system.
        if end().or_else(|_| end()).is_err() {
            crate::ucs_warn!("host memory at {:?} can't be unregistered", self.at);
        }
    }
}
