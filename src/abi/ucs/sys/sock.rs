//! `ucs/sys/sock.h`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use crate::abi::prelude::*;
use crate::abi::ucs::text;
use crate::ucs::sockaddr as addr_text;

pub const UCS_IPV4_ADDR_LEN: u64 = 1 << 2;
pub const UCS_IPV6_ADDR_LEN: u64 = 1 << 4;
pub const UCS_IPV4_SOCKADDR_LEN: u64 = 1 << 4;
pub const UCS_IPV6_SOCKADDR_LEN: u64 = 28;
pub const UCS_SOCKADDR_STRING_LEN: i32 = 60;

/// Closes a descriptor, which becomes -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_close_fd(fd_p: *mut c_int) {
    if fd_p.is_null() {
        return;
    }
    // SAFETY: not NULL; the caller owns the descriptor that it names.
    unsafe {
        if *fd_p == -1 {
            return;
        }
        if libc::close(*fd_p) < 0 {
            crate::ucs_warn!("failed to close fd {}: {}", *fd_p, errno());
            return;
        }
        *fd_p = -1;
    }
}

/// 1 if the flags of a network interface say that it is up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_netif_flags_is_active(flags: c_uint) -> c_int {
    let wanted = (libc::IFF_UP | libc::IFF_RUNNING) as c_uint;
    c_int::from(flags & wanted == wanted)
}

/// An ioctl on a network interface.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_netif_ioctl(
    if_name: *const c_char,
    request: c_ulong,
    if_req: *mut ifreq,
) -> ucs_status_t {
    if if_name.is_null() || if_req.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: both pointers are not NULL; the name field is inside the request; the socket is
    // closed on every path.
    unsafe {
        let name = text::bytes(if_name).unwrap_or_default();
        text::write((&raw mut (*if_req).ifr_name).cast(), libc::IFNAMSIZ, name);
        let fd = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        if fd < 0 {
            report(format_args!("socket create failed"), &errno());
            return Error::IoError.into();
        }
        let failed = libc::ioctl(fd, request, if_req) < 0;
        let error = errno();
        libc::close(fd);
        if failed {
            crate::ucs_debug!(
                "ioctl({request:#x}) on {} failed: {error}",
                text::read(if_name)
            );
            return Error::IoError.into();
        }
    }
    Status::OK
}

/// 1 if a network interface is up and has an address of a family.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_netif_is_active(if_name: *const c_char, af: sa_family_t) -> c_int {
    let null = core::ptr::null_mut();
    // SAFETY: NULL results are allowed.
    c_int::from(unsafe { ucs_netif_get_addr(if_name, af, null, null) } == Status::OK)
}

/// Address and netmask of a network interface.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_netif_get_addr(
    if_name: *const c_char,
    af: sa_family_t,
    saddr: *mut sockaddr,
    netmask: *mut sockaddr,
) -> ucs_status_t {
    let mut list: *mut ifaddrs = core::ptr::null_mut();
    // SAFETY: the list is freed below.
    if unsafe { libc::getifaddrs(&mut list) } != 0 {
        crate::ucs_warn!("getifaddrs failed: {}", errno());
        return Error::IoError.into();
    }
    // SAFETY: the caller's name is NULL or a C string.
    let wanted = unsafe { text::bytes(if_name) };
    let mut status = Error::NoDevice.into();
    let mut next = list;
    while !next.is_null() {
        // SAFETY: entries of the list live until it is freed.
        let entry = unsafe { &*next };
        next = entry.ifa_next;
        // SAFETY: a name is a C string, an address is as long as its family asks for.
        let (name, found) = unsafe { (text::bytes(entry.ifa_name), sockaddr_of(entry.ifa_addr)) };
        let usable = found.is_some_and(|a| !is_link_local(&a.ip()));
        // SAFETY: takes no pointers.
        let active = unsafe { ucs_netif_flags_is_active(entry.ifa_flags) } != 0;
        // SAFETY: as above.
        let family = unsafe { family_of(entry.ifa_addr) };
        let matches = (c_int::from(af) == libc::AF_UNSPEC || family == Some(af))
            && (wanted.is_none() || wanted == name);
        if usable && active && matches {
            for (to, from) in [(saddr, entry.ifa_addr), (netmask, entry.ifa_netmask)] {
                if !to.is_null() {
                    // SAFETY: the caller has room for an address of this family.
                    status = unsafe { ucs_sockaddr_copy(to, from) };
                } else {
                    status = Status::OK;
                }
            }
            break;
        }
    }
    // SAFETY: nothing of the list is used after this.
    unsafe { libc::freeifaddrs(list) };
    status
}

