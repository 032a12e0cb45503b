//! Entry points of `ucp/api/ucp.h`: mem.

use crate::abi::prelude::*;
use crate::abi::support::{cfile, cstr};
use crate::abi::ucp::convert;
use crate::sys::map::{PAGE, Place, will_need};
use crate::ucp::context::Context;
use crate::ucp::mem::{Memory, Registered};
use crate::ucp::{print, rkey};
use crate::ucs::memory::MemoryType;
use crate::uct::cuda::driver;

/// What `ucp_mem_map` is asked for.
struct Wanted {
    address: usize,
    len: usize,
    flags: u64,
    memory_type: ucs_memory_type_t,
    exported: *const c_void,
}

fn refused(reason: &str) -> Error {
    crate::ucs_error!("ucp_mem_map: {reason}");
    Error::InvalidParam
}

/// # Safety
/// As `ucp_mem_map`.
unsafe fn wanted(params: *const ucp_mem_map_params_t) -> Result<Wanted, Error> {
    // SAFETY: forwarded to the caller.
    let p = unsafe { Params::new(params) }?;
    let len = crate::field!(p, UCP_MEM_MAP_PARAM_FIELD_LENGTH, length);
    let exported = crate::field!(
        p,
        UCP_MEM_MAP_PARAM_FIELD_EXPORTED_MEMH_BUFFER,
        exported_memh_buffer
    );
    if len.is_none() && exported.is_none() {
        return Err(refused("neither a length nor an exported handle is given"));
    }
    let address = crate::field!(p, UCP_MEM_MAP_PARAM_FIELD_ADDRESS, address);
    let flags = crate::field!(p, UCP_MEM_MAP_PARAM_FIELD_FLAGS, flags);
    let memory_type = crate::field!(p, UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE, memory_type);
    Ok(Wanted {
        address: address.map_or(0, |address| address.expose_provenance()),
        len: len.unwrap_or(0),
        flags: u64::from(flags.unwrap_or(0)),
        memory_type: memory_type.unwrap_or(UCS_MEMORY_TYPE_UNKNOWN),
        exported: exported.unwrap_or(core::ptr::null()),
    })
}

impl Wanted {
    fn has(&self, flag: u64) -> bool {
        self.flags & flag != 0
    }

    fn check(&self) -> Result<(), Error> {
        let allocate = self.has(UCP_MEM_MAP_ALLOCATE);
        if self.has(UCP_MEM_MAP_FIXED) && !self.address.is_multiple_of(PAGE) {
            return Err(refused(
                "a fixed address must be a multiple of the page size",
            ));
        }
        if !self.exported.is_null() {
            if allocate {
                return Err(refused("an exported handle can't be mapped by allocating"));
            }
            return Ok(());
        }
        // The value of RDMA is "to be found out" in programs built with 1.13.1.
        let kind = MemoryType::of(self.memory_type);
        if self.memory_type > UCS_MEMORY_TYPE_LAST {
            return Err(refused("there is no such type of memory"));
        }
        if !kind.is_host() && !kind.is_cuda() && self.memory_type < UCS_MEMORY_TYPE_RDMA {
            let memory_type = self.memory_type;
            crate::ucs_error!("ucp_mem_map: memory of type {memory_type} is not supported");
            return Err(Error::Unsupported);
        }
        if kind.is_cuda()
            && let Err(missing) = driver::get()
        {
            crate::ucs_error!("ucp_mem_map: memory of CUDA is not supported: {missing}");
            return Err(Error::Unsupported);
        }
        if self.len == 0 {
            return Ok(());
        }
        if self.address == 0 && !allocate {
            return Err(refused(
                "no address is given, and no allocation is asked for",
            ));
        }
        if self.has(UCP_MEM_MAP_FIXED) && !allocate {
            return Err(refused("UCP_MEM_MAP_FIXED is for allocations only"));
        }
        if self.has(UCP_MEM_MAP_NONBLOCK) && self.has(UCP_MEM_MAP_LOCK) {
            return Err(refused("UCP_MEM_MAP_NONBLOCK and LOCK exclude each other"));
        }
        Ok(())
    }

