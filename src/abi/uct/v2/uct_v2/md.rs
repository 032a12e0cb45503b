//! Entry points of `uct/api/v2/uct_v2.h`: md.

use crate::abi::prelude::*;
use crate::abi::support::transport::memory::{pack, unpack};
use crate::abi::support::transport::{component as components, md as domain};
use crate::uct::Unpack;
use crate::{field, set_field};

/// Like `uct_md_mem_reg`, with parameters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_mem_reg_v2(
    md: uct_md_h,
    address: *mut c_void,
    length: usize,
    params: *const uct_md_mem_reg_params_t,
    memh_p: *mut uct_mem_h,
) -> ucs_status_t {
    // SAFETY: the caller's own arguments.
    unsafe {
        match Params::new(params) {
            Ok(params)
                if field!(params, u64::from(UCT_MD_MEM_REG_FIELD_DMABUF_FD), dmabuf_fd)
                    .is_some_and(|fd| fd != UCT_DMABUF_FD_INVALID) =>
            {
                Error::Unsupported.into()
            }
            Ok(_) => uct_md_mem_reg(md, address, length, 0, memh_p),
            Err(error) => error.into(),
        }
    }
}

/// Like `uct_md_mem_dereg`, with parameters: it can invalidate the keys of the memory first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_mem_dereg_v2(
    md: uct_md_h,
    params: *const uct_md_mem_dereg_params_t,
) -> ucs_status_t {
    // SAFETY: the caller's own arguments.
    unsafe {
        let params = match Params::new(params) {
            Ok(params) => params,
            Err(error) => return error.into(),
        };
        let flags = field!(params, u64::from(UCT_MD_MEM_DEREG_FIELD_FLAGS), flags).unwrap_or(0);
        if flags & UCT_MD_MEM_DEREG_FLAG_INVALIDATE != 0 {
            // No domain says that it can.
            return Error::Unsupported.into();
        }
        match field!(params, u64::from(UCT_MD_MEM_DEREG_FIELD_MEMH), memh) {
            Some(memh) => uct_md_mem_dereg(md, memh),
            None => Error::InvalidParam.into(),
        }
    }
}

/// Like `uct_md_mem_query`, with more attributes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_mem_query_v2(
    md: uct_md_h,
    address: *const c_void,
    length: usize,
    mem_attr: *mut uct_md_mem_attr_v2_t,
) -> ucs_status_t {
    // SAFETY: the caller's struct, as its mask describes it; NULL or open.
    unsafe {
        let mut attr = match Attrs::new(mem_attr) {
            Ok(attr) if !address.is_null() && length > 0 => attr,
            _ => return Error::InvalidParam.into(),
        };
        let flags = u64::from(UCT_MD_MEM_ATTR_V2_FIELD_MEM_FLAGS);
        let found =
            match domain::from(md).and_then(|domain| domain.md.detect(address.addr(), length)) {
                Ok(found) => Some(found),
                Err(Error::Unsupported) if attr.mask() & !flags == 0 => None,
                Err(error) => return error.into(),
            };
        if let Some(found) = found {
            let bit = |bit: uct_md_mem_attr_v2_field_t| u64::from(bit);
            let base = core::ptr::with_exposed_provenance_mut(found.base);
            let unknown = UCS_SYS_DEVICE_ID_UNKNOWN as ucs_sys_device_t;
            let kind = found.kind.0.into();
            set_field!(attr, bit(UCT_MD_MEM_ATTR_V2_FIELD_MEM_TYPE), mem_type, kind);
            set_field!(
                attr,
                bit(UCT_MD_MEM_ATTR_V2_FIELD_SYS_DEV),
                sys_dev,
                unknown
            );
            set_field!(
                attr,
                bit(UCT_MD_MEM_ATTR_V2_FIELD_BASE_ADDRESS),
                base_address,
                base
            );
            set_field!(
                attr,
                bit(UCT_MD_MEM_ATTR_V2_FIELD_ALLOC_LENGTH),
                alloc_length,
                found.len
            );
            let none = UCT_DMABUF_FD_INVALID;
            set_field!(
                attr,
                bit(UCT_MD_MEM_ATTR_V2_FIELD_DMABUF_FD),
                dmabuf_fd,
                none
            );
            set_field!(
                attr,
                bit(UCT_MD_MEM_ATTR_V2_FIELD_DMABUF_OFFSET),
                dmabuf_offset,
                0
            );
        }
        set_field!(attr, flags, mem_flags, UCS_MEM_FLAG_REGISTRABLE as u8);
    }
    Status::OK
}

