//! Entry points of `uct/api/uct.h`: md.

use crate::abi::prelude::*;
use crate::abi::support::cstr;
use crate::abi::support::transport::alloc::allocate;
use crate::abi::support::transport::memory::{self, Memory, pack, unpack};
use crate::abi::support::transport::{component, config, md as domain};
use crate::set_field;
use crate::uct::Detected;
use crate::uct::ops::alloc;
use crate::uct::{Unpack, config_table};

/// What a domain knows of a piece of memory.
///
/// # Safety
/// `md` is NULL or open.
pub(in crate::abi::uct) unsafe fn detect(
    md: uct_md_h,
    address: *const c_void,
    length: usize,
) -> Result<Detected, Error> {
    // SAFETY: as the caller says.
    unsafe { domain::from(md) }?
        .md
        .detect(address.addr(), length)
}

/// Writes what a memory domain knows about the memory at an address into `mem_attr`.
///
/// Returns `UCS_OK`, `UCS_ERR_INVALID_ADDR` for memory that the domain doesn't know, or
/// `UCS_ERR_UNSUPPORTED` for a domain that knows nothing of memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_mem_query(
    md: uct_md_h,
    address: *const c_void,
    length: usize,
    mem_attr: *mut uct_md_mem_attr_t,
) -> ucs_status_t {
    // SAFETY: the caller's struct, as its mask describes it.
    let mut attr = match unsafe { Attrs::new(mem_attr) } {
        Ok(attr) if !address.is_null() && length > 0 => attr,
        _ => return Error::InvalidParam.into(),
    };
    // SAFETY: NULL or open.
    let found = match unsafe { detect(md, address, length) } {
        Ok(found) => found,
        Err(error) => return error.into(),
    };
    let bit = |bit: uct_md_mem_attr_field| u64::from(bit);
    let base = core::ptr::with_exposed_provenance_mut(found.base);
    let unknown = UCS_SYS_DEVICE_ID_UNKNOWN as ucs_sys_device_t;
    let kind = found.kind.0.into();
    set_field!(attr, bit(UCT_MD_MEM_ATTR_FIELD_MEM_TYPE), mem_type, kind);
    set_field!(attr, bit(UCT_MD_MEM_ATTR_FIELD_SYS_DEV), sys_dev, unknown);
    set_field!(
        attr,
        bit(UCT_MD_MEM_ATTR_FIELD_BASE_ADDRESS),
        base_address,
        base
    );
    set_field!(
        attr,
        bit(UCT_MD_MEM_ATTR_FIELD_ALLOC_LENGTH),
        alloc_length,
        found.len
    );
    set_field!(
        attr,
        bit(UCT_MD_MEM_ATTR_FIELD_DMABUF_FD),
        dmabuf_fd,
        UCT_DMABUF_FD_INVALID
    );
    set_field!(
        attr,
        bit(UCT_MD_MEM_ATTR_FIELD_DMABUF_OFFSET),
        dmabuf_offset,
        0
    );
    Status::OK
}

/// Opens a memory domain. To be closed by `uct_md_close`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_open(
    component: uct_component_h,
    md_name: *const c_char,
    config: *const uct_md_config_t,
    md_p: *mut uct_md_h,
) -> ucs_status_t {
    // SAFETY: a C string or NULL, a configuration or NULL, a writable place.
    unsafe {
        let Some(name) = cstr::text(md_name).filter(|_| !md_p.is_null()) else {
            return Error::InvalidParam.into();
        };
        let opened =
            config::values(config.cast()).and_then(|values| domain::open(component, &name, values));
        opened.map(|md| md_p.write(md)).into()
    }
}

/// Closes a memory domain. Its interfaces must have been closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_close(md: uct_md_h) {
    // SAFETY: NULL or open, and not used again.
    unsafe { domain::close(md) };
}

/// Lists transports and devices of a memory domain; to be released by
/// `uct_release_tl_resource_list`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_query_tl_resources(
    md: uct_md_h,
    resources_p: *mut *mut uct_tl_resource_desc_t,
    num_resources_p: *mut c_uint,
) -> ucs_status_t {
    if resources_p.is_null() || num_resources_p.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: NULL or open.
    let devices = match unsafe { domain::from(md) }.and_then(|domain| domain.md.devices()) {
        Ok(devices) => devices,
        Err(error) => return error.into(),
    };
    // SAFETY: both are writable; the array has room for as many as are written.
    unsafe {
        let size = size_of::<uct_tl_resource_desc_t>();
        let list = libc::calloc(devices.len().max(1), size).cast::<uct_tl_resource_desc_t>();
        if list.is_null() {
            return Error::NoMemory.into();
        }
        for (at, device) in devices.iter().enumerate() {
            list.add(at).write(uct_tl_resource_desc_t {
                tl_name: cstr::array(device.tl_name),
                dev_name: cstr::array(&device.dev_name),
                dev_type: device.kind as uct_device_type_t,
                sys_device: UCS_SYS_DEVICE_ID_UNKNOWN as ucs_sys_device_t,
            });
        }
        resources_p.write(list);
        num_resources_p.write(devices.len() as c_uint);
    }
    Status::OK
}