    fn place(&self) -> Result<Place, Error> {
        if !self.has(UCP_MEM_MAP_FIXED) {
            return Ok(Place::near(self.address));
        }
        if self.address == 0 {
            crate::ucs_error!("ucp_mem_map: a fixed allocation needs an address");
            return Err(Error::NoMemory);
        }
        // SAFETY: the user says, by the flag, that this memory is to be replaced.
        Ok(unsafe { Place::replacing(self.address) })
    }

    /// # Safety
    /// `exported` is NULL or an exported handle.
    unsafe fn map(&self, context: &Context) -> Result<Memory, Error> {
        if !self.exported.is_null() {
            // SAFETY: forwarded to the caller.
            let bytes = unsafe { super::rkey::foreign(self.exported) }?;
            let packed = rkey::read(&bytes, rkey::wire::Kind::Exported)?;
            return Memory::import(context, &packed);
        }
        if self.len == 0 {
            return Ok(Memory::EMPTY);
        }
        let kind = MemoryType::of(self.memory_type);
        if self.has(UCP_MEM_MAP_ALLOCATE) && kind.is_cuda() {
            if !context.uses(kind) {
                crate::ucs_error!("ucp_mem_map: no transport in use allocates memory of a device");
                return Err(Error::Unsupported);
            }
            if self.has(UCP_MEM_MAP_FIXED) {
                return Err(Error::Unsupported);
            }
            return Memory::allocate_on_device(context, kind, self.len);
        }
        if self.has(UCP_MEM_MAP_ALLOCATE) {
            let lazy = self.has(UCP_MEM_MAP_NONBLOCK);
            return Memory::allocate(context, self.place()?, self.len, lazy);
        }
        Memory::register_as(kind, self.address, self.len)
    }
}

/// # Safety
/// As `ucp_mem_map`.
unsafe fn map(
    context: ucp_context_h,
    params: *const ucp_mem_map_params_t,
) -> Result<Registered, Error> {
    // SAFETY: forwarded to the caller.
    unsafe {
        let context = convert::context(context)?;
        let wanted = wanted(params)?;
        wanted.check()?;
        let memory = wanted.map(&context)?;
        Ok(Registered::new(context, memory))
    }
}

/// Registers memory for access by the network, or allocates such memory. To be undone by
/// `ucp_mem_unmap`.
///
/// Returns `UCS_OK`, `UCS_ERR_INVALID_PARAM`, `UCS_ERR_NO_MEMORY`, `UCS_ERR_UNREACHABLE` for an
/// exported handle that can't be mapped here, `UCS_ERR_UNSUPPORTED` for types of memory that nothing
/// here reaches.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_mem_map(
    context: ucp_context_h,
    params: *const ucp_mem_map_params_t,
    memh_p: *mut ucp_mem_h,
) -> ucs_status_t {
    // SAFETY: a live context, parameters as their mask describes them, and a place for the handle.
    unsafe {
        let Some(memh_p) = memh_p.as_mut() else {
            return Error::InvalidParam.into();
        };
        match map(context, params) {
            Ok(memory) => {
                *memh_p = Box::into_raw(Box::new(memory)).cast();
                Status::OK
            }
            Err(error) => error.into(),
        }
    }
}

/// Undoes `ucp_mem_map`. No operation may use the memory any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_mem_unmap(context: ucp_context_h, memh: ucp_mem_h) -> ucs_status_t {
    let _ = context;
    if memh.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: made by `ucp_mem_map`, unmapped once.
    drop(unsafe { Box::from_raw(memh.cast::<Registered>()) });
    Status::OK
}

/// Writes those attributes of registered memory into `attr` that its mask asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_mem_query(memh: ucp_mem_h, attr: *mut ucp_mem_attr_t) -> ucs_status_t {
    // SAFETY: a live handle, and an attribute struct as its mask describes it.
    unsafe {
        let (Some(handle), Ok(mut attrs)) = (memh.cast::<Registered>().as_ref(), Attrs::new(attr))
        else {
            return Error::InvalidParam.into();
        };
        let memory = handle.memory();
        let address: *mut c_void = core::ptr::with_exposed_provenance_mut(memory.address());
        crate::set_field!(attrs, UCP_MEM_ATTR_FIELD_ADDRESS, address, address);
        crate::set_field!(attrs, UCP_MEM_ATTR_FIELD_LENGTH, length, memory.len());
        crate::set_field!(
            attrs,
            UCP_MEM_ATTR_FIELD_MEM_TYPE,
            mem_type,
            handle.told_kind().0.into()
        );
        Status::OK
    }
}

