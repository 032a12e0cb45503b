//! Host memory through which a sender's device memory goes to lanes.

use core::ops::Range;

use crate::sys::usermem::UserMem;
use crate::ucp::dt::{DeviceBuf, SendBuf};
use crate::ucp::ep::Endpoint;
use crate::ucp::mem::Memory;
use crate::ucs::status::{Error, Result};

/// A part of the message. It is not filled anew before lanes have let go of it.
pub struct Staging {
    memory: Memory,
    /// The bytes of the message that are in it.
    holds: Range<usize>,
}

impl Staging {
    /// Room for a fragment of at most `len` bytes, if `buf` needs it.
    ///
    /// # Errors
    /// `NoMemory`.
    pub fn of(buf: &SendBuf, len: usize, ep: &Endpoint) -> Result<Option<Staging>> {
        if !matches!(buf, SendBuf::Device(_)) {
            return Ok(None);
        }
        let len = len.min(ep.config().rndv.frag.max(1));
        let memory = ep.worker().staging(len).ok_or(Error::NoMemory)?;
        Ok(Some(Staging {
            memory,
            holds: 0..0,
        }))
    }

    /// Bytes of the message from `from` on, `most` at most.
    ///
    /// # Errors
    /// The driver's.
    pub fn fill(&mut self, device: &DeviceBuf, from: usize, most: usize) -> Result<UserMem> {
        let len = most.min(self.memory.len());
        let memory = self.memory.slice(self.memory.address() as u64, len);
        let memory = memory.ok_or(Error::NoMemory)?;
        if self.holds != (from..from + len) {
            self.holds = 0..0;
            device.copy_out(from, memory)?;
            self.holds = from..from + len;
        }
        Ok(memory)
    }
}