/// Number of ports of a bonded interface.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_netif_bond_ad_num_ports(if_name: *const c_char) -> c_uint {
    // SAFETY: a C string or NULL.
    let name = unsafe { text::read(if_name) };
    // A name with a slash in it is none, and must not lead elsewhere.
    if name.contains('/') {
        return 1;
    }
    let path = format!("/sys/class/net/{name}/bonding/ad_num_ports");
    let ports = std::fs::read_to_string(path)
        .ok()
        .and_then(|text| text.trim().parse().ok());
    ports.filter(|ports| *ports > 0).unwrap_or(1)
}

/// Creates a socket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_create(
    domain: c_int,
    type_: c_int,
    protocol: c_int,
    fd_p: *mut c_int,
) -> ucs_status_t {
    if fd_p.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: no pointers are passed.
    let fd = unsafe { libc::socket(domain, type_, protocol) };
    if fd < 0 {
        report(format_args!("socket create failed"), &errno());
        return Error::IoError.into();
    }
    // SAFETY: not NULL.
    unsafe { fd_p.write(fd) };
    Status::OK
}

/// Sets an option of a socket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_setopt(
    fd: c_int,
    level: c_int,
    optname: c_int,
    optval: *const c_void,
    optlen: socklen_t,
) -> ucs_status_t {
    // SAFETY: the caller passes a value of the length it says.
    if unsafe { libc::setsockopt(fd, level, optname, optval, optlen) } < 0 {
        let error = errno();
        crate::ucs_error!("failed to set option {optname} of level {level} on fd {fd}: {error}");
        return Error::IoError.into();
    }
    Status::OK
}

/// Value of an option of a socket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_getopt(
    fd: c_int,
    level: c_int,
    optname: c_int,
    optval: *mut c_void,
    optlen: socklen_t,
) -> ucs_status_t {
    let mut length = optlen;
    // SAFETY: the caller passes room of the length it says.
    if unsafe { libc::getsockopt(fd, level, optname, optval, &mut length) } < 0 {
        let error = errno();
        crate::ucs_error!("failed to get option {optname} of level {level} on fd {fd}: {error}");
        return Error::IoError.into();
    }
    if length != optlen {
        crate::ucs_error!("option {optname} has length {length}, not {optlen}");
        return Error::IoError.into();
    }
    Status::OK
}

/// Connects a socket; `UCS_INPROGRESS` if that goes on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_connect(fd: c_int, dest_addr: *const sockaddr) -> ucs_status_t {
    // SAFETY: the caller passes an address.
    let addr = match unsafe { known(dest_addr) } {
        Ok(addr) => addr,
        Err(error) => return error.into(),
    };
    loop {
        // SAFETY: the address is as long as its family says.
        if unsafe { libc::connect(fd, dest_addr, length_of(&addr)) } == 0 {
            return Status::OK;
        }
        let error = errno();
        match error.raw_os_error() {
            Some(libc::EINPROGRESS) => return Status::INPROGRESS,
            Some(libc::EISCONN) => return Error::AlreadyExists.into(),
            Some(libc::EINTR) => {}
            _ => {
                crate::ucs_error!(
                    "connect(fd={fd}, {}) failed: {error}",
                    addr_text::format(&addr)
                );
                return Error::Unreachable.into();
            }
        }
    }
}

