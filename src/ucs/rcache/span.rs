//! Ranges of addresses.

use crate::ucs::status::{Error, Result};

/// The bytes from `start` up to `end`; at least one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    /// # Errors
    /// `InvalidParam` for nothing, or a range that wraps around.
    pub fn new(address: usize, len: usize) -> Result<Span> {
        let end = address.checked_add(len).filter(|end| *end > address);
        Ok(Span {
            start: address,
            end: end.ok_or(Error::InvalidParam)?,
        })
    }

    /// Bytes.
    pub fn size(&self) -> usize {
        self.end - self.start
    }

    pub fn covers(&self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    pub fn overlaps(&self, other: Span) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// The shortest span that covers both.
    pub fn hull(&self, other: Span) -> Span {
        Span {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// Made larger so that both ends are multiples of `align`, a power of two.
    pub fn aligned(&self, align: usize) -> Span {
        let mask = align - 1;
        Span {
            start: self.start & !mask,
            end: self
                .end
                .checked_add(mask)
                .map_or(self.end, |end| end & !mask),
        }
    }
}

/// What a registration allows, as bits with a meaning to who registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access(pub u32);

impl Access {
    pub const READ: Access = Access(1);
    pub const WRITE: Access = Access(2);
    pub const READ_WRITE: Access = Access(3);

    pub fn covers(self, other: Access) -> bool {
        self.0 & other.0 == other.0
    }

    pub fn with(self, other: Access) -> Access {
        Access(self.0 | other.0)
    }
}
