//! What the user's buffer is: contiguous bytes, an I/O vector, a generic datatype with callbacks,
//! or memory of a device.
//!
//! A [`SendBuf`] or [`RecvBuf`] is made when an operation is posted and lives as long as the
//! operation. Dropping it ends a generic datatype's state (`finish`), so that each start has
//! exactly one finish, however the operation ends.

mod device;
#[allow(unsafe_code)]
mod generic;
mod iov;

pub use device::DeviceBuf;
pub use generic::{GenericDt, GenericOps, PackState, UnpackState};
pub use iov::{IovBuf, RawIov};

use crate::sys::usermem::UserMem;
use crate::ucs::status::{Error, Result};
use crate::uct::{IoVec, IoVecMut};
use smallvec::SmallVec;

/// Bytes of the buffer through which a generic datatype's bytes go to and from shared memory.
const BOUNCE: usize = 4096;

/// The class of a `ucp_datatype_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DtClass {
    /// Elements of this many bytes, one after the other.
    Contig(usize),
    Iov,
    /// Address of the [`GenericDt`].
    Generic(usize),
}

impl DtClass {
    const SHIFT: u32 = 3;
    const MASK: u64 = 7;

    /// Decodes a handle. Strided and undefined classes are refused.
    pub const fn decode(datatype: u64) -> Result<DtClass> {
        match datatype & Self::MASK {
            0 => Ok(DtClass::Contig((datatype >> Self::SHIFT) as usize)),
            2 => Ok(DtClass::Iov),
            7 => Ok(DtClass::Generic((datatype & !Self::MASK) as usize)),
            _ => Err(Error::InvalidParam),
        }
    }
}

/// Source of a send.
pub enum SendBuf {
    Contig(UserMem),
    Iov(IovBuf),
    Generic(PackState),
    Device(Box<DeviceBuf>),
}

impl SendBuf {
    /// Whether a lane for device memory can use it where it is: as [`SendBuf::device_pieces`].
    pub fn suits_devices(&self) -> bool {
        match self {
            SendBuf::Contig(_) | SendBuf::Iov(_) => true,
            SendBuf::Generic(_) => false,
            SendBuf::Device(device) => device.memory().is_some(),
        }
    }

    /// As [`SendBuf::pieces`] with one piece, of whatever memory.
    pub fn device_pieces(
        &self,
        offset: usize,
        len: usize,
    ) -> Option<(SmallVec<[IoVec; 4]>, usize)> {
        let SendBuf::Device(device) = self else {
            return self.pieces(offset, len, 1);
        };
        let part = device.memory()?.0.part(offset, len);
        let piece = IoVec {
            ptr: part.ptr(),
            len: part.len(),
        };
        Some((SmallVec::from_slice(&[piece]), part.len()))
    }

    /// Whether lanes can read it where it is.
    pub fn is_in_memory(&self) -> bool {
        matches!(self, SendBuf::Contig(_) | SendBuf::Iov(_))
    }

    /// To be called before [`SendBuf::pack`] of these bytes, which can't fail then.
    ///
    /// # Errors
    /// Those of a device's driver.
    #[inline]
    pub fn prepare(&self, offset: usize, len: usize) -> Result<()> {
        match self {
            SendBuf::Device(device) => device.prepare(offset, len),
            _ => Ok(()),
        }
    }

