//! Worker addresses: what a worker tells others so that they can make endpoints to it.
//!
//! The bytes travel through the user's own channel (a launcher, a file), so they may come back
//! truncated, damaged, from another library, version or machine. [`decode`] survives anything and
//! says what is wrong.

#![forbid(unsafe_code)]

mod error;
mod pack;
mod perf;
#[cfg(test)]
mod tests;
mod unpack;

use smallvec::SmallVec;

use crate::uct::{IfaceCaps, PerfAttr};

pub use error::AddressError;
pub use pack::{encode, seal};
pub use perf::rounded as rounded_cost;
pub use unpack::{Header, decode, header};

/// First bytes of every address. Genuine UCX reads them as an address in its second format (1 in
/// the low bits; it ends the process for any but the first two) with an empty list of transports,
/// and so refuses the endpoint cleanly.
pub const MAGIC: [u8; 4] = [0xe1, 0x00, 0xff, 0x75];

/// Version of the format and of the wire protocol behind it.
pub const VERSION: u8 = 1;

/// Bytes before the variable part; enough to know the total length.
pub const HEADER_LEN: usize = 22;

/// No address is longer.
pub const MAX_LEN: usize = 64 * 1024 - 1;

/// Most transports in an address.
pub const MAX_TLS: usize = 128;

/// Longest name of a worker in an address.
pub const MAX_NAME: usize = 63;

bitflags::bitflags! {
    /// Properties of the whole address.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct AddressFlags: u8 {
        /// The worker's name follows the header.
        const NAME = 1 << 0;
        /// Only network transports are listed.
        const NET_ONLY = 1 << 1;
    }
}

/// Identity of a transport on the wire: a hash of its name, so that lists of transports can
/// differ between builds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TlId(pub u16);

impl TlId {
    /// The id of the transport with this name (`tcp`, `posix`).
    pub const fn of(name: &str) -> TlId {
        let bytes = name.as_bytes();
        let mut hash: u32 = 0x811c_9dc5;
        let mut i = 0;
        while i < bytes.len() {
            hash = (hash ^ bytes[i] as u32).wrapping_mul(0x0100_0193);
            i += 1;
        }
        TlId((hash ^ (hash >> 16)) as u16)
    }
}

/// One transport of the worker, ready for an endpoint to be made to it.
#[derive(Clone, PartialEq, Debug)]
pub struct TlAddress<'a> {
    pub tl: TlId,
    /// Index of the resource in the owner's context, as its endpoints' lanes name it.
    pub rsc_index: u8,
    /// Index of the memory domain in the owner's context.
    pub md_index: u8,
    /// Index of the device in the owner's context.
    pub dev_index: u8,
    pub caps: IfaceCaps,
    /// Costs, rounded as the wire form holds them (three significant digits).
    pub perf: PerfAttr,
    /// As the owner's `Iface::device_address` gave it.
    pub device_addr: &'a [u8],
    /// As the owner's `Iface::iface_address` gave it.
    pub iface_addr: &'a [u8],
}

/// Stands for the name of a peer whose address has none.
pub const NO_NAME: &str = "<no debug data>";

/// A worker address, unpacked; it borrows the packed bytes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct WorkerAddress<'a> {
    pub uuid: u64,
    /// For messages only.
    pub name: Option<&'a str>,
    pub flags: AddressFlags,
    pub tls: SmallVec<[TlAddress<'a>; 8]>,
}

impl WorkerAddress<'_> {
    /// What messages call the peer.
    pub fn peer_name(&self) -> &str {
        self.name.unwrap_or(NO_NAME)
    }
}
