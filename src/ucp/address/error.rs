//! What can be wrong with an address.

use core::fmt;

use crate::ucs::status::Error;

use super::VERSION;

/// Why an address was refused. Its text is one line for the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AddressError {
    /// No ucx-rs address at all: of genuine UCX, or no address.
    Foreign([u8; 4]),
    /// Of a ucx-rs with another wire format.
    Version(u8),
    /// Of a machine with other byte order, word size or processor.
    Architecture { theirs: u8, ours: u8 },
    /// Ends early.
    Truncated { have: usize, need: usize },
    /// Damaged, with what was found first.
    Corrupted(&'static str),
    /// More, or longer, than an address can hold.
    TooLarge(&'static str),
}

impl AddressError {
    /// The status code that the caller of UCP gets.
    pub fn status(&self) -> Error {
        match self {
            AddressError::Version(_) | AddressError::Architecture { .. } => Error::Unsupported,
            AddressError::TooLarge(_) => Error::ExceedsLimit,
            _ => Error::InvalidAddr,
        }
    }
}

fn arch_name(marker: u8) -> String {
    let cpu = match marker >> 4 {
        1 => "x86_64",
        2 => "aarch64",
        3 => "ppc64",
        4 => "riscv64",
        _ => "unknown processor",
    };
    let order = if marker & 1 != 0 { "little" } else { "big" };
    let bits = if marker & 2 != 0 { 64 } else { 32 };
    format!("{cpu}, {bits} bit, {order} endian")
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AddressError::Foreign(bytes) => write!(
                f,
                "not a worker address of ucx-rs (it begins with {:02x} {:02x} {:02x} {:02x}): \
                 the peer uses another UCX implementation, or the buffer is not an address",
                bytes[0], bytes[1], bytes[2], bytes[3]
            ),
            AddressError::Version(theirs) => write!(
                f,
                "worker address has format version {theirs}, this library has version {VERSION}: \
                 both peers must use the same ucx-rs release"
            ),
            AddressError::Architecture { theirs, ours } => write!(
                f,
                "worker address is of another architecture ({}), this one is {}",
                arch_name(*theirs),
                arch_name(*ours)
            ),
            AddressError::Truncated { have, need } => {
                write!(
                    f,
                    "worker address is truncated: {need} bytes needed, {have} there"
                )
            }
            AddressError::Corrupted(what) => write!(f, "worker address is damaged: {what}"),
            AddressError::TooLarge(what) => write!(f, "worker address is too large: {what}"),
        }
    }
}

impl std::error::Error for AddressError {}