    /// Bytes in the message.
    pub fn len(&self) -> usize {
        match self {
            SendBuf::Contig(mem) => mem.len(),
            SendBuf::Iov(iov) => iov.len(),
            SendBuf::Generic(state) => state.len(),
            SendBuf::Device(device) => device.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory, if it is in one piece.
    pub fn contig(&self) -> Option<UserMem> {
        match self {
            SendBuf::Contig(mem) => Some(*mem),
            _ => None,
        }
    }

    /// Writes message bytes from `offset` on into `dst`, and returns how many.
    pub fn pack(&self, offset: usize, dst: &mut [u8]) -> usize {
        match self {
            SendBuf::Contig(mem) => mem.read_at(offset, dst),
            SendBuf::Iov(iov) => iov.read_at(offset, dst),
            SendBuf::Generic(state) => state.pack(offset, dst),
            SendBuf::Device(device) => device.pack(offset, dst),
        }
    }

    /// Copies the whole message to `dst`, which has room for it.
    pub fn copy_to(&self, dst: UserMem) -> Result<()> {
        match self {
            SendBuf::Contig(mem) => {
                mem.copy_to(dst);
            }
            SendBuf::Iov(iov) => {
                let mut at = 0;
                iov.for_parts(0, iov.len(), usize::MAX, |part| {
                    at += part.copy_to(dst.part(at, part.len()));
                });
            }
            SendBuf::Generic(state) => {
                let mut bounce = [0; BOUNCE];
                let mut at = 0;
                while at < state.len() {
                    let packed = state.pack(at, &mut bounce);
                    if packed == 0 {
                        return Err(Error::InvalidParam);
                    }
                    dst.write_at(at, bounce.get(..packed).unwrap_or_default());
                    at += packed;
                }
            }
            SendBuf::Device(device) => device.copy_out(0, dst.part(0, device.len()))?,
        }
        Ok(())
    }

    /// The pieces of memory that hold `len` bytes from `offset` on, and how many bytes they
    /// hold, with `max_iov` pieces at most. `None` when the message has no memory of its own.
    pub fn pieces(
        &self,
        offset: usize,
        len: usize,
        max_iov: usize,
    ) -> Option<(SmallVec<[IoVec; 4]>, usize)> {
        match self {
            SendBuf::Contig(mem) => {
                let part = mem.part(offset, len);
                let piece = IoVec {
                    ptr: part.ptr(),
                    len: part.len(),
                };
                Some((SmallVec::from_slice(&[piece]), part.len()))
            }
            SendBuf::Iov(iov) => {
                let mut pieces = SmallVec::new();
                let n = iov.for_parts(offset, len, max_iov, |part| {
                    pieces.push(IoVec {
                        ptr: part.ptr(),
                        len: part.len(),
                    });
                });
                Some((pieces, n))
            }
            SendBuf::Generic(_) | SendBuf::Device(_) => None,
        }
    }
}

/// Destination of a receive.
pub enum RecvBuf {
    Contig(UserMem),
    Iov(IovBuf),
    Generic(UnpackState),
    Device(Box<DeviceBuf>),
}

impl RecvBuf {
    /// Whether a lane for device memory can use it where it is: as [`RecvBuf::device_pieces`].
    pub fn suits_devices(&self) -> bool {
        match self {
            RecvBuf::Contig(_) | RecvBuf::Iov(_) => true,
            RecvBuf::Generic(_) => false,
            RecvBuf::Device(device) => device.memory().is_some(),
        }
    }

    /// As [`RecvBuf::pieces`] with one piece, of whatever memory.
    pub fn device_pieces(
        &self,
        offset: usize,
        len: usize,
    ) -> Option<(SmallVec<[IoVecMut; 4]>, usize)> {
        let RecvBuf::Device(device) = self else {
            return self.pieces(offset, len, 1);
        };
        let part = device.memory()?.0.part(offset, len);
        let piece = IoVecMut {
            ptr: part.ptr(),
            len: part.len(),
        };
        Some((SmallVec::from_slice(&[piece]), part.len()))
    }

    /// Whether lanes can write it where it is.
    pub fn is_in_memory(&self) -> bool {
        matches!(self, RecvBuf::Contig(_) | RecvBuf::Iov(_))
    }

    /// Bytes that fit.
    pub fn len(&self) -> usize {
        match self {
            RecvBuf::Contig(mem) => mem.len(),
            RecvBuf::Iov(iov) => iov.len(),
            RecvBuf::Generic(state) => state.len(),
            RecvBuf::Device(device) => device.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory, if it is in one piece.
    pub fn contig(&self) -> Option<UserMem> {
        match self {
            RecvBuf::Contig(mem) => Some(*mem),
            _ => None,
        }
    }

    /// Stores message bytes that begin at `offset`; what does not fit is left out. The error is
    /// a generic datatype's own.
    pub fn unpack(&self, offset: usize, src: &[u8]) -> Result<()> {
        match self {
            RecvBuf::Contig(mem) => {
                mem.write_at(offset, src);
                Ok(())
            }
            RecvBuf::Iov(iov) => {
                iov.write_at(offset, src);
                Ok(())
            }
            RecvBuf::Generic(state) => state.unpack(offset, src),
            RecvBuf::Device(device) => device.unpack(offset, src),
        }
    }

    /// Fills it with the bytes at `src`, which has as many. The error is a generic datatype's
    /// own.
    pub fn copy_from(&self, src: UserMem) -> Result<()> {
        self.copy_part(0, src)
    }

    /// Stores the bytes at `src`, which begin at `offset` of the message and fit.
    pub fn copy_part(&self, offset: usize, src: UserMem) -> Result<()> {
        match self {
            RecvBuf::Contig(mem) => {
                src.copy_to(mem.part(offset, src.len()));
            }
            RecvBuf::Iov(iov) => {
                let mut at = 0;
                iov.for_parts(offset, src.len(), usize::MAX, |part| {
                    at += src.part(at, part.len()).copy_to(part);
                });
            }
            RecvBuf::Generic(state) => {
                let mut bounce = [0; BOUNCE];
                let mut at = 0;
                while at < src.len() {
                    let n = src.read_at(at, &mut bounce);
                    state.unpack(offset + at, bounce.get(..n).unwrap_or_default())?;
                    at += n;
                }
            }
            RecvBuf::Device(device) => device.copy_in(offset, src)?,
        }
        Ok(())
    }

    /// As [`SendBuf::pieces`].
    pub fn pieces(
        &self,
        offset: usize,
        len: usize,
        max_iov: usize,
    ) -> Option<(SmallVec<[IoVecMut; 4]>, usize)> {
        match self {
            RecvBuf::Contig(mem) => {
                let part = mem.part(offset, len);
                let piece = IoVecMut {
                    ptr: part.ptr(),
                    len: part.len(),
                };
                Some((SmallVec::from_slice(&[piece]), part.len()))
            }
            RecvBuf::Iov(iov) => {
                let mut pieces = SmallVec::new();
                let n = iov.for_parts(offset, len, max_iov, |part| {
                    pieces.push(IoVecMut {
                        ptr: part.ptr(),
                        len: part.len(),
                    });
                });
                Some((pieces, n))
            }
            RecvBuf::Generic(_) | RecvBuf::Device(_) => None,
        }
    }
}