/// Accepts a connection.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_accept(
    fd: c_int,
    addr: *mut sockaddr,
    length_ptr: *mut socklen_t,
    accept_fd: *mut c_int,
) -> ucs_status_t {
    if accept_fd.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: the caller passes room for an address and its length, or NULL for both.
    let new = unsafe { libc::accept(fd, addr, length_ptr) };
    // SAFETY: not NULL.
    unsafe { accept_fd.write(new) };
    if new < 0 {
        let error = errno();
        let status = io_status(&error);
        if status != Error::NoProgress {
            report(format_args!("accept failed"), &error);
        }
        return status.into();
    }
    Status::OK
}

/// Address of the peer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_getpeername(
    fd: c_int,
    peer_addr: *mut sockaddr_storage,
    peer_addr_len: *mut socklen_t,
) -> ucs_status_t {
    if peer_addr.is_null() || peer_addr_len.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: both are not NULL, and a sockaddr_storage has the length written.
    let failed = unsafe {
        peer_addr_len.write(size_of::<sockaddr_storage>() as socklen_t);
        libc::getpeername(fd, peer_addr.cast(), peer_addr_len) < 0
    };
    if !failed {
        return Status::OK;
    }
    let error = errno();
    if matches!(
        error.raw_os_error(),
        Some(libc::ENOTCONN | libc::ECONNRESET)
    ) {
        return Error::NotConnected.into();
    }
    crate::ucs_error!("getpeername(fd={fd}) failed: {error}");
    Error::IoError.into()
}

/// 1 if a socket is connected.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_is_connected(fd: c_int) -> c_int {
    // SAFETY: zero is a value of this plain struct.
    let mut storage: sockaddr_storage = unsafe { core::mem::zeroed() };
    let mut length = 0;
    // SAFETY: both are writable.
    let status = unsafe { ucs_socket_getpeername(fd, &mut storage, &mut length) };
    c_int::from(status == Status::OK)
}

/// Sets the buffers of a socket, in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_set_buffer_size(
    fd: c_int,
    sockopt_sndbuf: usize,
    sockopt_rcvbuf: usize,
) -> ucs_status_t {
    for (option, size) in [
        (libc::SO_SNDBUF, sockopt_sndbuf),
        (libc::SO_RCVBUF, sockopt_rcvbuf),
    ] {
        if size == crate::ucs::config::SIZE_AUTO {
            continue;
        }
        let size = c_int::try_from(size).unwrap_or(c_int::MAX);
        let (value, length) = ((&raw const size).cast(), size_of::<c_int>() as socklen_t);
        // SAFETY: value and length describe an int.
        let status = unsafe { ucs_socket_setopt(fd, libc::SOL_SOCKET, option, value, length) };
        if status != Status::OK {
            return status;
        }
    }
    Status::OK
}

