//! Memory handles and keys.

use crate::abi::prelude::*;
use crate::sys::map::{PAGE, Place};
use crate::sys::usermem::UserMem;
use crate::ucs::config::Config;
use crate::ucs::memory::MemoryType;
use crate::uct::cuda::memory::Pinned;
use crate::uct::ops::{alloc, key};
use crate::uct::{
    AllocRequest, Component, DeviceMemory, Registration, Shared, Unpack, UnpackedKey,
};

use super::md::Domain;

/// What a memory handle points to.
pub enum Memory {
    /// Registered memory of a domain for which nothing has to be done.
    Registered,
    Shared(Shared),
    /// Of a device.
    Device(Box<dyn DeviceMemory>),
    /// Host memory that a driver was told of.
    Pinned(#[allow(dead_code)] Pinned),
    /// Registered memory, by its address, of a domain whose keys say more than that.
    Exported(Box<dyn Registration>, usize),
}

/// What a key's handle points to.
enum KeyHandle {
    Mapped(Mapped),
    /// The component's own.
    Own(Box<dyn UnpackedKey>),
}

/// Memory of somebody else, mapped here.
struct Mapped {
    shared: Shared,
    base: u64,
}

impl Memory {
    pub fn into_raw(self) -> uct_mem_h {
        Box::into_raw(Box::new(self)).cast()
    }

    /// # Safety
    /// `handle` is NULL or from [`Memory::into_raw`], and not freed.
    pub unsafe fn from<'a>(handle: uct_mem_h) -> Result<&'a Memory, Error> {
        // SAFETY: as the caller says.
        unsafe { handle.cast::<Memory>().as_ref() }.ok_or(Error::InvalidParam)
    }

    /// # Safety
    /// `handle` is from [`Memory::into_raw`], and not used again.
    pub unsafe fn free(handle: uct_mem_h) {
        // SAFETY: as the caller says.
        drop(unsafe { Box::from_raw(handle.cast::<Memory>()) });
    }

    /// Registers memory with a domain that does so.
    ///
    /// # Safety
    /// The memory is there until it is deregistered.
    pub unsafe fn register(
        domain: &Domain,
        address: *mut c_void,
        length: usize,
    ) -> Result<Memory, Error> {
        if let Some(own) = domain.md.register(address.addr(), length)? {
            return Ok(Memory::Exported(own, address.addr()));
        }
        let types = domain.md.attr().types.unwrap_or_default();
        if types.reg & MemoryType::HOST.bit() == 0 {
            return Ok(Memory::Registered);
        }
        // SAFETY: as the caller says.
        let pinned = unsafe { Pinned::new(address.cast(), length) }?;
        Ok(pinned.map_or(Memory::Registered, Memory::Pinned))
    }