/// Like `uct_md_query`, but writes only what the mask of `md_attr` asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_query_v2(
    md: uct_md_h,
    md_attr: *mut uct_md_attr_v2_t,
) -> ucs_status_t {
    // SAFETY: NULL or open; the caller's struct, as its mask describes it.
    let (found, mut attr) = match unsafe { (domain::from(md), Attrs::new(md_attr)) } {
        (Ok(domain), Ok(attr)) => (domain.attributes(), attr),
        (Err(error), _) | (_, Err(error)) => return error.into(),
    };
    memory_types(&mut attr, &found);
    let bit = |bit: uct_md_attr_field| u64::from(bit);
    let cost = ucs_linear_func_t { c: 0.0, m: 0.0 };
    let max_alloc = found.attr.max_alloc as u64;
    let size = found.attr.rkey_packed_size;
    let cpus = domain::all_cpus();
    let name = bit(UCT_MD_ATTR_FIELD_COMPONENT_NAME);
    let packed = bit(UCT_MD_ATTR_FIELD_RKEY_PACKED_SIZE);
    let exported = bit(UCT_MD_ATTR_FIELD_EXPORTED_MKEY_PACKED_SIZE);
    let required = bit(UCT_MD_ATTR_FIELD_REQUIRED_MEM_FLAGS);
    set_field!(attr, bit(UCT_MD_ATTR_FIELD_MAX_ALLOC), max_alloc, max_alloc);
    set_field!(
        attr,
        bit(UCT_MD_ATTR_FIELD_MAX_REG),
        max_reg,
        found.attr.max_reg
    );
    set_field!(attr, bit(UCT_MD_ATTR_FIELD_FLAGS), flags, found.flags);
    set_field!(attr, bit(UCT_MD_ATTR_FIELD_REG_COST), reg_cost, cost);
    set_field!(attr, name, component_name, found.name);
    set_field!(attr, packed, rkey_packed_size, size);
    set_field!(attr, bit(UCT_MD_ATTR_FIELD_LOCAL_CPUS), local_cpus, cpus);
    set_field!(attr, exported, exported_mkey_packed_size, 0);
    set_field!(attr, bit(UCT_MD_ATTR_FIELD_GLOBAL_ID), global_id, [0; 256]);
    set_field!(attr, bit(UCT_MD_ATTR_FIELD_REG_ALIGNMENT), reg_alignment, 1);
    set_field!(attr, required, required_mem_flags, 0);
    Status::OK
}

/// Writes which types of memory a domain serves, for what of this is asked for.
fn memory_types(attr: &mut Attrs<'_, uct_md_attr_v2_t>, found: &domain::Attributes) {
    let bit = |bit: uct_md_attr_field| u64::from(bit);
    let at_once = match found.attr.types {
        Some(_) => 0,
        None => found.reg_types,
    };
    let reg = bit(UCT_MD_ATTR_FIELD_REG_MEM_TYPES);
    let nonblock = bit(UCT_MD_ATTR_FIELD_REG_NONBLOCK_MEM_TYPES);
    let cache = bit(UCT_MD_ATTR_FIELD_CACHE_MEM_TYPES);
    let detect = bit(UCT_MD_ATTR_FIELD_DETECT_MEM_TYPES);
    let alloc = bit(UCT_MD_ATTR_FIELD_ALLOC_MEM_TYPES);
    let access = bit(UCT_MD_ATTR_FIELD_ACCESS_MEM_TYPES);
    let dmabuf = bit(UCT_MD_ATTR_FIELD_DMABUF_MEM_TYPES);
    set_field!(attr, reg, reg_mem_types, found.reg_types);
    set_field!(attr, nonblock, reg_nonblock_mem_types, at_once);
    set_field!(attr, cache, cache_mem_types, found.cache_types);
    set_field!(attr, detect, detect_mem_types, found.detect_types);
    set_field!(attr, alloc, alloc_mem_types, found.alloc_types);
    set_field!(attr, access, access_mem_types, found.access_types);
    set_field!(attr, dmabuf, dmabuf_mem_types, 0);
    set_field!(attr, bit(UCT_MD_ATTR_FIELD_GVA_MEM_TYPES), gva_mem_types, 0);
}

