//! Segments: where the shared memory of an interface comes from, and how others find it.

pub mod memory;
pub mod posix;
pub mod sysv;

use std::fs::File;

use crate::sys::hostid::{HostIds, hash, host_ids};
use crate::sys::shm::Mapping;
use crate::ucs::config::Config;
use crate::ucs::status::Result;

/// Bytes of a device address.
pub const DEVICE_ADDR_LEN: usize = 8;

/// The two kinds of segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Posix,
    Sysv,
}

/// Settings of a kind, read once when its memory domain is opened.
#[derive(Clone, Debug)]
pub enum Settings {
    Posix(posix::Settings),
    Sysv,
}

/// A new segment, zeroed.
pub struct Created {
    pub map: Mapping,
    /// How others find it, with the nonce that it must hold.
    pub address: Vec<u8>,
    pub nonce: u32,
    /// To be kept as long as it is to be found; System V segments are by being attached.
    pub keep: Option<posix::Keep>,
}

/// A segment of another process, or of this one, seen through its address.
pub struct Opened {
    pub map: Mapping,
    pub nonce: u32,
    /// To give memory to more of it; none where memory comes by itself.
    pub file: Option<File>,
}

impl Kind {
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Posix => "posix",
            Kind::Sysv => "sysv",
        }
    }

    /// The prefix of its variables.
    pub const fn prefix(self) -> &'static str {
        match self {
            Kind::Posix => "POSIX_",
            Kind::Sysv => "SYSV_",
        }
    }

    pub fn settings(self, config: &Config) -> Settings {
        match self {
            Kind::Posix => Settings::Posix(posix::Settings::read(config)),
            Kind::Sysv => Settings::Sysv,
        }
    }
}

impl Settings {
    pub const fn address_len(&self) -> usize {
        match self {
            Settings::Posix(_) => posix::ADDR_LEN,
            Settings::Sysv => sysv::ADDR_LEN,
        }
    }

    /// The longest memory that can be had, as far as the system tells.
    pub fn max_alloc(&self) -> usize {
        match self {
            Settings::Posix(settings) => settings.free_space(),
            Settings::Sysv => sysv::max_len(),
        }
    }

    /// What peers must have in common to find each other's segments.
    pub fn device_address(&self) -> [u8; DEVICE_ADDR_LEN] {
        let HostIds {
            boot,
            pid_ns,
            ipc_ns,
            ..
        } = *host_ids();
        let (kind, scope) = match self {
            Settings::Posix(settings) => settings.scope(pid_ns),
            Settings::Sysv => ("sysv", ipc_ns.to_ne_bytes().to_vec()),
        };
        hash(&[&boot.to_ne_bytes(), kind.as_bytes(), &scope]).to_ne_bytes()
    }

    /// A segment of `len` bytes of which the first `needed` have memory.
    ///
    /// # Errors
    /// `NoMemory` or `ShmemSegment`, after a message.
    pub fn create(&self, len: usize, needed: usize) -> Result<Created> {
        match self {
            Settings::Posix(settings) => posix::create(settings, len, needed),
            Settings::Sysv => sysv::create(len),
        }
    }

    /// Whether the segment with this address is there and may be used; the reason if not.
    pub fn probe(&self, address: &[u8]) -> core::result::Result<(), String> {
        match self {
            Settings::Posix(settings) => posix::probe(settings, address),
            Settings::Sysv => sysv::probe(address),
        }
    }

    /// # Errors
    /// `InvalidAddr` for what is no address, `Unreachable` if it leads nowhere, after a message.
    pub fn open(&self, address: &[u8]) -> Result<Opened> {
        match self {
            Settings::Posix(settings) => posix::open(settings, address),
            Settings::Sysv => sysv::open(address),
        }
    }
}

/// Four bytes of an address, as a number.
fn field(address: &[u8], index: usize) -> Option<u32> {
    let bytes = address.get(index * 4..index * 4 + 4)?;
    bytes.try_into().ok().map(u32::from_ne_bytes)
}