/// Writes what a memory domain can do into `md_attr`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_query(md: uct_md_h, md_attr: *mut uct_md_attr_t) -> ucs_status_t {
    // SAFETY: NULL or open.
    let found = match unsafe { domain::from(md) } {
        Ok(domain) if !md_attr.is_null() => domain.attributes(),
        Ok(_) => return Error::InvalidParam.into(),
        Err(error) => return error.into(),
    };
    let attr = uct_md_attr {
        cap: uct_md_attr_cap {
            max_alloc: found.attr.max_alloc as u64,
            max_reg: found.attr.max_reg,
            flags: found.flags,
            reg_mem_types: found.reg_types,
            detect_mem_types: found.detect_types,
            alloc_mem_types: found.alloc_types,
            access_mem_types: found.access_types,
        },
        reg_cost: ucs_linear_func_t { c: 0.0, m: 0.0 },
        component_name: found.name,
        rkey_packed_size: found.attr.rkey_packed_size,
        local_cpus: domain::all_cpus(),
    };
    // SAFETY: the caller's own, of this size in all versions.
    unsafe { md_attr.write(attr) };
    Status::OK
}

/// Tells what a range of registered memory will be used for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_mem_advise(
    md: uct_md_h,
    memh: uct_mem_h,
    addr: *mut c_void,
    length: usize,
    advice: uct_mem_advice_t,
) -> ucs_status_t {
    let _ = (memh, advice);
    if length == 0 || addr.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: NULL or open. No domain takes advice.
    match unsafe { domain::from(md) } {
        Ok(_) => Error::Unsupported.into(),
        Err(error) => error.into(),
    }
}

/// Registers `length` bytes of memory; `flags` are of `uct_md_mem_flags`. To be undone by
/// `uct_md_mem_dereg`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_mem_reg(
    md: uct_md_h,
    address: *mut c_void,
    length: usize,
    flags: c_uint,
    memh_p: *mut uct_mem_h,
) -> ucs_status_t {
    let _ = flags;
    if length == 0 || address.is_null() || memh_p.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: NULL or open; a writable place.
    unsafe {
        match domain::from(md) {
            Ok(domain) if domain.md.attr().max_reg >= length => {
                match Memory::register(domain, address, length) {
                    Ok(memory) => {
                        memh_p.write(memory.into_raw());
                        Status::OK
                    }
                    Err(error) => error.into(),
                }
            }
            Ok(domain) if domain.md.attr().max_reg > 0 => Error::InvalidParam.into(),
            Ok(_) => Error::Unsupported.into(),
            Err(error) => error.into(),
        }
    }
}

/// Undoes a registration.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_mem_dereg(md: uct_md_h, memh: uct_mem_h) -> ucs_status_t {
    // SAFETY: NULL or open; NULL or registered, and not used again.
    unsafe {
        match domain::from(md).and_then(|_| Memory::from(memh)) {
            Ok(Memory::Registered | Memory::Pinned(_) | Memory::Exported(..)) => {
                Memory::free(memh);
                Status::OK
            }
            // It was allocated, and is freed by `uct_mem_free`.
            Ok(Memory::Shared(_) | Memory::Device(_)) => Error::InvalidParam.into(),
            Err(error) => error.into(),
        }
    }
}

/// Finds out of which type the memory at an address is.
///
/// Returns `UCS_OK`, or `UCS_ERR_INVALID_ADDR` if the domain doesn't know it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_detect_memory_type(
    md: uct_md_h,
    addr: *const c_void,
    length: usize,
    mem_type_p: *mut ucs_memory_type_t,
) -> ucs_status_t {
    if length == 0 || mem_type_p.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: NULL or open; a writable place.
    unsafe {
        match detect(md, addr, length) {
            Ok(found) => {
                mem_type_p.write(found.kind.0.into());
                Status::OK
            }
            Err(error) => error.into(),
        }
    }
}

