//! `ucp/api/device/ucp_host.h`.

use crate::abi::prelude::*;
use crate::abi::ucp::convert;
use crate::field;
use crate::sys::usermem::UserMem;
use crate::ucp::device;
use crate::ucp::mem::Registered;
use crate::ucs::memory::MemoryType;

/// Which fields of `ucp_device_mem_list_elem_t` are valid.
pub type ucp_device_mem_list_elem_field = u64;
pub const UCP_DEVICE_MEM_LIST_ELEM_FIELD_MEMH: ucp_device_mem_list_elem_field = 1 << 0;
pub const UCP_DEVICE_MEM_LIST_ELEM_FIELD_RKEY: ucp_device_mem_list_elem_field = 1 << 1;
pub const UCP_DEVICE_MEM_LIST_ELEM_FIELD_LOCAL_ADDR: ucp_device_mem_list_elem_field = 1 << 2;
pub const UCP_DEVICE_MEM_LIST_ELEM_FIELD_REMOTE_ADDR: ucp_device_mem_list_elem_field = 1 << 3;
pub const UCP_DEVICE_MEM_LIST_ELEM_FIELD_LENGTH: ucp_device_mem_list_elem_field = 1 << 4;
pub const UCP_DEVICE_MEM_LIST_ELEM_FIELD_EP: ucp_device_mem_list_elem_field = 1 << 5;

/// Which fields of `ucp_device_mem_list_params_t` are valid.
pub type ucp_device_mem_list_params_field = u64;
pub const UCP_DEVICE_MEM_LIST_PARAMS_FIELD_ELEMENTS: ucp_device_mem_list_params_field = 1 << 0;
pub const UCP_DEVICE_MEM_LIST_PARAMS_FIELD_ELEMENT_SIZE: ucp_device_mem_list_params_field = 1 << 1;
pub const UCP_DEVICE_MEM_LIST_PARAMS_FIELD_NUM_ELEMENTS: ucp_device_mem_list_params_field = 1 << 2;
pub const UCP_DEVICE_MEM_LIST_PARAMS_FIELD_WORKER: ucp_device_mem_list_params_field = 1 << 3;

/// Which fields of `ucp_device_counter_params_t` are valid.
pub type ucp_device_counter_params_field = u64;
pub const UCP_DEVICE_COUNTER_PARAMS_FIELD_MEM_TYPE: ucp_device_counter_params_field = 1 << 0;
pub const UCP_DEVICE_COUNTER_PARAMS_FIELD_MEMH: ucp_device_counter_params_field = 1 << 1;

pub type ucp_device_mem_list_elem_t = ucp_device_mem_list_elem;
pub type ucp_device_mem_list_params_t = ucp_device_mem_list_params;
pub type ucp_device_counter_params_t = ucp_device_counter_params;

/// One piece of memory.
#[repr(C)]
pub struct ucp_device_mem_list_elem {
    pub field_mask: u64,
    pub memh: ucp_mem_h,
    pub local_addr: *mut c_void,
    pub length: usize,
    pub remote_addr: u64,
    pub rkey: ucp_rkey_h,
    pub ep: ucp_ep_h,
}

/// Parameters of the memory list calls.
#[repr(C)]
pub struct ucp_device_mem_list_params {
    pub field_mask: u64,
    pub element_size: usize,
    pub num_elements: usize,
    pub worker: ucp_worker_h,
    pub elements: *const ucp_device_mem_list_elem_t,
}

/// Parameters of the counter calls.
#[repr(C)]
pub struct ucp_device_counter_params {
    pub field_mask: u64,
    pub mem_type: ucs_memory_type_t,
    pub memh: ucp_mem_h,
}

/// The elements of a list, each as its mask describes it.
///
/// # Safety
/// The caller's structs.
unsafe fn elements<'a>(
    params: *const ucp_device_mem_list_params_t,
) -> Result<Vec<Params<'a, ucp_device_mem_list_elem_t>>, Error> {
    // SAFETY: as the caller says.
    let params = unsafe { Params::new(params) }?;
    let first = field!(params, UCP_DEVICE_MEM_LIST_PARAMS_FIELD_ELEMENTS, elements);
    let size = field!(
        params,
        UCP_DEVICE_MEM_LIST_PARAMS_FIELD_ELEMENT_SIZE,
        element_size
    );
    let count = field!(
        params,
        UCP_DEVICE_MEM_LIST_PARAMS_FIELD_NUM_ELEMENTS,
        num_elements
    );
    let (Some(first), Some(size), Some(count)) = (first, size, count) else {
        crate::ucs_error!("a memory list needs elements, their size and number");
        return Err(Error::InvalidParam);
    };
    if first.is_null() || size == 0 || count == 0 {
        crate::ucs_error!("a memory list of {count} elements of {size} bytes at {first:p}");
        return Err(Error::InvalidParam);
    }
    // SAFETY: so many structs of that size.
    let element = |i: usize| unsafe { Params::new(first.byte_add(i * size)) };
    (0..count).map(element).collect()
}

/// Writes a list's handle, if there is one.
///
/// # Safety
/// NULL or a writable place.
unsafe fn hand_over<T>(list: Result<usize, Error>, place: *mut *mut T) -> ucs_status_t {
    match list {
        Ok(at) => {
            // SAFETY: as the caller says, and checked not to be NULL before the list was made.
            unsafe { place.write(core::ptr::with_exposed_provenance_mut(at)) };
            Status::OK
        }
        Err(error) => error.into(),
    }
}

