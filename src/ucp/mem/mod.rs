//! Memory handles: the user's own memory, or memory allocated here.

use core::ptr::NonNull;

use crate::sys::map::Mapping;
use crate::ucs::status::{Error, Result};

/// A registered region.
#[derive(Debug)]
pub struct Memory {
    address: usize,
    len: usize,
    /// Allocated by us.
    _mapping: Option<Mapping>,
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
    #[allow(unsafe_code)]
    pub fn allocate(fixed: Option<usize>, len: usize) -> Result<Memory> {
        if len == 0 {
            return Ok(Memory {
                address: fixed.unwrap_or(0),
                len,
                _mapping: None,
            });
        }
        const PAGE: usize = 4096;
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
}
