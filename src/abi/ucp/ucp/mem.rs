//! Entry points of `ucp/api/ucp.h`: mem.

use crate::abi::prelude::*;
use crate::abi::ucp::convert;
use crate::ucp::mem::{Memory, Registered};

/// # Safety
/// As `ucp_mem_map`.
unsafe fn map(
    context: ucp_context_h,
    params: *const ucp_mem_map_params_t,
) -> Result<Registered, Error> {
    // SAFETY: forwarded to the caller.
    let (context, p) = unsafe { (convert::context(context)?, Params::new(params)?) };
    if p.has(UCP_MEM_MAP_PARAM_FIELD_EXPORTED_MEMH_BUFFER) {
        return Err(Error::Unsupported);
    }
    let memory_type = crate::field!(p, UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE, memory_type);
    if memory_type.is_some_and(|t| t != UCS_MEMORY_TYPE_HOST && t < UCS_MEMORY_TYPE_RDMA) {
        return Err(Error::Unsupported);
    }
    let address = crate::field!(p, UCP_MEM_MAP_PARAM_FIELD_ADDRESS, address);
    let address = address
        .map(|address| address.expose_provenance())
        .filter(|at| *at != 0);
    let Some(len) = crate::field!(p, UCP_MEM_MAP_PARAM_FIELD_LENGTH, length) else {
        crate::ucs_error!("ucp_mem_map: the length is missing");
        return Err(Error::InvalidParam);
    };
    let flags = crate::field!(p, UCP_MEM_MAP_PARAM_FIELD_FLAGS, flags).unwrap_or(0);
    let fixed = flags & UCP_MEM_MAP_FIXED as c_uint != 0;
    if fixed && address.is_none() {
        crate::ucs_error!("ucp_mem_map: a fixed mapping needs an address");
        return Err(Error::InvalidParam);
    }
    // Without an address there is only allocation left.
    if flags & UCP_MEM_MAP_ALLOCATE as c_uint != 0 || (address.is_none() && len != 0) {
        let memory = Memory::allocate(address.filter(|_| fixed), len)?;
        return Ok(Registered::new(context, memory));
    }
    let memory = Memory::register(address.unwrap_or(0), len)?;
    Ok(Registered::new(context, memory))
}

/// Registers memory for access by the network, or allocates such memory. To be undone by
/// `ucp_mem_unmap`.
///
/// Returns `UCS_OK`, `UCS_ERR_INVALID_PARAM`, `UCS_ERR_NO_MEMORY`, `UCS_ERR_IO_ERROR`.
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
            UCS_MEMORY_TYPE_HOST
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
    let _ = (mem_spec, context, stream);
}

/// Tells what a range of mapped memory will be used for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_mem_advise(
    context: ucp_context_h,
    memh: ucp_mem_h,
    params: *mut ucp_mem_advise_params_t,
) -> ucs_status_t {
    let _ = context;
    if memh.is_null() || params.is_null() {
        return Error::InvalidParam.into();
    }
    // Advice, which may be left unfollowed.
    Status::OK
}

/// Packs a memory handle to be sent elsewhere: a remote key, or with `UCP_MEMH_PACK_FLAG_EXPORT` a
/// handle for other processes of this host. To be released by `ucp_memh_buffer_release`.
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
        if flags & UCP_MEMH_PACK_FLAG_EXPORT != 0 {
            return Error::Unsupported.into();
        }
        super::rkey::pack(memh, buffer_p, buffer_size_p).into()
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