/// Describes local memory for communication that a device starts. To be released by
/// `ucp_device_mem_list_release`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_device_local_mem_list_create(
    params: *const ucp_device_mem_list_params_t,
    mem_list_h: *mut ucp_device_local_mem_list_h,
) -> ucs_status_t {
    // SAFETY: the caller's structs; live handles; a writable place.
    unsafe {
        let worker = Params::new(params)
            .ok()
            .and_then(|params| field!(params, UCP_DEVICE_MEM_LIST_PARAMS_FIELD_WORKER, worker));
        if mem_list_h.is_null() || worker.is_none_or(|worker| convert::worker(worker).is_err()) {
            return Error::InvalidParam.into();
        }
        let addresses = elements(params).and_then(|elements| {
            let address = |element: &Params<'_, ucp_device_mem_list_elem_t>| {
                let memh = field!(element, UCP_DEVICE_MEM_LIST_ELEM_FIELD_MEMH, memh);
                let memory = memh.and_then(|memh| memh.cast::<Registered>().as_ref());
                match memory {
                    Some(memory) if memory.memory().kind() == MemoryType::CUDA => {
                        let at = field!(
                            element,
                            UCP_DEVICE_MEM_LIST_ELEM_FIELD_LOCAL_ADDR,
                            local_addr
                        );
                        Ok(at.map_or(0, |at| at.addr() as u64))
                    }
                    Some(_) => Err(Error::Unsupported),
                    None => Err(Error::InvalidParam),
                }
            };
            elements
                .iter()
                .map(address)
                .collect::<Result<Vec<u64>, Error>>()
        });
        hand_over(
            addresses.and_then(|addresses| device::local(&addresses)),
            mem_list_h,
        )
    }
}

/// Describes remote memory for communication that a device starts. To be released by
/// `ucp_device_mem_list_release`.
///
/// Returns `UCS_ERR_NOT_CONNECTED` as long as an endpoint is being connected: to be called again
/// after some progress.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_device_remote_mem_list_create(
    params: *const ucp_device_mem_list_params_t,
    mem_list_h: *mut ucp_device_remote_mem_list_h,
) -> ucs_status_t {
    // SAFETY: the caller's structs; live endpoints and keys; a writable place.
    unsafe {
        if mem_list_h.is_null() {
            return Error::InvalidParam.into();
        }
        let pieces = elements(params).and_then(|elements| {
            let piece = |element: &Params<'_, ucp_device_mem_list_elem_t>| {
                if element.mask() == 0 {
                    return Ok(None);
                }
                let key = field!(element, UCP_DEVICE_MEM_LIST_ELEM_FIELD_RKEY, rkey);
                let ep = field!(element, UCP_DEVICE_MEM_LIST_ELEM_FIELD_EP, ep);
                let (Some(key), Some(ep)) = (key, ep) else {
                    return Err(Error::InvalidParam);
                };
                let (key, ep) = (convert::rkey(key)?, convert::ep(ep)?);
                let _guard = ep.worker().enter();
                if !ep.is_wired() {
                    return Err(Error::NotConnected);
                }
                ep.check_usable()?;
                if ep.device_lane().is_none() {
                    crate::ucs_error!("no lane of the endpoint is for devices");
                    return Err(Error::InvalidParam);
                }
                let at = field!(
                    element,
                    UCP_DEVICE_MEM_LIST_ELEM_FIELD_REMOTE_ADDR,
                    remote_addr
                );
                Ok(Some(device::Remote {
                    address: at.unwrap_or(0),
                    key,
                }))
            };
            elements
                .iter()
                .map(piece)
                .collect::<Result<Vec<_>, Error>>()
        });
        let list = pieces.and_then(|pieces| match pieces.iter().any(Option::is_some) {
            true => device::remote(&pieces),
            false => Err(Error::InvalidParam),
        });
        hand_over(list, mem_list_h)
    }
}

/// Number of elements of a memory list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_device_get_mem_list_length(mem_list_h: *const c_void) -> u32 {
    device::length(mem_list_h.addr()).unwrap_or(0)
}

/// Releases a memory list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_device_mem_list_release(mem_list_h: *mut c_void) {
    if !device::release(mem_list_h.addr()) {
        crate::ucs_error!("there is no memory list {mem_list_h:p}");
    }
}

/// Sets a counter that remote devices increment to its first value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_device_counter_init(
    worker: ucp_worker_h,
    params: *const ucp_device_counter_params_t,
    counter_ptr: *mut c_void,
) -> ucs_status_t {
    let _ = params;
    // SAFETY: NULL or live; eight bytes of the caller's.
    unsafe {
        match convert::worker(worker) {
            Ok(_) if !counter_ptr.is_null() => {
                device::counter::init(UserMem::new(counter_ptr.cast(), 8)).into()
            }
            _ => Error::InvalidParam.into(),
        }
    }
}

/// Value of a counter that remote devices increment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_device_counter_read(
    worker: ucp_worker_h,
    params: *const ucp_device_counter_params_t,
    counter_ptr: *mut c_void,
) -> u64 {
    let _ = params;
    // SAFETY: NULL or live; eight bytes of the caller's.
    unsafe {
        match convert::worker(worker) {
            Ok(_) if !counter_ptr.is_null() => {
                let read = device::counter::read(UserMem::new(counter_ptr.cast(), 8));
                let told =
                    read.inspect_err(|error| crate::ucs_error!("a counter can't be read: {error}"));
                told.unwrap_or(0)
            }
            _ => 0,
        }
    }
}
