//! Entry points of `ucs/sys/sock.h`: addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use crate::abi::prelude::*;
use crate::abi::ucs::text;
use crate::ucs::sockaddr as addr_text;

/// Bytes of a socket address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_sizeof(
    addr: *const sockaddr,
    size_p: *mut usize,
) -> ucs_status_t {
    // SAFETY: the caller passes an address, and room for its size.
    unsafe { put(size_p, known(addr).map(|addr| length_of(&addr) as usize)) }
}

/// Port of a socket address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_get_port(
    addr: *const sockaddr,
    port_p: *mut u16,
) -> ucs_status_t {
    // SAFETY: the caller passes an address, and room for its port.
    unsafe { put(port_p, known(addr).map(|addr| addr.port())) }
}

/// Sets the port of a socket address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_set_port(addr: *mut sockaddr, port: u16) -> ucs_status_t {
    // SAFETY: the caller passes an address.
    let known = match unsafe { known(addr) } {
        Ok(known) => known,
        Err(error) => return error.into(),
    };
    // SAFETY: the family says which struct is there; alignment is not assumed.
    unsafe {
        match known {
            SocketAddr::V4(_) => {
                let addr = addr.cast::<libc::sockaddr_in>();
                (&raw mut (*addr).sin_port).write_unaligned(port.to_be());
            }
            SocketAddr::V6(_) => {
                let addr = addr.cast::<libc::sockaddr_in6>();
                (&raw mut (*addr).sin6_port).write_unaligned(port.to_be());
            }
        }
    }
    Status::OK
}

/// The IP address in a socket address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_get_inet_addr(addr: *const sockaddr) -> *const c_void {
    // SAFETY: the caller passes an address.
    unsafe { inet_part(addr) }.map_or(core::ptr::null(), |(part, _)| part)
}

/// Sets the IP address in a socket address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_set_inet_addr(
    addr: *mut sockaddr,
    in_addr: *const c_void,
) -> ucs_status_t {
    if in_addr.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: the caller passes two addresses of the same family.
    unsafe {
        match inet_part(addr) {
            Ok((part, length)) => {
                core::ptr::copy(in_addr.cast::<u8>(), part.cast_mut().cast(), length);
                Status::OK
            }
            Err(error) => error.into(),
        }
    }
}

/// Bytes of the IP address in a socket address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_inet_addr_sizeof(
    addr: *const sockaddr,
    size_p: *mut usize,
) -> ucs_status_t {
    // SAFETY: the caller passes an address, and room for the size.
    unsafe { put(size_p, inet_part(addr).map(|(_, length)| length)) }
}

/// A socket address as text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_str(
    sock_addr: *const sockaddr,
    str: *mut c_char,
    max_size: usize,
) -> *const c_char {
    // SAFETY: the caller passes an address or NULL, and room for the text.
    unsafe {
        let name = match sockaddr_of(sock_addr) {
            Some(addr) => addr_text::format(&addr),
            None if sock_addr.is_null() => "<null>".to_owned(),
            None => "<invalid address family>".to_owned(),
        };
        text::write(str, max_size, name.as_bytes());
    }
    str
}

/// Makes a socket address out of an IP address as text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sock_ipstr_to_sockaddr(
    ip_str: *const c_char,
    sa_storage: *mut sockaddr_storage,
) -> ucs_status_t {
    // SAFETY: the caller passes a C string, and room for an address.
    unsafe {
        let ip = text::read(ip_str);
        match addr_text::parse_ip(&ip).filter(|_| !sa_storage.is_null()) {
            Some(ip) => {
                put_ip(sa_storage, &ip);
                Status::OK
            }
            None => {
                crate::ucs_error!("invalid address {ip}");
                Error::InvalidAddr.into()
            }
        }
    }
}

