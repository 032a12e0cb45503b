//! Allocating by one of several methods.

use super::memory::private_method;
use super::{md as domain, memory};
use crate::abi::prelude::*;
use crate::field;
use crate::sys::map::{PAGE, Place};
use crate::ucs::memory::MemoryType;
use crate::uct::ops::alloc;

/// What an allocation gives.
pub struct Allocated {
    address: *mut c_void,
    length: usize,
    method: uct_alloc_method_t,
    md: uct_md_h,
    memh: uct_mem_h,
    kind: MemoryType,
}

impl Allocated {
    /// Writes all but the last field, for which callers of before 1.22 have no room.
    ///
    /// # Safety
    /// `mem` is writable.
    pub unsafe fn write(&self, mem: *mut uct_allocated_memory_t) {
        // SAFETY: as the caller says.
        unsafe {
            (&raw mut (*mem).address).write(self.address);
            (&raw mut (*mem).length).write(self.length);
            (&raw mut (*mem).method).write(self.method);
            (&raw mut (*mem).mem_type).write(self.kind.0.into());
            (&raw mut (*mem).md).write(self.md);
            (&raw mut (*mem).memh).write(self.memh);
        }
    }
}

/// Where memory is to be, as flags and address say.
fn place(params: &Params<'_, uct_mem_alloc_params_t>) -> Result<Place, Error> {
    let flags = field!(params, u64::from(UCT_MEM_ALLOC_PARAM_FIELD_FLAGS), flags).unwrap_or(0);
    let address = field!(
        params,
        u64::from(UCT_MEM_ALLOC_PARAM_FIELD_ADDRESS),
        address
    );
    let address = address.map_or(0, |address| address.expose_provenance());
    if u64::from(flags) & UCT_MD_MEM_FLAG_FIXED == 0 {
        return Ok(Place::near(address));
    }
    if address == 0 || !address.is_multiple_of(PAGE) {
        crate::ucs_debug!("memory at a fixed address needs one that is a multiple of {PAGE}");
        return Err(Error::InvalidParam);
    }
    // SAFETY: the caller wants the memory exactly there, whatever is there now.
    Ok(unsafe { Place::replacing(address) })
}

/// Allocates by the first method that can.
///
/// # Safety
/// The domains named in `params` are open.
pub unsafe fn allocate(
    length: usize,
    methods: &[uct_alloc_method_t],
    params: &Params<'_, uct_mem_alloc_params_t>,
) -> Result<Allocated, Error> {
    let place = place(params)?;
    let kind = field!(
        params,
        u64::from(UCT_MEM_ALLOC_PARAM_FIELD_MEM_TYPE),
        mem_type
    )
    .map_or(MemoryType::HOST, MemoryType::of);
    let host = kind.is_host();
    let mds = field!(params, u64::from(UCT_MEM_ALLOC_PARAM_FIELD_MDS), mds);
    let mds = mds.filter(|mds| !mds.mds.is_null() && mds.count > 0);
    let mds: &[uct_md_h] = match &mds {
        // SAFETY: the caller's array.
        Some(mds) => unsafe { core::slice::from_raw_parts(mds.mds, mds.count as usize) },
        None => &[],
    };
    for method in methods {
        if *method == UCT_ALLOC_METHOD_MD {
            for md in mds {
                // SAFETY: open, as the caller says.
                let domain = unsafe { domain::from(*md) }?;
                if domain.attributes().alloc_types & kind.bit() == 0 {
                    continue;
                }
                if !host {
                    return on_device(*md, domain, kind, length);
                }
                let (made, memory) = memory::allocate(domain, place, length)?;
                return Ok(Allocated {
                    address: made.ptr().cast(),
                    length: made.len(),
                    method: *method,
                    md: *md,
                    memh: memory.into_raw(),
                    kind,
                });
            }
            if !host {
                return Err(Error::Unsupported);
            }
            continue;
        }
        let Some(private) = private_method(*method) else {
            crate::ucs_error!("there is no method {method} of allocation");
            return Err(Error::InvalidParam);
        };
        if !host {
            continue;
        }
        match alloc::allocate(private, place, length) {
            Ok((ptr, length)) => {
                return Ok(Allocated {
                    address: ptr.cast(),
                    length,
                    method: *method,
                    md: core::ptr::null_mut(),
                    memh: core::ptr::null_mut(),
                    kind,
                });
            }
            Err(error) => crate::ucs_trace!("{private:?} gave no {length} bytes: {error}"),
        }
    }
    crate::ucs_debug!("no method of allocation gave {length} bytes");
    Err(Error::NoMemory)
}

fn on_device(
    md: uct_md_h,
    domain: &domain::Domain,
    kind: MemoryType,
    length: usize,
) -> Result<Allocated, Error> {
    let made = domain.md.allocate(kind, length)?;
    Ok(Allocated {
        address: core::ptr::with_exposed_provenance_mut(made.address()),
        length: made.len(),
        method: UCT_ALLOC_METHOD_MD,
        md,
        memh: memory::Memory::Device(made).into_raw(),
        kind,
    })
}

/// Memory that an interface can send from, registered if need be.
pub fn for_interface(
    interface: &super::iface::Interface,
    length: usize,
    flags: c_uint,
) -> Result<Allocated, Error> {
    // SAFETY: a domain outlives its interfaces.
    let domain = unsafe { domain::from(interface.md) }?;
    let attr = domain.md.attr();
    let needs_domain = attr.rkey_ptr && attr.max_reg == 0 && attr.max_alloc > 0;
    let methods = match needs_domain {
        true => vec![UCT_ALLOC_METHOD_MD],
        false => configured(interface),
    };
    let params = uct_mem_alloc_params_t {
        field_mask: u64::from(UCT_MEM_ALLOC_PARAM_FIELD_FLAGS | UCT_MEM_ALLOC_PARAM_FIELD_MDS),
        // There is no address to be fixed at.
        flags: flags & !(UCT_MD_MEM_FLAG_FIXED as c_uint),
        address: core::ptr::null_mut(),
        mem_type: UCS_MEMORY_TYPE_HOST,
        mds: uct_mem_alloc_params_mds {
            mds: &raw const interface.md,
            count: 1,
        },
        name: core::ptr::null(),
        sys_device: UCS_SYS_DEVICE_ID_UNKNOWN as ucs_sys_device_t,
    };
    // SAFETY: our own struct, and an open domain.
    let mut made = unsafe { allocate(length, &methods, &Params::new(&raw const params)?) }?;
    if made.method != UCT_ALLOC_METHOD_MD {
        made.md = interface.md;
        if attr.rkey_ptr && attr.max_reg > 0 {
            made.memh = memory::Memory::Registered.into_raw();
        }
    }
    Ok(made)
}

/// The methods that the transport's variable `ALLOC` names.
fn configured(interface: &super::iface::Interface) -> Vec<uct_alloc_method_t> {
    let variable = format!("{}_ALLOC", interface.device.tl_name.to_uppercase());
    let methods = interface.config.list(&variable);
    let method = |name: &String| match name.as_str() {
        "thp" => Some(UCT_ALLOC_METHOD_THP),
        "md" => Some(UCT_ALLOC_METHOD_MD),
        "heap" => Some(UCT_ALLOC_METHOD_HEAP),
        "mmap" => Some(UCT_ALLOC_METHOD_MMAP),
        "huge" => Some(UCT_ALLOC_METHOD_HUGE),
        _ => None,
    };
    methods.iter().filter_map(method).collect()
}