    /// The packed key, of as many bytes as the domain's attributes say; `at`: of the part that
    /// begins there.
    pub fn pack(&self, at: Option<usize>) -> Result<Vec<u8>, Error> {
        match self {
            Memory::Exported(memory, start) => memory.pack(at.unwrap_or(*start)),
            Memory::Registered | Memory::Device(_) | Memory::Pinned(_) => Ok(Vec::new()),
            Memory::Shared(shared) => {
                let base = shared.memory().ptr().expose_provenance() as u64;
                let packed = key::pack(base, shared.key()).ok_or(Error::InvalidParam)?;
                Ok(packed.to_vec())
            }
        }
    }
}

/// Allocates memory that others can map.
pub fn allocate(domain: &Domain, place: Place, len: usize) -> Result<(UserMem, Memory), Error> {
    let request = AllocRequest {
        len: len.checked_next_multiple_of(PAGE).ok_or(Error::NoMemory)?,
        place,
        lazy: false,
    };
    let component = domain.md.component();
    let shared = component.alloc(&domain.config, &request)?;
    let shared = shared.ok_or(Error::Unsupported)?;
    Ok((shared.memory(), Memory::Shared(shared)))
}

/// The key, and what is to be released with it.
///
/// # Safety
/// `packed` has as many bytes as the attributes of the component's domains say.
unsafe fn unpack_key(
    component: &'static dyn Component,
    packed: *const c_void,
    how: Unpack,
) -> Result<(uct_rkey_t, *mut c_void), Error> {
    let config = Config::global();
    let name = component.query_mds().into_iter().next();
    let md = component.open_md(&name.ok_or(Error::NoDevice)?, config)?;
    let len = md.attr().rkey_packed_size;
    if len == 0 {
        return Ok((0, core::ptr::null_mut()));
    }
    if packed.is_null() {
        return Err(Error::InvalidParam);
    }
    // SAFETY: so many bytes, as the caller says.
    let bytes = unsafe { core::slice::from_raw_parts(packed.cast::<u8>(), len) };
    if let Some(own) = component.unpack(bytes, how)? {
        let handle = KeyHandle::Own(own);
        let number = match &handle {
            KeyHandle::Own(key) => key.number(),
            KeyHandle::Mapped(_) => 0,
        };
        return Ok((number as uct_rkey_t, Box::into_raw(Box::new(handle)).cast()));
    }
    if len != key::LEN {
        return Err(Error::InvalidParam);
    }
    // SAFETY: so many bytes, as the caller says.
    let bytes: [u8; key::LEN] = unsafe { packed.cast::<[u8; key::LEN]>().read() };
    let Some(unpacked) = key::unpack(&bytes) else {
        crate::ucs_error!("{}: what was to be unpacked is no key", component.name());
        return Err(Error::InvalidParam);
    };
    let shared = component.attach(config, unpacked.key)?;
    let here = shared.memory().ptr().expose_provenance();
    let mapped = KeyHandle::Mapped(Mapped {
        shared,
        base: unpacked.base,
    });
    let distance = here.wrapping_sub(unpacked.base as usize);
    Ok((distance, Box::into_raw(Box::new(mapped)).cast()))
}

/// Where remote memory is in this process.
///
/// # Safety
/// `handle` is from [`unpack`] of the same component, with this key.
pub unsafe fn pointer(
    component: &'static dyn Component,
    rkey: uct_rkey_t,
    handle: *mut c_void,
    remote: u64,
) -> Result<*mut c_void, Error> {
    let here = crate::uct::ops::direct::local(remote, rkey).cast();
    // SAFETY: NULL, or from `unpack`.
    match unsafe { handle.cast::<KeyHandle>().as_ref() } {
        Some(KeyHandle::Own(key)) => {
            let at = key.pointer(remote)?;
            Ok(core::ptr::with_exposed_provenance_mut(at as usize))
        }
        Some(KeyHandle::Mapped(mapped)) => {
            let offset = remote.wrapping_sub(mapped.base);
            let inside = offset <= mapped.shared.memory().len() as u64;
            inside.then_some(here).ok_or(Error::InvalidAddr)
        }
        None if super::component::flags(component) & UCT_COMPONENT_FLAG_RKEY_PTR != 0 => Ok(here),
        None => Err(Error::Unsupported),
    }
}

/// # Safety
/// `handle` is NULL or from [`unpack`], and not used again.
pub unsafe fn release(handle: *mut c_void) {
    if !handle.is_null() {
        // SAFETY: as the caller says.
        drop(unsafe { Box::from_raw(handle.cast::<KeyHandle>()) });
    }
}

/// How to allocate without a domain.
pub fn private_method(method: uct_alloc_method_t) -> Option<alloc::Method> {
    match method {
        UCT_ALLOC_METHOD_THP => Some(alloc::Method::Thp),
        UCT_ALLOC_METHOD_HEAP => Some(alloc::Method::Heap),
        UCT_ALLOC_METHOD_MMAP => Some(alloc::Method::Mmap),
        UCT_ALLOC_METHOD_HUGE => Some(alloc::Method::Huge),
        _ => None,
    }
}

/// # Safety
/// As for `uct_md_mkey_pack`.
pub unsafe fn pack(
    md: uct_md_h,
    memh: uct_mem_h,
    at: Option<usize>,
    buffer: *mut c_void,
) -> Result<(), Error> {
    if buffer.is_null() {
        return Err(Error::InvalidParam);
    }
    // SAFETY: as the caller says; as many bytes are written as the domain's attributes say.
    unsafe {
        super::md::from(md)?;
        let packed = Memory::from(memh)?.pack(at)?;
        core::ptr::copy_nonoverlapping(packed.as_ptr(), buffer.cast(), packed.len());
    }
    Ok(())
}

/// # Safety
/// As for `uct_rkey_unpack`.
pub unsafe fn unpack(
    component: uct_component_h,
    buffer: *const c_void,
    how: Unpack,
    rkey_ob: *mut uct_rkey_bundle_t,
) -> Result<(), Error> {
    let component = super::component::from(component)?;
    if rkey_ob.is_null() {
        return Err(Error::InvalidParam);
    }
    // SAFETY: as the caller says. `type` is of before 1.22, and is not ours to write.
    unsafe {
        let (rkey, handle) = unpack_key(component, buffer, how)?;
        (&raw mut (*rkey_ob).rkey).write(rkey);
        (&raw mut (*rkey_ob).handle).write(handle);
    }
    Ok(())
}