/// Allocates memory by the first of the given methods that works. To be freed by `uct_mem_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_mem_alloc(
    length: usize,
    methods: *const uct_alloc_method_t,
    num_methods: c_uint,
    params: *const uct_mem_alloc_params_t,
    mem: *mut uct_allocated_memory_t,
) -> ucs_status_t {
    // SAFETY: the caller's struct, as its mask describes it.
    let params = match unsafe { Params::new(params) } {
        Ok(params) => params,
        Err(error) => return error.into(),
    };
    if length == 0 || mem.is_null() || (methods.is_null() && num_methods > 0) {
        return Error::InvalidParam.into();
    }
    // SAFETY: an array of `num_methods`, room for the result.
    unsafe {
        let methods = match num_methods {
            0 => &[],
            count => core::slice::from_raw_parts(methods, count as usize),
        };
        allocate(length, methods, &params)
            .map(|made| made.write(mem))
            .into()
    }
}

/// Frees what `uct_mem_alloc` gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_mem_free(mem: *const uct_allocated_memory_t) -> ucs_status_t {
    // SAFETY: NULL or what an allocation wrote, and not used again.
    unsafe {
        if mem.is_null() {
            return Error::InvalidParam.into();
        }
        let method = (&raw const (*mem).method).read();
        let address = (&raw const (*mem).address).read();
        match memory::private_method(method) {
            Some(method) => alloc::free(method, address.cast(), (&raw const (*mem).length).read()),
            None if method == UCT_ALLOC_METHOD_MD => {
                let memh = (&raw const (*mem).memh).read();
                match Memory::from(memh) {
                    Ok(_) => Memory::free(memh),
                    Err(error) => return error.into(),
                }
            }
            None => return Error::InvalidParam.into(),
        }
    }
    Status::OK
}

/// Reads the configuration of a component's memory domains. To be released by `uct_config_release`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_config_read(
    component: uct_component_h,
    env_prefix: *const c_char,
    filename: *const c_char,
    config_p: *mut *mut uct_md_config_t,
) -> ucs_status_t {
    let _ = filename;
    // SAFETY: a C string or NULL, a writable place.
    unsafe {
        if config_p.is_null() {
            return Error::InvalidParam.into();
        }
        let table = component::from(component).map(|component| config_table::md(component.name()));
        let read = table.and_then(|table| config::read(table, env_prefix));
        read.map(|config| config_p.write(config.cast())).into()
    }
}

/// Packs the key of registered memory, of as many bytes as the domain's attributes say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_mkey_pack(
    md: uct_md_h,
    memh: uct_mem_h,
    rkey_buffer: *mut c_void,
) -> ucs_status_t {
    // SAFETY: NULL or open; NULL or a handle of this domain; room for a packed key.
    unsafe { pack(md, memh, None, rkey_buffer) }.into()
}

/// Makes a key out of its packed form. To be released by `uct_rkey_release`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_rkey_unpack(
    component: uct_component_h,
    rkey_buffer: *const c_void,
    rkey_ob: *mut uct_rkey_bundle_t,
) -> ucs_status_t {
    // SAFETY: a packed key of this component, a writable place.
    unsafe { unpack(component, rkey_buffer, Unpack::default(), rkey_ob) }.into()
}

/// Address in this process of remote memory that a key is for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_rkey_ptr(
    component: uct_component_h,
    rkey_ob: *mut uct_rkey_bundle_t,
    remote_addr: u64,
    addr_p: *mut *mut c_void,
) -> ucs_status_t {
    // SAFETY: a key that was unpacked for this component, a writable place.
    unsafe {
        let Some(rkey_ob) = rkey_ob.as_ref().filter(|_| !addr_p.is_null()) else {
            return Error::InvalidParam.into();
        };
        let pointer = component::from(component).and_then(|component| {
            memory::pointer(component, rkey_ob.rkey, rkey_ob.handle, remote_addr)
        });
        pointer.map(|pointer| addr_p.write(pointer)).into()
    }
}

/// Releases a key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_rkey_release(
    component: uct_component_h,
    rkey_ob: *const uct_rkey_bundle_t,
) -> ucs_status_t {
    // SAFETY: a key that was unpacked for this component, and is not used again.
    unsafe {
        match (component::from(component), rkey_ob.as_ref()) {
            (Ok(_), Some(rkey_ob)) => memory::release(rkey_ob.handle),
            _ => return Error::InvalidParam.into(),
        }
    }
    Status::OK
}
