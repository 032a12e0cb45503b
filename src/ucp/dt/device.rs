//! Buffers of which a part at least is memory of a device: no processor touches it. What is sent
//! goes through host memory, which is filled in large steps; what arrives is copied by the driver.
#![forbid(unsafe_code)]

use core::cell::RefCell;

use super::IovBuf;
use crate::sys::usermem::UserMem;
use crate::ucs::status::{Error, Result};
use crate::uct::cuda::context::Owner;
use crate::uct::cuda::{memtype, mover};

/// Bytes that are staged at once.
const CHUNK: usize = 1 << 20;

/// See the module.
pub struct DeviceBuf {
    parts: IovBuf,
    /// Of a buffer in one piece, whose it is.
    owner: Option<Owner>,
    staged: RefCell<Staged>,
}

/// Bytes of the buffer in host memory.
#[derive(Default)]
struct Staged {
    offset: usize,
    bytes: Vec<u8>,
}

impl Staged {
    fn part(&self, offset: usize, len: usize) -> Option<&[u8]> {
        let at = offset.checked_sub(self.offset)?;
        self.bytes.get(at..at.checked_add(len)?)
    }
}

/// The driver's errors are no lane's fault.
fn own(error: Error) -> Error {
    match error {
        Error::IoError | Error::Unreachable => Error::NoDevice,
        other => other,
    }
}

impl DeviceBuf {
    /// Memory in one piece.
    pub fn contig(mem: UserMem, owner: Owner) -> Result<DeviceBuf> {
        Ok(DeviceBuf {
            parts: IovBuf::new(core::iter::once(mem))?,
            owner: Some(owner),
            staged: RefCell::default(),
        })
    }

    /// Pieces, some of which are memory of a device.
    pub fn iov(parts: IovBuf) -> DeviceBuf {
        DeviceBuf {
            parts,
            owner: None,
            staged: RefCell::default(),
        }
    }

    pub fn len(&self) -> usize {
        self.parts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory with its owner, if it is in one piece.
    pub fn memory(&self) -> Option<(UserMem, Owner)> {
        let owner = self.owner?;
        let mut memory = None;
        self.parts
            .for_parts(0, self.len(), 1, |part| memory = Some(part));
        Some((memory?, owner))
    }

    /// Calls `copy` with each piece of `len` bytes from `offset` on, where it begins among them,
    /// and whose it is.
    fn each(
        &self,
        offset: usize,
        len: usize,
        mut copy: impl FnMut(UserMem, usize, Option<Owner>) -> Result<()>,
    ) -> Result<()> {
        let (mut at, mut result) = (0, Ok(()));
        self.parts.for_parts(offset, len, usize::MAX, |part| {
            if result.is_ok() {
                let owner = match self.owner {
                    Some(owner) => Ok(Some(owner)),
                    None => memtype::detect(part.ptr().addr())
                        .map(|known| known.map(|known| known.owner)),
                };
                result = owner.and_then(|owner| copy(part, at, owner));
            }
            at += part.len();
        });
        result.map_err(own)
    }

    /// Makes `len` bytes from `offset` on ready for [`DeviceBuf::pack`].
    ///
    /// # Errors
    /// The driver's.
    pub fn prepare(&self, offset: usize, len: usize) -> Result<()> {
        let mut staged = self.staged.borrow_mut();
        if staged.part(offset, len).is_some() {
            return Ok(());
        }
        let size = len.max(CHUNK.min(self.len().saturating_sub(offset)));
        let mut bytes = core::mem::take(&mut staged.bytes);
        bytes.resize(size, 0);
        self.each(offset, size, |part, at, owner| {
            let room = bytes.get_mut(at..at + part.len()).ok_or(Error::NoMemory)?;
            mover::read(part, owner, room)
        })?;
        *staged = Staged { offset, bytes };
        Ok(())
    }

    /// Message bytes that were made ready.
    pub fn pack(&self, offset: usize, dst: &mut [u8]) -> usize {
        let len = dst.len().min(self.len().saturating_sub(offset));
        if self.prepare(offset, len).is_err() {
            return 0;
        }
        match (self.staged.borrow().part(offset, len), dst.get_mut(..len)) {
            (Some(bytes), Some(dst)) => dst.copy_from_slice(bytes),
            _ => return 0,
        }
        len
    }

    /// Stores bytes; what does not fit is left out.
    pub fn unpack(&self, offset: usize, src: &[u8]) -> Result<()> {
        self.each(offset, src.len(), |part, at, owner| {
            let bytes = src.get(at..at + part.len()).ok_or(Error::InvalidParam)?;
            mover::write(part, owner, bytes)
        })
    }

    /// Copies the bytes from `offset` on that `dst` has room for.
    pub fn copy_out(&self, offset: usize, dst: UserMem) -> Result<()> {
        self.each(offset, dst.len(), |part, at, owner| {
            mover::copy_any(dst.part(at, part.len()), part, owner)
        })
    }

    /// Stores the bytes at `src`, which begin at `offset` of the message.
    pub fn copy_in(&self, offset: usize, src: UserMem) -> Result<()> {
        self.each(offset, src.len(), |part, at, owner| {
            mover::copy_any(part, src.part(at, part.len()), owner)
        })
    }
}
