//! Messages that are kept until they are acknowledged, or until those before them have come.

use core::cell::RefCell;

use smallvec::SmallVec;

use crate::ucp::replay::Posted;
use crate::ucp::wire::numbered::{Between, Numbered};
use crate::ucp::wire::rndv::PutTo;
use crate::ucp::wire::{Origin, am};
use crate::ucs::status::Result;
use crate::uct::{Ep, IfaceAttr, IoVec, Post};

/// From here on a copy is sent from where it lies instead of being copied once more.
const IN_PLACE_MIN: usize = 2048;

/// A message that was sent.
pub enum Kept {
    /// All of it, header first.
    Copy(Vec<u8>),
    /// The payload is the user's. Apart, so that a copy, which is what eager messages are, stays small.
    InPlace(Box<InPlace>),
    /// Its payload was taken away: it can't be sent again.
    Gone,
}

/// A message whose payload lies where the user has it.
pub struct InPlace {
    /// Our header and that of the message.
    pub head: SmallVec<[u8; 96]>,
    pub iov: SmallVec<[IoVec; 2]>,
    /// Of the operation.
    pub token: u64,
}

/// A message that waits for those before it.
pub struct Held {
    pub id: u8,
    pub data: Vec<u8>,
}

/// Which message it is, on which connection.
#[derive(Clone, Copy)]
pub struct Label {
    pub origin: Origin,
    pub between: Between,
    pub id: u8,
    pub urgent: bool,
}

impl Label {
    fn numbered(self, posted: &Posted) -> Numbered {
        Numbered {
            origin: self.origin,
            between: self.between,
            id: self.id,
            posted: *posted,
            urgent: self.urgent,
        }
    }
}

impl Kept {
    fn head_mut(&mut self) -> Option<&mut [u8; Numbered::LEN]> {
        match self {
            Kept::Copy(bytes) => bytes.first_chunk_mut(),
            Kept::InPlace(message) => message.head.first_chunk_mut(),
            Kept::Gone => None,
        }
    }

    /// What is left when the payload is taken away. Part of a rendezvous keeps its number, and
    /// carries nothing: its user has given up that attempt, not the connection.
    pub fn without_payload(&self) -> Kept {
        let Kept::InPlace(message) = self else {
            return Kept::Gone;
        };
        match Numbered::decode(&message.head) {
            Some((numbered, _)) if matches!(numbered.id, am::RNDV_DATA | am::RNDV_PUT) => {
                let nothing = Numbered {
                    id: am::RNDV_PUT,
                    ..numbered
                };
                let mut bytes = nothing.to_bytes().to_vec();
                bytes.resize(Numbered::LEN + PutTo::LEN, 0);
                Kept::Copy(bytes)
            }
            _ => Kept::Gone,
        }
    }

    /// Writes our header.
    #[inline]
    pub fn label(&mut self, label: Label, posted: &Posted) {
        if let Some(head) = self.head_mut() {
            *head = label.numbered(posted).to_bytes();
        }
    }

    /// Writes our header for another journey.
    pub fn relabel(&mut self, posted: &Posted, between: Between) {
        let Some(head) = self.head_mut() else { return };
        if let Some((numbered, _)) = Numbered::decode(head) {
            let again = Numbered {
                posted: *posted,
                between,
                ..numbered
            };
            *head = again.to_bytes();
        }
    }

    /// Gives it to a lane. Whether that takes it at once or later does not matter here: what is
    /// kept outlives what the lane needs, since the acknowledgement comes last.
    pub fn send(&self, lane: &dyn Ep, in_place: bool) -> Result<Post> {
        match self {
            Kept::Copy(bytes) if bytes.len() >= IN_PLACE_MIN && in_place => {
                let (head, rest) = bytes.split_at(Numbered::LEN);
                let part = IoVec {
                    ptr: rest.as_ptr(),
                    len: rest.len(),
                };
                lane.am_zcopy(am::NUMBERED, head, &[part], 0)
            }
            Kept::Copy(bytes) => {
                let len = bytes.len();
                lane.am_bcopy(am::NUMBERED, len, &mut |to| match to.get_mut(..len) {
                    Some(to) => {
                        to.copy_from_slice(bytes);
                        len
                    }
                    None => 0,
                })
            }
            Kept::InPlace(message) => {
                let InPlace { head, iov, .. } = &**message;
                lane.am_zcopy(am::NUMBERED, head, iov, 0)
            }
            Kept::Gone => Ok(Post::Done),
        }
    }
}

/// Buffers for copies, used again.
#[derive(Default)]
pub struct Pool(RefCell<Vec<Vec<u8>>>);

impl Pool {
    const MOST: usize = 256;
    const LONGEST: usize = 16 << 10;

    /// A buffer of `len` bytes, whatever they are.
    pub fn get(&self, len: usize) -> Vec<u8> {
        let mut bytes = self.0.borrow_mut().pop().unwrap_or_default();
        if bytes.len() > len {
            bytes.truncate(len);
        } else {
            bytes.resize(len, 0);
        }
        bytes
    }

    pub fn put(&self, bytes: Vec<u8>) {
        let mut pool = self.0.borrow_mut();
        if pool.len() < Self::MOST && bytes.capacity() <= Self::LONGEST {
            pool.push(bytes);
        }
    }
}

/// What numbering takes off the limits of the lanes below.
pub struct Overhead;

impl Overhead {
    /// The limits of a numbered lane over lanes with these.
    pub fn limits(lanes: &[IfaceAttr]) -> Option<IfaceAttr> {
        let mut attr = *lanes.first()?;
        for other in lanes {
            attr.caps &= other.caps;
            attr.max_short = attr.max_short.min(other.max_short);
            attr.max_bcopy = attr.max_bcopy.min(other.max_bcopy);
            attr.max_zcopy = attr.max_zcopy.min(other.max_zcopy);
            attr.max_zcopy_header = attr.max_zcopy_header.min(other.max_zcopy_header);
            attr.max_iov = attr.max_iov.min(other.max_iov);
        }
        attr.max_bcopy = attr.max_bcopy.saturating_sub(Numbered::LEN);
        attr.max_short = attr.max_short.min(attr.max_bcopy.saturating_sub(8));
        attr.max_zcopy_header = attr.max_zcopy_header.saturating_sub(Numbered::LEN);
        Some(attr)
    }
}
