//! `ucs/sys/sock.h`.

pub mod address;
pub mod netif;
pub mod socket;
pub mod types;

pub use address::*;
pub use netif::*;
pub use socket::*;
pub use types::*;
