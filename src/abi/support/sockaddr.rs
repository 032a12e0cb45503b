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

/// The same, where the kernel is to bind a socket to it: `len` has to be enough for its family, and
/// no more than any address takes.
///
/// # Errors
/// As [`read`]; `IoError`, after a message, for another length.
///
/// # Safety
/// As [`read`].
pub unsafe fn read_to_bind(addr: *const sockaddr, len: socklen_t) -> Result<SocketAddr, Error> {
    // SAFETY: forwarded to the caller.
    let address = unsafe { read(addr) }?;
    let least = match address {
        SocketAddr::V4(_) => size_of::<libc::sockaddr_in>(),
        // Without the scope, which the first IPv6 addresses didn't have.
        SocketAddr::V6(_) => size_of::<libc::sockaddr_in6>() - size_of::<u32>(),
    };
    if !(least..=size_of::<sockaddr_storage>()).contains(&(len as usize)) {
        crate::ucs_error!("a socket can't be bound to {address}: {len} is not its length");
        return Err(Error::IoError);
    }
    Ok(address)
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