/// Makes a socket address out of `address:port`, or an address and a default port.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sock_ipportstr_to_sockaddr(
    ip_port_str: *const c_char,
    default_port: u16,
    sa_storage: *mut sockaddr_storage,
) -> ucs_status_t {
    // SAFETY: the caller passes a C string, and room for an address.
    unsafe {
        let name = text::read(ip_port_str);
        match addr_text::parse_ip_port(&name, default_port).filter(|_| !sa_storage.is_null()) {
            Some(addr) => {
                put_ip(sa_storage, &addr.ip());
                ucs_sockaddr_set_port(sa_storage.cast(), addr.port())
            }
            None => {
                match addr_text::parse_ip_port(&without_port(&name), 0) {
                    Some(_) => crate::ucs_error!("invalid port in '{name}'"),
                    None => crate::ucs_error!("invalid address {name}"),
                }
                Error::InvalidAddr.into()
            }
        }
    }
}

/// Reads a port.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sock_port_from_string(
    port_str: *const c_char,
    port: *mut u16,
) -> ucs_status_t {
    // SAFETY: the caller passes a C string, and room for the port.
    unsafe {
        let name = text::read(port_str);
        let value = addr_text::parse_port(&name).ok_or_else(|| {
            crate::ucs_error!("invalid port '{name}'");
            Error::InvalidAddr
        });
        put(port, value)
    }
}

/// 1 for addresses of IPv4 and IPv6.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_is_known_af(sa: *const sockaddr) -> c_int {
    // SAFETY: the caller passes an address or NULL.
    c_int::from(unsafe { sockaddr_of(sa) }.is_some())
}

/// Compares addresses and ports.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_cmp(
    sa1: *const sockaddr,
    sa2: *const sockaddr,
    status_p: *mut ucs_status_t,
) -> c_int {
    // SAFETY: the caller passes two addresses, and room for a status or NULL.
    unsafe {
        let result = known(sa1).and_then(|a| known(sa2).map(|b| addr_text::compare(&a, &b)));
        if !status_p.is_null() {
            status_p.write(result.map(|_| ()).into());
        }
        result.map_or(1, |order| order as c_int)
    }
}

/// Compares addresses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_ip_cmp(sa1: *const sockaddr, sa2: *const sockaddr) -> c_int {
    // SAFETY: the caller passes two addresses.
    unsafe {
        match (known(sa1), known(sa2)) {
            (Ok(a), Ok(b)) => a.ip().cmp(&b.ip()) as c_int,
            _ => -1,
        }
    }
}

/// 1 if the first `prefix_len` bits are equal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_is_same_subnet(
    sa1: *const sockaddr,
    sa2: *const sockaddr,
    prefix_len: c_uint,
) -> c_int {
    // SAFETY: the caller passes two addresses.
    let (a, b) = unsafe { (sockaddr_of(sa1), sockaddr_of(sa2)) };
    let same = a
        .zip(b)
        .is_some_and(|(a, b)| addr_text::same_subnet(&a.ip(), &b.ip(), prefix_len));
    c_int::from(same)
}

/// 1 for the address that stands for all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_is_inaddr_any(addr: *const sockaddr) -> c_int {
    // SAFETY: the caller passes an address.
    c_int::from(unsafe { sockaddr_of(addr) }.is_some_and(|a| a.ip().is_unspecified()))
}

/// 1 for an address of the loopback.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_is_inaddr_loopback(addr: *const sockaddr) -> c_int {
    // The one address 127.0.0.1, not its whole network.
    let one = |ip: IpAddr| ip == Ipv4Addr::LOCALHOST || ip == Ipv6Addr::LOCALHOST;
    // SAFETY: the caller passes an address.
    c_int::from(unsafe { sockaddr_of(addr) }.is_some_and(|a| one(a.ip())))
}

/// Makes the address that stands for all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_set_inaddr_any(
    addr: *mut sockaddr,
    af: sa_family_t,
) -> ucs_status_t {
    if addr.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: the caller has room for an address of this family, whose family field it sets.
    unsafe {
        match c_int::from(af) {
            libc::AF_INET => {
                let addr = addr.cast::<libc::sockaddr_in>();
                (&raw mut (*addr).sin_addr.s_addr).write_unaligned(0);
            }
            libc::AF_INET6 => {
                let addr = addr.cast::<libc::sockaddr_in6>();
                (&raw mut (*addr).sin6_addr.s6_addr).write_unaligned([0; 16]);
            }
            _ => {
                crate::ucs_debug!("unknown address family: {af}");
                return Error::InvalidParam.into();
            }
        }
    }
    Status::OK
}