/// Maps memory as `mem_spec` says (a size, with an optional type) and writes the outcome to
/// `stream`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_mem_print_info(
    mem_spec: *const c_char,
    context: ucp_context_h,
    stream: *mut FILE,
) {
    // SAFETY: a terminated string or NULL, and a live context.
    let (spec, context) = unsafe { (cstr::text(mem_spec), convert::context(context)) };
    if let Ok(context) = context {
        let text = print::memory_info(&context, &spec.unwrap_or_default());
        // SAFETY: NULL or an open stream, by the API.
        unsafe { cfile::print(stream, &text) };
    }
}

/// # Safety
/// As `ucp_mem_advise`.
unsafe fn advise(memh: ucp_mem_h, params: *mut ucp_mem_advise_params_t) -> Result<(), Error> {
    // SAFETY: forwarded to the caller.
    let (memory, p) = unsafe { (memh.cast::<Registered>().as_ref(), Params::new(params)?) };
    let memory = memory.ok_or(Error::InvalidParam)?.memory();
    let (Some(address), Some(len), Some(advice)) = (
        crate::field!(p, UCP_MEM_ADVISE_PARAM_FIELD_ADDRESS, address),
        crate::field!(p, UCP_MEM_ADVISE_PARAM_FIELD_LENGTH, length),
        crate::field!(p, UCP_MEM_ADVISE_PARAM_FIELD_ADVICE, advice),
    ) else {
        return Err(Error::InvalidParam);
    };
    let range = memory.slice(address.addr() as u64, len);
    let range = range.ok_or(Error::InvalidParam)?;
    match advice {
        UCP_MADV_NORMAL => Ok(()),
        UCP_MADV_WILLNEED => {
            will_need(&range);
            Ok(())
        }
        _ => Err(Error::InvalidParam),
    }
}

/// Tells what a range of mapped memory will be used for.
///
/// Returns `UCS_OK`, or `UCS_ERR_INVALID_PARAM` for a missing field, an unknown advice, or a range
/// that is not all in the memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_mem_advise(
    context: ucp_context_h,
    memh: ucp_mem_h,
    params: *mut ucp_mem_advise_params_t,
) -> ucs_status_t {
    let _ = context;
    // SAFETY: a live handle, and parameters as their mask describes them.
    unsafe { advise(memh, params) }.into()
}

/// Packs a memory handle to be sent elsewhere: a remote key, or with `UCP_MEMH_PACK_FLAG_EXPORT` a
/// handle for other processes of this host. To be released by `ucp_memh_buffer_release`.
///
/// Returns `UCS_OK`, `UCS_ERR_NO_MEMORY`, or `UCS_ERR_UNSUPPORTED` for an export of memory that
/// other processes can't map.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_memh_pack(
    memh: ucp_mem_h,
    params: *const ucp_memh_pack_params_t,
    buffer_p: *mut *mut c_void,
    buffer_size_p: *mut usize,
) -> ucs_status_t {
    // SAFETY: a live handle, parameters as their mask describes them, and places for the results.
    unsafe {
        let Ok(params) = Params::new(params) else {
            return Error::InvalidParam.into();
        };
        let flags = crate::field!(params, UCP_MEMH_PACK_PARAM_FIELD_FLAGS, flags).unwrap_or(0);
        let export = flags & UCP_MEMH_PACK_FLAG_EXPORT != 0;
        super::rkey::pack(memh, export, buffer_p, buffer_size_p).into()
    }
}

/// Releases what `ucp_memh_pack` gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_memh_buffer_release(
    buffer: *mut c_void,
    params: *const ucp_memh_buffer_release_params_t,
) {
    let _ = params;
    // SAFETY: from `ucp_memh_pack`, or NULL, and not used again.
    unsafe { super::rkey::release(buffer) };
}