/// Creates a socket that listens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_server_init(
    saddr: *const sockaddr,
    socklen: socklen_t,
    backlog: c_int,
    silent_bind: c_int,
    reuse_addr: c_int,
    listen_fd: *mut c_int,
) -> ucs_status_t {
    // SAFETY: the caller passes an address or NULL.
    let Some(family) = (unsafe { family_of(saddr) }).filter(|_| !listen_fd.is_null()) else {
        return Error::InvalidParam.into();
    };
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    let mut fd = -1;
    // SAFETY: `fd` is writable.
    let status = unsafe { ucs_socket_create(c_int::from(family), kind, 0, &mut fd) };
    if status != Status::OK {
        return status;
    }
    let one: c_int = 1;
    // SAFETY: value and length describe an int; the caller's address has the length it says.
    let error = unsafe {
        let length = size_of::<c_int>() as socklen_t;
        if reuse_addr != 0 {
            ucs_socket_setopt(
                fd,
                libc::SOL_SOCKET,
                libc::SO_REUSEADDR,
                (&raw const one).cast(),
                length,
            );
        }
        if libc::bind(fd, saddr, socklen) == 0 && libc::listen(fd, backlog) == 0 {
            listen_fd.write(fd);
            return Status::OK;
        }
        errno()
    };
    let in_use = error.raw_os_error() == Some(libc::EADDRINUSE);
    let silent = in_use && silent_bind != 0;
    let level = if silent {
        crate::ucs::log::Level::Debug
    } else {
        crate::ucs::log::Level::Error
    };
    // SAFETY: the caller passes an address.
    let name = unsafe { sockaddr_of(saddr) }
        .map(|a| addr_text::format(&a))
        .unwrap_or_default();
    crate::ucs_log!(level, "can't listen on {name}: {error}");
    // SAFETY: ours.
    unsafe { ucs_close_fd(&mut fd) };
    if in_use {
        Error::Busy.into()
    } else {
        Error::IoError.into()
    }
}

/// The longest queue of connections.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_max_conn() -> c_int {
    let text = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap_or_default();
    text.trim().parse().unwrap_or(libc::SOMAXCONN)
}

/// Sends without blocking; `*length_p` becomes what was sent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_send_nb(
    fd: c_int,
    data: *const c_void,
    length_p: *mut usize,
) -> ucs_status_t {
    // SAFETY: the caller passes data of the length behind `length_p`.
    unsafe { once(length_p, |n| libc::send(fd, data, n, libc::MSG_NOSIGNAL)) }
}

/// Receives without blocking; `*length_p` becomes what was received.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_recv_nb(
    fd: c_int,
    data: *mut c_void,
    flags: c_int,
    length_p: *mut usize,
) -> ucs_status_t {
    // SAFETY: the caller passes room of the length behind `length_p`.
    unsafe {
        once(length_p, |n| {
            libc::recv(fd, data, n, libc::MSG_NOSIGNAL | flags)
        })
    }
}

/// Sends all bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_send(
    fd: c_int,
    data: *const c_void,
    length: usize,
) -> ucs_status_t {
    // SAFETY: the caller passes data of this length, and `done` never exceeds it.
    all(length, |done, left| unsafe {
        libc::send(fd, data.byte_add(done), left, libc::MSG_NOSIGNAL)
    })
}

/// Sends a list of buffers without blocking.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_sendv_nb(
    fd: c_int,
    iov: *mut iovec,
    iov_cnt: usize,
    length_p: *mut usize,
) -> ucs_status_t {
    // SAFETY: zero is a value of this plain struct.
    let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
    message.msg_iov = iov;
    message.msg_iovlen = iov_cnt;
    // SAFETY: the caller passes a list of this many entries.
    unsafe {
        once(length_p, |_| {
            libc::sendmsg(fd, &message, libc::MSG_NOSIGNAL)
        })
    }
}

/// Receives all bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_recv(
    fd: c_int,
    data: *mut c_void,
    length: usize,
) -> ucs_status_t {
    // SAFETY: the caller passes room of this length, and `done` never exceeds it.
    all(length, |done, left| unsafe {
        libc::recv(fd, data.byte_add(done), left, libc::MSG_NOSIGNAL)
    })
}

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

/// Address of a socket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_getname(
    fd: c_int,
    sock_addr: *mut sockaddr_storage,
    addr_len: *mut socklen_t,
) -> ucs_status_t {
    if sock_addr.is_null() || addr_len.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: both are not NULL, and a sockaddr_storage has the length written.
    let failed = unsafe {
        addr_len.write(size_of::<sockaddr_storage>() as socklen_t);
        libc::getsockname(fd, sock_addr.cast(), addr_len) < 0
    };
    if failed {
        crate::ucs_error!("getsockname(fd={fd}) failed: {}", errno());
        return Error::IoError.into();
    }
    Status::OK
}

