//! Memory: what the driver knows of an address, allocation, registration of host memory.

use super::table::Address;
use super::{Context, Device, Driver, error};
use crate::ucs::status::Error;
use core::ffi::{c_int, c_void};

/// Where memory is, as far as the CPU and the device are concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    Device,
    /// Both may use it; it moves between them.
    Managed,
    /// Host memory that the driver knows.
    Host,
}

/// What the driver knows of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attributes {
    pub place: Place,
    pub device: Device,
    /// `None` for memory of pools and of mappings.
    pub context: Option<Context>,
    /// Legacy handles may be made of it.
    pub ipc_capable: bool,
    /// Bits of the handle types that it may be exported as.
    pub handle_types: u64,
}

/// An allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    pub base: Address,
    pub len: usize,
}

const MEMORY_HOST: u32 = 1;
const MEMORY_DEVICE: u32 = 2;
const BUFFER_ID: c_int = 7;
/// Context, memory type, managed, device, legacy handles, handle types.
const WANTED: [c_int; 6] = [1, 2, 8, 9, 10, 14];
/// `CU_MEM_ATTACH_GLOBAL`
const ATTACH_GLOBAL: u32 = 1;
/// `CU_MEMHOSTREGISTER_PORTABLE`
const PORTABLE: u32 = 1;

impl Driver {
    /// What the driver knows of the address; `None` for memory that it doesn't know.
    pub fn look_up(&self, at: Address) -> Result<Option<Attributes>, Error> {
        let mut context: *mut c_void = core::ptr::null_mut();
        let (mut kind, mut managed, mut ordinal, mut legacy) = (0u32, 0u32, 0i32, 0i32);
        let mut handle_types = 0u64;
        let mut wanted = WANTED;
        let mut places: [*mut c_void; 6] = [
            (&raw mut context).cast(),
            (&raw mut kind).cast(),
            (&raw mut managed).cast(),
            (&raw mut ordinal).cast(),
            (&raw mut legacy).cast(),
            (&raw mut handle_types).cast(),
        ];
        // SAFETY: as many places as attributes, each as large as its attribute.
        let code = unsafe {
            (self.table.attributes)(
                wanted.len() as u32,
                wanted.as_mut_ptr(),
                places.as_mut_ptr(),
                at,
            )
        };
        self.check("cuPointerGetAttributes", code)?;
        let place = match kind {
            _ if managed != 0 => Place::Managed,
            MEMORY_DEVICE => Place::Device,
            MEMORY_HOST => Place::Host,
            _ => return Ok(None),
        };
        Ok(Some(Attributes {
            place,
            device: Device::from_ordinal(ordinal),
            context: Context::from_raw(context),
            ipc_capable: legacy != 0,
            handle_types,
        }))
    }

    /// Number of the allocation that the address lies in: no other in the process, before or
    /// after, has the same. `None` for memory that the driver doesn't know.
    pub fn buffer_id(&self, at: Address) -> Result<Option<u64>, Error> {
        let mut id = 0u64;
        // SAFETY: room for the number.
        let code = unsafe { (self.table.attribute)((&raw mut id).cast(), BUFFER_ID, at) };
        if code == error::INVALID_VALUE {
            return Ok(None);
        }
        self.check("cuPointerGetAttribute", code)?;
        Ok(Some(id))
    }

    /// The allocation that the address lies in. A context must be current.
    pub fn range(&self, at: Address) -> Result<Range, Error> {
        let mut range = Range { base: 0, len: 0 };
        // SAFETY: room for both numbers.
        let code = unsafe { (self.table.range)(&mut range.base, &mut range.len, at) };
        self.check("cuMemGetAddressRange", code)?;
        Ok(range)
    }

    /// Free and total bytes of the current context's device.
    pub fn memory_info(&self) -> Result<(usize, usize), Error> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: room for both numbers.
        let code = unsafe { (self.table.memory_info)(&mut free, &mut total) };
        self.check("cuMemGetInfo", code)?;
        Ok((free, total))
    }

    /// New memory of the current context, to be given back to [`Driver::free`].
    pub fn alloc(&self, len: usize) -> Result<Address, Error> {
        let mut at = 0;
        // SAFETY: room for the address.
        let code = unsafe { (self.table.alloc)(&mut at, len) };
        self.check("cuMemAlloc", code)?;
        Ok(at)
    }

    /// The same for managed memory.
    pub fn alloc_managed(&self, len: usize) -> Result<Address, Error> {
        let mut at = 0;
        // SAFETY: room for the address.
        let code = unsafe { (self.table.alloc_managed)(&mut at, len, ATTACH_GLOBAL) };
        self.check("cuMemAllocManaged", code)?;
        Ok(at)
    }

    /// # Safety
    /// Memory of `alloc` or `alloc_managed` that nothing uses any more.
    pub unsafe fn free(&self, at: Address) -> Result<(), Error> {
        // SAFETY: the caller's promise.
        self.check("cuMemFree", unsafe { (self.table.free)(at) })
    }

    /// Host memory that copies may use without a stop on the way. A context must be current.
    ///
    /// # Safety
    /// The memory is there until [`Driver::unregister`].
    pub unsafe fn register(&self, at: *mut u8, len: usize) -> Result<(), Error> {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.table.register)(at.cast(), len, PORTABLE) };
        self.check("cuMemHostRegister", code)
    }

    /// Ends a registration.
    pub fn unregister(&self, at: *mut u8) -> Result<(), Error> {
        // SAFETY: the driver looks the address up.
        let code = unsafe { (self.table.unregister)(at.cast()) };
        self.check("cuMemHostUnregister", code)
    }
}