/// Copies a socket address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_copy(
    dst_addr: *mut sockaddr,
    src_addr: *const sockaddr,
) -> ucs_status_t {
    // SAFETY: the caller passes an address, and room for one of this family.
    unsafe {
        match known(src_addr) {
            Ok(_) if dst_addr.is_null() => Error::InvalidParam.into(),
            Ok(addr) => {
                let length = length_of(&addr) as usize;
                core::ptr::copy(src_addr.cast::<u8>(), dst_addr.cast(), length);
                Status::OK
            }
            Err(error) => error.into(),
        }
    }
}

/// Network interface that has the address which a socket is bound to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_get_ifname(
    fd: c_int,
    ifname_str: *mut c_char,
    max_strlen: usize,
) -> ucs_status_t {
    // SAFETY: the call fills the address; a descriptor that is none is refused by the kernel.
    let bound = unsafe {
        socket2::SockAddr::try_init(|to, len| match libc::getsockname(fd, to.cast(), len) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        })
    };
    let bound = match bound {
        Ok((_, bound)) => bound,
        Err(error) => {
            crate::ucs_warn!("getsockname error: {error}");
            return Error::IoError.into();
        }
    };
    let Some(ip) = bound.as_socket().map(|bound| bound.ip()) else {
        crate::ucs_warn!("a socket of family {} has no interface", bound.family());
        return Error::InvalidParam.into();
    };
    let found = match crate::sys::netdev::addresses() {
        Ok(all) => all.into_iter().find(|known| known.ip == ip),
        Err(error) => {
            crate::ucs_warn!("getifaddrs error: {error}");
            return Error::IoError.into();
        }
    };
    let Some(found) = found else {
        return Error::NoDevice.into();
    };
    // SAFETY: NULL or the caller's room.
    unsafe { text::write(ifname_str, max_strlen, found.name.as_bytes()) };
    Status::OK
}

/// Bytes of IP addresses of a family.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_inet_addr_size(
    af: sa_family_t,
    size_p: *mut usize,
) -> ucs_status_t {
    let size = match c_int::from(af) {
        libc::AF_INET => Ok(4),
        libc::AF_INET6 => Ok(16),
        _ => {
            crate::ucs_error!("unknown address family: {af}");
            Err(Error::InvalidParam)
        }
    };
    // SAFETY: the caller passes room for the size.
    unsafe { put(size_p, size) }
}

/// Name of an address family.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_address_family_str(af: sa_family_t) -> *const c_char {
    match c_int::from(af) {
        libc::AF_INET => c"IPv4".as_ptr(),
        libc::AF_INET6 => c"IPv6".as_ptr(),
        _ => c"not IPv4 or IPv6".as_ptr(),
    }
}

/// The ports that the system chooses from.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_get_ip_local_port_range(
    port_range: *mut ucs_range_spec_t,
) -> ucs_status_t {
    let path = "/proc/sys/net/ipv4/ip_local_port_range";
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut numbers = text
        .split_whitespace()
        .map_while(|word| word.parse::<c_uint>().ok());
    let range = match (numbers.next(), numbers.next()) {
        (Some(first), Some(last)) => Ok(ucs_range_spec_t { first, last }),
        _ => Err(Error::IoError),
    };
    // SAFETY: the caller passes room for the range.
    unsafe { put(port_range, range) }
}

/// The IP address in a socket address as text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_get_ipstr(
    addr: *const sockaddr,
    str: *mut c_char,
    max_size: usize,
) -> ucs_status_t {
    // SAFETY: the caller passes an address, and room for its text.
    unsafe {
        match known(addr) {
            Ok(addr) => {
                text::write(str, max_size, addr.ip().to_string().as_bytes());
                Status::OK
            }
            Err(error) => error.into(),
        }
    }
}

