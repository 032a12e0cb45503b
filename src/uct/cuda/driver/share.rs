//! Memory of the calls that separate memory from addresses, shared between processes by file
//! descriptors or fabric handles.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use core::ffi::c_int;

use super::table::{Access, Address};
use super::{Device, Driver};
use crate::ucs::status::Error;

/// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`, also a bit of `Attributes::handle_types`.
pub const BY_DESCRIPTOR: u64 = 1;
/// `CU_MEM_HANDLE_TYPE_FABRIC`
pub const BY_FABRIC: u64 = 8;

/// Bytes that name memory in all processes of a fabric.
pub type Fabric = [u8; 64];

/// Memory, apart from any address: held until dropped.
struct Generic<'a> {
    driver: &'a Driver,
    raw: u64,
}

/// Memory of another process at an address here, until dropped.
#[derive(Debug)]
pub struct Mapped<'a> {
    driver: &'a Driver,
    at: Address,
    len: usize,
    /// Something is mapped in the range.
    mapped: bool,
}

impl Driver {
    /// What is mapped at the address.
    fn behind(&self, at: Address) -> Result<Generic<'_>, Error> {
        let mut raw = 0;
        // SAFETY: room for the handle; the driver looks the address up.
        let code = unsafe { (self.table.retain_handle)(&mut raw, at as *mut _) };
        self.check("cuMemRetainAllocationHandle", code)?;
        Ok(Generic { driver: self, raw })
    }

    /// Whether the memory at the address was mapped there, rather than allocated.
    pub fn is_mapped(&self, at: Address) -> bool {
        self.behind(at).is_ok()
    }

    /// A descriptor by which other processes get what is mapped at the address. It holds the memory.
    pub fn export_descriptor(&self, at: Address) -> Result<OwnedFd, Error> {
        let memory = self.behind(at)?;
        let mut fd: c_int = -1;
        // SAFETY: room for the descriptor; a handle that we hold.
        let code = unsafe {
            (self.table.export)((&raw mut fd).cast(), memory.raw, BY_DESCRIPTOR as c_int, 0)
        };
        self.check("cuMemExportToShareableHandle", code)?;
        // SAFETY: the driver has just made it, for us.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// A fabric handle of what is mapped at the address.
    pub fn export_fabric(&self, at: Address) -> Result<Fabric, Error> {
        let memory = self.behind(at)?;
        let mut out = [0; 64];
        // SAFETY: room for the handle; a handle that we hold.
        let code = unsafe {
            (self.table.export)((&raw mut out).cast(), memory.raw, BY_FABRIC as c_int, 0)
        };
        self.check("cuMemExportToShareableHandle", code)?;
        Ok(out)
    }

    /// Maps `len` bytes of another process's memory for the device.
    pub fn map_descriptor(
        &self,
        fd: BorrowedFd<'_>,
        len: usize,
        device: Device,
    ) -> Result<Mapped<'_>, Error> {
        let handle = fd.as_raw_fd() as usize as *mut _;
        let mut raw = 0;
        // SAFETY: room for the handle; the descriptor itself is what stands for a pointer here.
        let code = unsafe { (self.table.import)(&mut raw, handle, BY_DESCRIPTOR as c_int) };
        self.check("cuMemImportFromShareableHandle", code)?;
        self.map(&Generic { driver: self, raw }, len, device)
    }

    /// The same by a fabric handle.
    pub fn map_fabric(
        &self,
        mut handle: Fabric,
        len: usize,
        device: Device,
    ) -> Result<Mapped<'_>, Error> {
        let mut raw = 0;
        // SAFETY: room for the handle, and a fabric handle's bytes.
        let code =
            unsafe { (self.table.import)(&mut raw, (&raw mut handle).cast(), BY_FABRIC as c_int) };
        self.check("cuMemImportFromShareableHandle", code)?;
        self.map(&Generic { driver: self, raw }, len, device)
    }

    /// The mapping holds the memory.
    fn map(&self, memory: &Generic<'_>, len: usize, device: Device) -> Result<Mapped<'_>, Error> {
        let mut at = 0;
        // SAFETY: room for the address.
        let code = unsafe { (self.table.reserve)(&mut at, len, 0, 0, 0) };
        self.check("cuMemAddressReserve", code)?;
        let mut mapped = Mapped {
            driver: self,
            at,
            len,
            mapped: false,
        };
        // SAFETY: a range that is reserved for this, and a handle that we hold.
        let code = unsafe { (self.table.map)(at, len, 0, memory.raw, 0) };
        self.check("cuMemMap", code)?;
        mapped.mapped = true;
        let access = Access::of(device.ordinal());
        // SAFETY: our mapping, one description.
        let code = unsafe { (self.table.set_access)(at, len, &access, 1) };
        self.check("cuMemSetAccess", code)?;
        Ok(mapped)
    }
}

impl Mapped<'_> {
    pub const fn address(&self) -> Address {
        self.at
    }
}

impl Drop for Mapped<'_> {
    fn drop(&mut self) {
        let table = &self.driver.table;
        if self.mapped {
            // SAFETY: mapped by this value; who uses the address holds it.
            self.driver
                .give_back("cuMemUnmap", || unsafe { (table.unmap)(self.at, self.len) });
        }
        // SAFETY: reserved by this value.
        self.driver.give_back("cuMemAddressFree", || unsafe {
            (table.address_free)(self.at, self.len)
        });
    }
}

impl Drop for Generic<'_> {
    fn drop(&mut self) {
        // SAFETY: held once by this value.
        self.driver.give_back("cuMemRelease", || unsafe {
            (self.driver.table.release_handle)(self.raw)
        });
    }
}