/// Address of a socket as text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_getname_str(
    fd: c_int,
    str: *mut c_char,
    max_size: usize,
) -> *const c_char {
    // SAFETY: zero is a value of this plain struct; the caller has room for the text.
    unsafe {
        let mut storage: sockaddr_storage = core::mem::zeroed();
        let mut length = 0;
        if ucs_socket_getname(fd, &mut storage, &mut length) != Status::OK {
            text::write(str, max_size, b"-");
            return str;
        }
        ucs_sockaddr_str((&raw const storage).cast(), str, max_size)
    }
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

/// Network interface that has an address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_get_ifname(
    fd: c_int,
    ifname_str: *mut c_char,
    max_strlen: usize,
) -> ucs_status_t {
    let _ = (fd, ifname_str, max_strlen);
    NOT_IMPLEMENTED
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

/// Folder in sysfs of the device under an interface.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_netif_get_lowest_device_path(
    if_name: *const c_char,
    path_buffer: *mut c_char,
    max: usize,
) -> ucs_status_t {
    let _ = (if_name, path_buffer, max);
    NOT_IMPLEMENTED
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
unsafe fn family_of(addr: *const sockaddr) -> Option<sa_family_t> {
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
unsafe fn known(addr: *const sockaddr) -> Result<SocketAddr, Error> {
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

fn errno() -> std::io::Error {
    std::io::Error::last_os_error()
}

/// Status of a failed input or output call; `UCS_ERR_NO_PROGRESS` when it may be tried again.
fn io_status(error: &std::io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EINTR) => Error::NoProgress,
        Some(libc::ECONNRESET | libc::EPIPE) => Error::ConnectionReset,
        Some(libc::ECONNREFUSED) => Error::Rejected,
        Some(libc::ETIMEDOUT) => Error::TimedOut,
        _ => Error::IoError,
    }
}

fn report(what: core::fmt::Arguments<'_>, error: &std::io::Error) {
    if error.raw_os_error() == Some(libc::EMFILE) {
        crate::ucs_error!("{what}: {error}; raise the limit of open files (ulimit -n)");
    } else {
        crate::ucs_error!("{what}: {error}");
    }
}

fn is_link_local(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

fn length_of(addr: &SocketAddr) -> socklen_t {
    match addr {
        SocketAddr::V4(_) => size_of::<libc::sockaddr_in>() as socklen_t,
        SocketAddr::V6(_) => size_of::<libc::sockaddr_in6>() as socklen_t,
    }
}

/// One call that moves at most the number of bytes behind `length_p`, where the number that it
/// did move is then written.
///
/// # Safety
/// `length_p` is NULL or holds a length.
unsafe fn once(length_p: *mut usize, call: impl FnOnce(usize) -> ssize_t) -> ucs_status_t {
    if length_p.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: not NULL.
    let wanted = unsafe { length_p.read() };
    let moved = call(wanted);
    let error = errno();
    // SAFETY: not NULL.
    unsafe { length_p.write(usize::try_from(moved).unwrap_or(0)) };
    match moved {
        1.. => Status::OK,
        0 if wanted == 0 => Status::OK,
        // The peer has closed its side.
        0 => Error::NotConnected.into(),
        _ => {
            let status = io_status(&error);
            if status == Error::IoError {
                crate::ucs_error!("socket transfer failed: {error}");
            }
            status.into()
        }
    }
}

/// Calls until all bytes are moved; `call` gets what is done and what is left.
fn all(length: usize, call: impl Fn(usize, usize) -> ssize_t) -> ucs_status_t {
    let mut done = 0;
    while done < length {
        let mut left = length - done;
        // SAFETY: the length is ours.
        let status = unsafe { once(&mut left, |left| call(done, left)) };
        done += left.min(length - done);
        if status != Status::OK && status != Error::NoProgress.into() {
            return status;
        }
    }
    Status::OK
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