/// The address behind a pointer; `None` for NULL and for families other than IPv4 and IPv6.
///
/// # Safety
/// `addr` is NULL or an address as long as its family asks for.
pub(crate) unsafe fn sockaddr_of(addr: *const sockaddr) -> Option<SocketAddr> {
    // SAFETY: not NULL, so at least the family is there.
    let family = unsafe { family_of(addr) }?;
    match c_int::from(family) {
        libc::AF_INET => {
            // SAFETY: the family says that this much is there; alignment is not assumed.
            let v4: libc::sockaddr_in =
                unsafe { addr.cast::<libc::sockaddr_in>().read_unaligned() };
            let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
            Some(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: the family says that this much is there; alignment is not assumed.
            let v6 = unsafe { addr.cast::<libc::sockaddr_in6>().read_unaligned() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            let port = u16::from_be(v6.sin6_port);
            Some(SocketAddrV6::new(ip, port, v6.sin6_flowinfo, v6.sin6_scope_id).into())
        }
        _ => None,
    }
}

/// # Safety
/// `addr` is NULL or has at least a family.
pub(super) unsafe fn family_of(addr: *const sockaddr) -> Option<sa_family_t> {
    if addr.is_null() {
        return None;
    }
    // SAFETY: not NULL, so a family is there; alignment is not assumed.
    Some(unsafe { (&raw const (*addr).sa_family).read_unaligned() })
}

/// The address behind a pointer, or a log line and `UCS_ERR_INVALID_PARAM`.
///
/// # Safety
/// As [`sockaddr_of`].
pub(in crate::abi) unsafe fn known(addr: *const sockaddr) -> Result<SocketAddr, Error> {
    // SAFETY: as the caller promises.
    unsafe { sockaddr_of(addr) }.ok_or_else(|| {
        // SAFETY: as the caller promises.
        match unsafe { family_of(addr) } {
            Some(family) => crate::ucs_error!("unknown address family: {family}"),
            None => crate::ucs_error!("socket address is NULL"),
        }
        Error::InvalidParam
    })
}

/// # Safety
/// `to` is NULL or writable.
unsafe fn put<T>(to: *mut T, value: Result<T, Error>) -> ucs_status_t {
    match value {
        Ok(_) if to.is_null() => Error::InvalidParam.into(),
        Ok(value) => {
            // SAFETY: not NULL, so writable.
            unsafe { to.write_unaligned(value) };
            Status::OK
        }
        Err(error) => error.into(),
    }
}

pub(super) fn length_of(addr: &SocketAddr) -> socklen_t {
    match addr {
        SocketAddr::V4(_) => size_of::<libc::sockaddr_in>() as socklen_t,
        SocketAddr::V6(_) => size_of::<libc::sockaddr_in6>() as socklen_t,
    }
}

/// Where the address proper lies in a socket address, and its length.
///
/// # Safety
/// As [`sockaddr_of`].
unsafe fn inet_part(addr: *const sockaddr) -> Result<(*const c_void, usize), Error> {
    // SAFETY: as the caller promises; the family says which struct is there.
    unsafe {
        Ok(match known(addr)? {
            SocketAddr::V4(_) => (
                (&raw const (*addr.cast::<libc::sockaddr_in>()).sin_addr).cast(),
                4,
            ),
            SocketAddr::V6(_) => (
                (&raw const (*addr.cast::<libc::sockaddr_in6>()).sin6_addr).cast(),
                16,
            ),
        })
    }
}

/// Writes family and address; port and scope stay as they are.
///
/// # Safety
/// `to` is writable.
unsafe fn put_ip(to: *mut sockaddr_storage, ip: &IpAddr) {
    // SAFETY: both structs fit into the storage.
    unsafe {
        match ip {
            IpAddr::V4(ip) => {
                let to = to.cast::<libc::sockaddr_in>();
                (&raw mut (*to).sin_family).write_unaligned(libc::AF_INET as sa_family_t);
                (&raw mut (*to).sin_addr.s_addr).write_unaligned(u32::from(*ip).to_be());
            }
            IpAddr::V6(ip) => {
                let to = to.cast::<libc::sockaddr_in6>();
                (&raw mut (*to).sin6_family).write_unaligned(libc::AF_INET6 as sa_family_t);
                (&raw mut (*to).sin6_addr.s6_addr).write_unaligned(ip.octets());
            }
        }
    }
}

/// What stands before the last colon, for the message about what is wrong.
fn without_port(name: &str) -> String {
    name.rsplit_once(':')
        .map_or(name, |(address, _)| address)
        .to_owned()
}
