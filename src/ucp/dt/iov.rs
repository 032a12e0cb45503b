//! I/O vectors: `ucp_dt_iov_t[]`.

use core::cell::Cell;
use core::ffi::c_void;

use crate::sys::usermem::UserMem;
use crate::ucs::status::{Error, Result};

/// `ucp_dt_iov_t` as the caller lays it out.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawIov {
    pub buffer: *mut c_void,
    pub length: usize,
}

/// A vector of pieces, with the place where the last access ended: accesses go forward, and a
/// vector of thousands of entries must not be walked from its start for each fragment.
pub struct IovBuf {
    parts: Box<[UserMem]>,
    total: usize,
    cursor: Cell<(usize, usize)>,
}

impl IovBuf {
    /// The pieces, empty ones left out. The total must fit in `usize`.
    pub fn new(parts: impl Iterator<Item = UserMem>) -> Result<IovBuf> {
        let parts: Box<[UserMem]> = parts.filter(|part| !part.is_empty()).collect();
        let total = parts
            .iter()
            .try_fold(0usize, |sum, part| sum.checked_add(part.len()))
            .ok_or(Error::InvalidParam)?;
        Ok(IovBuf {
            parts,
            total,
            cursor: Cell::new((0, 0)),
        })
    }

    pub fn len(&self) -> usize {
        self.total
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `visit` with the pieces that hold `len` bytes from `offset` on, `max_parts` at
    /// most, and returns the bytes visited.
    pub fn for_parts(
        &self,
        offset: usize,
        len: usize,
        max_parts: usize,
        mut visit: impl FnMut(UserMem),
    ) -> usize {
        let (mut index, mut base) = self.cursor.get();
        if base > offset {
            (index, base) = (0, 0);
        }
        let mut done = 0;
        let mut visited = 0;
        while let Some(part) = self.parts.get(index) {
            let inside = (offset + done) - base;
            if inside < part.len() {
                if done == len || visited == max_parts {
                    break;
                }
                let piece = part.part(inside, len - done);
                visit(piece);
                visited += 1;
                done += piece.len();
                if inside + piece.len() < part.len() {
                    break;
                }
            }
            base += part.len();
            index += 1;
        }
        self.cursor.set((index, base));
        done
    }

    pub fn read_at(&self, offset: usize, dst: &mut [u8]) -> usize {
        let mut at = 0;
        let len = dst.len();
        self.for_parts(offset, len, usize::MAX, |part| {
            at += part.read_at(0, dst.get_mut(at..).unwrap_or_default());
        })
    }

    pub fn write_at(&self, offset: usize, src: &[u8]) -> usize {
        let mut at = 0;
        self.for_parts(offset, src.len(), usize::MAX, |part| {
            at += part.write_at(0, src.get(at..at + part.len()).unwrap_or_default());
        })
    }
}

#[cfg(test)]
#[allow(unsafe_code)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Bytes written through any vector, in any steps, read back the same.
        #[test]
        fn round_trip(lens in proptest::collection::vec(0usize..9, 0..20), step in 1usize..7) {
            let mut store: Vec<Vec<u8>> = lens.iter().map(|&n| vec![0; n]).collect();
            // SAFETY: `store` outlives the vector made of it.
            let parts: Vec<UserMem> = store
                .iter_mut()
                .map(|v| unsafe { UserMem::new(v.as_mut_ptr(), v.len()) })
                .collect();
            let iov = IovBuf::new(parts.into_iter()).unwrap();
            let total: usize = lens.iter().sum();
            prop_assert_eq!(iov.len(), total);
            let data: Vec<u8> = (0..total).map(|i| i as u8 + 1).collect();
            let mut at = 0;
            while at < total {
                at += iov.write_at(at, &data[at..(at + step).min(total)]);
            }
            let mut back = vec![0; total];
            let mut at = 0;
            while at < total {
                let end = (at + step).min(total);
                at += iov.read_at(at, &mut back[at..end]);
            }
            prop_assert_eq!(&back, &data);
            prop_assert_eq!(store.concat(), data);
        }
    }
}
