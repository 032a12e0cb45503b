//! Entry points of `ucp/api/ucp.h`: rkey.

use core::cmp::Ordering;
use std::sync::Arc;

use crate::abi::prelude::*;
use crate::abi::ucp::convert;
use crate::sys::map::PAGE;
use crate::ucp::mem::Registered;
use crate::ucp::rkey::{self, RemoteKey, wire};

/// Gives a copy of `bytes` to the caller, for [`release`].
///
/// # Safety
/// Both places are NULL or writable.
pub(in crate::abi::ucp) unsafe fn give(
    bytes: &[u8],
    buffer_p: *mut *mut c_void,
    size_p: *mut usize,
) -> Result<(), Error> {
    if buffer_p.is_null() || size_p.is_null() {
        return Err(Error::InvalidParam);
    }
    // SAFETY: `malloc` of a size above 0; the copy stays inside it. The places are writable.
    unsafe {
        let to = libc::malloc(bytes.len().max(1));
        if to.is_null() {
            return Err(Error::NoMemory);
        }
        core::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len());
        buffer_p.write(to);
        size_p.write(bytes.len());
    }
    Ok(())
}

/// # Safety
/// `buffer` is NULL or from [`give`], and not used again.
pub(in crate::abi::ucp) unsafe fn release(buffer: *mut c_void) {
    // SAFETY: from `malloc`, or NULL.
    unsafe { libc::free(buffer) };
}

/// The remote key of a memory handle, packed, or with `export` the handle itself.
///
/// # Safety
/// A live handle or NULL, and places as for [`give`].
pub(in crate::abi::ucp) unsafe fn pack(
    memh: ucp_mem_h,
    export: bool,
    buffer_p: *mut *mut c_void,
    size_p: *mut usize,
) -> Result<(), Error> {
    // SAFETY: forwarded to the caller.
    unsafe {
        let memory = memh.cast::<Registered>().as_ref();
        let memory = memory.ok_or(Error::InvalidParam)?;
        let bytes = if export {
            rkey::export(memory)?
        } else {
            rkey::pack(memory)
        };
        give(&bytes, buffer_p, size_p)
    }
}

/// The bytes of a packed key or exported handle. The calls are told no length, so the header
/// says it; the memory is read by a system call, which survives a pointer to nothing.
///
/// # Safety
/// `foreign` should be a packed key; what can be read there is only copied.
pub(in crate::abi::ucp) unsafe fn foreign(foreign: *const c_void) -> Result<Vec<u8>, Error> {
    let base = foreign.cast::<u8>();
    // What is readable is so up to the end of its page: one read is enough for most keys.
    let in_page = PAGE - base.addr() % PAGE;
    let mut bytes = vec![0; in_page.clamp(wire::HEADER_LEN, wire::MAX_LEN)];
    if foreign.is_null() || !crate::sys::peek::read(base, &mut bytes) {
        crate::ucs_error!("the packed key {foreign:p} can't be read");
        return Err(Error::InvalidParam);
    }
    let (read, len) = (bytes.len(), wire::total_len(&bytes).map_err(rkey::refuse)?);
    bytes.resize(len, 0);
    if len > read && !crate::sys::peek::read(base, &mut bytes) {
        crate::ucs_error!("the packed key {foreign:p} ends before its length");
        return Err(Error::InvalidParam);
    }
    Ok(bytes)
}

/// What `ucp_ep_rkey_unpack` does.
///
/// # Safety
/// A live endpoint, what [`foreign`] takes, and a place for the key.
pub(in crate::abi::ucp) unsafe fn unpack(
    ep: ucp_ep_h,
    buffer: *const c_void,
    rkey_p: *mut ucp_rkey_h,
) -> Result<(), Error> {
    if rkey_p.is_null() {
        return Err(Error::InvalidParam);
    }
    // SAFETY: forwarded to the caller.
    unsafe {
        let bytes = foreign(buffer)?;
        let key = convert::with_ep(ep, |ep| {
            ep.check_usable()?;
            RemoteKey::unpack(ep, &bytes)
        })?;
        rkey_p.write(Arc::into_raw(key).cast_mut().cast());
    }
    Ok(())
}

/// Compares two keys; `*result` is 0 if they are for the same memory and can be used alike, else
/// negative or positive: an order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_rkey_compare(
    worker: ucp_worker_h,
    rkey1: ucp_rkey_h,
    rkey2: ucp_rkey_h,
    params: *const ucp_rkey_compare_params_t,
    result: *mut c_int,
) -> ucs_status_t {
    // SAFETY: a live worker and keys, parameters as their mask describes them.
    unsafe {
        let (Ok(_), Ok(a), Ok(b), Ok(params)) = (
            convert::worker(worker),
            convert::rkey(rkey1),
            convert::rkey(rkey2),
            Params::new(params),
        ) else {
            return Error::InvalidParam.into();
        };
        if params.mask() != 0 || result.is_null() {
            let mask = params.mask();
            crate::ucs_error!("ucp_rkey_compare: a mask of {mask:#x}, or no place for the result");
            return Error::InvalidParam.into();
        }
        result.write(match a.compare(b) {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        });
        Status::OK
    }
}

/// Address in this process of remote memory that both processes can access, for loads and stores.
///
/// Returns `UCS_OK`, `UCS_ERR_UNREACHABLE` if there is none, or `UCS_ERR_INVALID_ADDR` if `raddr`
/// is not in the region.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_rkey_ptr(
    rkey: ucp_rkey_h,
    raddr: u64,
    addr_p: *mut *mut c_void,
) -> ucs_status_t {
    // SAFETY: a live key, and a place for the address.
    unsafe {
        let (Ok(key), Some(addr_p)) = (convert::rkey(rkey), addr_p.as_mut()) else {
            return Error::InvalidParam.into();
        };
        match key.pointer(raddr) {
            Ok(pointer) => {
                *addr_p = pointer.ptr().cast();
                Status::OK
            }
            Err(error) => error.into(),
        }
    }
}

/// Destroys a key. Operations that use it go on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_rkey_destroy(rkey: ucp_rkey_h) {
    if !rkey.is_null() {
        // SAFETY: made by `ucp_ep_rkey_unpack`, destroyed once.
        drop(unsafe { Arc::from_raw(rkey.cast::<RemoteKey>().cast_const()) });
    }
}
