//! Memory domains.

use std::rc::Rc;

use crate::abi::prelude::*;
use crate::ucs::config::Config;
use crate::uct::{Md, MdAttr, MemoryTypes, config_table};

use super::component;

/// What a `uct_md_h` points to.
pub struct Domain {
    pub md: Rc<dyn Md>,
    pub config: Config,
}

/// Opens a domain of a component.
pub fn open(component: uct_component_h, name: &str, config: Config) -> Result<uct_md_h, Error> {
    let md = component::from(component)?.open_md(name, &config)?;
    Ok(Box::into_raw(Box::new(Domain { md, config })).cast())
}

/// # Safety
/// `handle` is NULL or from [`open`], and not closed yet.
pub unsafe fn from<'a>(handle: uct_md_h) -> Result<&'a Domain, Error> {
    // SAFETY: as the caller says.
    unsafe { handle.cast::<Domain>().as_ref() }.ok_or(Error::InvalidParam)
}

/// # Safety
/// `handle` is NULL or from [`open`], and not used again.
pub unsafe fn close(handle: uct_md_h) {
    if !handle.is_null() {
        // SAFETY: as the caller says.
        drop(unsafe { Box::from_raw(handle.cast::<Domain>()) });
    }
}

const HOST: u64 = 1 << UCS_MEMORY_TYPE_HOST;

const INVALIDATES: u64 =
    UCT_MD_FLAG_INVALIDATE | (UCT_MD_FLAG_INVALIDATE_RMA | UCT_MD_FLAG_INVALIDATE_AMO) as u64;
/// Of a domain whose keys are for memory of devices.
const OWN_KEYS: u64 =
    UCT_MD_FLAG_NEED_RKEY | UCT_MD_FLAG_RKEY_PTR | UCT_MD_FLAG_MEMTYPE_COPY as u64;

/// A domain's attributes in C's terms.
pub struct Attributes {
    pub attr: MdAttr,
    pub flags: u64,
    pub reg_types: u64,
    pub alloc_types: u64,
    pub access_types: u64,
    pub cache_types: u64,
    pub detect_types: u64,
    pub name: [c_char; 16],
}

impl Domain {
    pub fn attributes(&self) -> Attributes {
        let attr = self.md.attr();
        let (allocates, registers) = (attr.max_alloc > 0, attr.max_reg > 0);
        let own_keys = registers && attr.rkey_packed_size > 0;
        let when = |yes: bool, bits: u64| if yes { bits } else { 0 };
        let host = attr.types.is_none();
        let types = attr.types.unwrap_or(MemoryTypes {
            reg: when(registers, HOST),
            alloc: when(allocates, HOST),
            // Transports of host memory read and write what the processor does.
            access: HOST,
            cache: when(allocates || registers, HOST),
            detect: 0,
        });
        Attributes {
            attr,
            flags: when(allocates, UCT_MD_FLAG_ALLOC)
                | when(allocates && host, UCT_MD_FLAG_FIXED | UCT_MD_FLAG_RKEY_PTR)
                | when(registers, UCT_MD_FLAG_REG)
                | when(
                    attr.rkey_ptr || attr.rkey_packed_size > 0,
                    UCT_MD_FLAG_NEED_RKEY,
                )
                | when(own_keys, OWN_KEYS)
                | when(attr.invalidates, INVALIDATES),
            reg_types: types.reg,
            alloc_types: types.alloc,
            access_types: types.access,
            cache_types: types.cache,
            detect_types: types.detect,
            name: crate::abi::support::cstr::array(self.md.component().name()),
        }
    }

    /// The variables of one of its transports.
    pub fn transport(&self, name: &str) -> Option<&'static crate::ucs::config::Table> {
        let devices = self.md.devices().ok()?;
        let own = self.md.component().name();
        let known = name == own || devices.iter().any(|device| device.tl_name == name);
        config_table::transport(name).filter(|_| known)
    }
}

/// Processors near the device: all.
pub fn all_cpus() -> ucs_cpu_set_t {
    ucs_cpu_set_t {
        ucs_bits: [u64::MAX; 16],
    }
}
