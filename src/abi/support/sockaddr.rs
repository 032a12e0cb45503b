//! Socket addresses, from C and back.

use std::net::SocketAddr;

use crate::abi::prelude::*;
use crate::abi::ucs::sys::sock::address::known;

/// The caller's address.
///
/// # Errors
/// `InvalidParam`, after a message, if it is NULL or not of the Internet.
///
/// # Safety
/// `addr` is NULL or a socket address as its family says.
pub unsafe fn read(addr: *const sockaddr) -> Result<SocketAddr, Error> {
    // SAFETY: forwarded to the caller.
    unsafe { known(addr) }
}

/// The same, as C keeps addresses of any kind.
pub fn storage(addr: &SocketAddr) -> sockaddr_storage {
    let raw = socket2::SockAddr::from(*addr);
    // SAFETY: plain data for which zero is a value.
    let mut storage: sockaddr_storage = unsafe { core::mem::zeroed() };
    let len = (raw.len() as usize).min(size_of::<sockaddr_storage>());
    // SAFETY: both are as long, and apart.
    unsafe {
        let to = (&raw mut storage).cast::<u8>();
        core::ptr::copy_nonoverlapping(raw.as_ptr().cast::<u8>(), to, len);
    }
    storage
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back() {
        for text in ["192.0.2.7:65535", "[::1]:1", "[fe80::1%3]:4791"] {
            let addr: SocketAddr = text.parse().expect("an address");
            let storage = storage(&addr);
            // SAFETY: a live storage.
            let read = unsafe { read((&raw const storage).cast()) };
            assert_eq!(read, Ok(addr));
        }
        // SAFETY: NULL is survived.
        assert!(unsafe { read(core::ptr::null()) }.is_err());
    }
}
