//! Memory handles: the user's own memory, or memory allocated here.

mod regions;

use core::ptr::NonNull;
use std::sync::Arc;

pub use regions::{RegionId, Regions};

use crate::sys::map::Mapping;
use crate::sys::usermem::UserMem;
use crate::ucp::context::Context;
use crate::ucs::status::{Error, Result};

const PAGE: usize = 4096;

/// A region of this process's memory.
#[derive(Debug)]
pub struct Memory {
    address: usize,
    len: usize,
    /// Allocated by us.
    _mapping: Option<Mapping>,
}

/// A memory handle (`ucp_mem_h`): a region that peers may access until this is dropped.
pub struct Registered {
    id: RegionId,
    memory: Arc<Memory>,
    context: Arc<Context>,
}

impl Registered {
    pub fn new(context: Arc<Context>, memory: Memory) -> Registered {
        let memory = Arc::new(memory);
        Registered {
            id: context.regions.insert(memory.clone()),
            memory,
            context,
        }
    }

    pub fn id(&self) -> RegionId {
        self.id
    }

    pub fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.context.regions.remove(self.id);
    }
}

impl Memory {
    /// The user's own memory. Nothing needs to be done for host memory.
    pub fn register(address: usize, len: usize) -> Result<Memory> {
        if address == 0 && len != 0 {
            return Err(Error::InvalidParam);
        }
        address.checked_add(len).ok_or(Error::InvalidParam)?;
        Ok(Memory {
            address,
            len,
            _mapping: None,
        })
    }

    /// Allocates; at `fixed` (page-aligned, may replace what is there) or anywhere.
    pub fn allocate(fixed: Option<usize>, len: usize) -> Result<Memory> {
        if len == 0 {
            return Ok(Memory {
                address: fixed.unwrap_or(0),
                len,
                _mapping: None,
            });
        }
        let size = len.checked_next_multiple_of(PAGE).ok_or(Error::NoMemory)?;
        let fixed = match fixed {
            Some(at) if at % PAGE != 0 => return Err(Error::InvalidParam),
            Some(at) => Some(NonNull::new(core::ptr::with_exposed_provenance_mut(at)))
                .ok_or(Error::InvalidParam)?,
            None => None,
        };
        // SAFETY: a fixed address is the user's wish, with UCP_MEM_MAP_FIXED.
        let mapping = unsafe { Mapping::anonymous(fixed, size) }.map_err(|e| {
            crate::ucs_error!("failed to allocate {len} bytes: {e}");
            Error::NoMemory
        })?;
        Ok(Memory {
            address: mapping.ptr() as usize,
            len,
            _mapping: Some(mapping),
        })
    }

    pub fn address(&self) -> usize {
        self.address
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The `len` bytes at `address`, if they lie in the region. Who uses them holds the region.
    pub fn slice(&self, address: u64, len: usize) -> Option<UserMem> {
        let offset = offset_in(self.address as u64, self.len as u64, address, len)?;
        let at = self.address.wrapping_add(offset);
        // SAFETY: inside of what the user registered and keeps until `ucp_mem_unmap`, or of what
        // is mapped as long as `self` lives.
        Some(unsafe { UserMem::new(core::ptr::with_exposed_provenance_mut(at), len) })
    }
}

/// Where the `len` bytes at `address` lie in a region, if they do.
pub fn offset_in(base: u64, region_len: u64, address: u64, len: usize) -> Option<usize> {
    let offset = address.checked_sub(base)?;
    let end = offset.checked_add(len as u64)?;
    (end <= region_len).then_some(usize::try_from(offset).ok()?)
}