/// Packs a key for a range of registered memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_mkey_pack_v2(
    md: uct_md_h,
    memh: uct_mem_h,
    address: *mut c_void,
    length: usize,
    params: *const uct_md_mkey_pack_params_t,
    mkey_buffer: *mut c_void,
) -> ucs_status_t {
    // Callers of before 1.22 pass four arguments of another meaning; none of the programs served
    // does so.
    let _ = length;
    let at = (!address.is_null()).then(|| address.addr());
    // SAFETY: the caller's own arguments.
    unsafe {
        let flags = match Params::new(params) {
            Ok(params) => {
                field!(params, u64::from(UCT_MD_MKEY_PACK_FIELD_FLAGS), flags).unwrap_or(0)
            }
            Err(error) => return error.into(),
        };
        if flags != 0 {
            return Error::Unsupported.into();
        }
        pack(md, memh, at, mkey_buffer).into()
    }
}

/// Makes a memory handle out of one that another process of this host exported.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_mem_attach(
    md: uct_md_h,
    mkey_buffer: *const c_void,
    params: *mut uct_md_mem_attach_params_t,
    memh_p: *mut uct_mem_h,
) -> ucs_status_t {
    // SAFETY: NULL or open; the caller's struct; a writable place.
    unsafe {
        let valid = Params::new(params.cast_const()).is_ok() && !memh_p.is_null();
        match domain::from(md) {
            Ok(_) if valid && !mkey_buffer.is_null() => Error::Unsupported.into(),
            Ok(_) => Error::InvalidParam.into(),
            Err(error) => error.into(),
        }
    }
}

/// Compares two keys; `*result` is 0 if they are equal, else negative or positive: an order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_rkey_compare(
    component: uct_component_h,
    rkey1: uct_rkey_t,
    rkey2: uct_rkey_t,
    params: *const uct_rkey_compare_params_t,
    result: *mut c_int,
) -> ucs_status_t {
    // SAFETY: the caller's struct; a writable place.
    unsafe {
        match (components::from(component), Params::new(params)) {
            (Ok(_), Ok(params)) if params.mask() == 0 && !result.is_null() => {
                result.write(rkey1.cmp(&rkey2) as c_int);
                Status::OK
            }
            _ => Error::InvalidParam.into(),
        }
    }
}

/// Like `uct_rkey_unpack`, with parameters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_rkey_unpack_v2(
    component: uct_component_h,
    rkey_buffer: *const c_void,
    params: *const uct_rkey_unpack_params_t,
    rkey_ob: *mut uct_rkey_bundle_t,
) -> ucs_status_t {
    // SAFETY: a packed key of this component, the caller's struct, a writable place.
    unsafe {
        match Params::new(params) {
            Ok(params) => {
                let bit = |bit: uct_rkey_unpack_field_mask_t| u64::from(bit);
                let flags = field!(params, bit(UCT_RKEY_UNPACK_FIELD_FLAGS), flags).unwrap_or(0);
                let device = field!(params, bit(UCT_RKEY_UNPACK_FIELD_SYS_DEVICE), sys_device);
                let how = Unpack {
                    free_unused: flags & u64::from(UCT_RKEY_UNPACK_FLAG_FREE_UNUSED_MAPPING) != 0,
                    sys_device: device,
                };
                unpack(component, rkey_buffer, how, rkey_ob).into()
            }
            Err(error) => error.into(),
        }
    }
}

/// Describes registered or remote memory for device code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_mem_elem_pack(
    md: uct_md_h,
    memh: uct_mem_h,
    rkey: uct_rkey_t,
    mem_elem: *mut uct_device_mem_elem_t,
) -> ucs_status_t {
    let _ = memh;
    // SAFETY: NULL or open; room for an element.
    unsafe {
        let packed = domain::from(md).and_then(|domain| domain.md.element(rkey as u64));
        match packed {
            Ok(_) if mem_elem.is_null() => Error::InvalidParam.into(),
            // One that is mapped is the distance from the owner's address to ours.
            Ok(distance) => {
                mem_elem.cast::<i64>().write(distance);
                Status::OK
            }
            Err(error) => error.into(),
        }
    }
}
