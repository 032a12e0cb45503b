//! `ucs/sys/sock.h`.

use crate::abi::prelude::*;

pub const UCS_IPV4_ADDR_LEN: u64 = 1 << 2;
pub const UCS_IPV6_ADDR_LEN: u64 = 1 << 4;
pub const UCS_IPV4_SOCKADDR_LEN: u64 = 1 << 4;
pub const UCS_IPV6_SOCKADDR_LEN: u64 = 28;
pub const UCS_SOCKADDR_STRING_LEN: i32 = 60;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_close_fd(fd_p: *mut c_int) {
    let _ = fd_p;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_netif_flags_is_active(flags: c_uint) -> c_int {
    let _ = flags;
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_netif_ioctl(
    if_name: *const c_char,
    request: c_ulong,
    if_req: *mut ifreq,
) -> ucs_status_t {
    let _ = (if_name, request, if_req);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_netif_is_active(if_name: *const c_char, af: sa_family_t) -> c_int {
    let _ = (if_name, af);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_netif_get_addr(
    if_name: *const c_char,
    af: sa_family_t,
    saddr: *mut sockaddr,
    netmask: *mut sockaddr,
) -> ucs_status_t {
    let _ = (if_name, af, saddr, netmask);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_netif_bond_ad_num_ports(if_name: *const c_char) -> c_uint {
    let _ = if_name;
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_create(
    domain: c_int,
    type_: c_int,
    protocol: c_int,
    fd_p: *mut c_int,
) -> ucs_status_t {
    let _ = (domain, type_, protocol, fd_p);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_setopt(
    fd: c_int,
    level: c_int,
    optname: c_int,
    optval: *const c_void,
    optlen: socklen_t,
) -> ucs_status_t {
    let _ = (fd, level, optname, optval, optlen);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_getopt(
    fd: c_int,
    level: c_int,
    optname: c_int,
    optval: *mut c_void,
    optlen: socklen_t,
) -> ucs_status_t {
    let _ = (fd, level, optname, optval, optlen);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_connect(fd: c_int, dest_addr: *const sockaddr) -> ucs_status_t {
    let _ = (fd, dest_addr);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_accept(
    fd: c_int,
    addr: *mut sockaddr,
    length_ptr: *mut socklen_t,
    accept_fd: *mut c_int,
) -> ucs_status_t {
    let _ = (fd, addr, length_ptr, accept_fd);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_getpeername(
    fd: c_int,
    peer_addr: *mut sockaddr_storage,
    peer_addr_len: *mut socklen_t,
) -> ucs_status_t {
    let _ = (fd, peer_addr, peer_addr_len);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_is_connected(fd: c_int) -> c_int {
    let _ = fd;
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_set_buffer_size(
    fd: c_int,
    sockopt_sndbuf: usize,
    sockopt_rcvbuf: usize,
) -> ucs_status_t {
    let _ = (fd, sockopt_sndbuf, sockopt_rcvbuf);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_server_init(
    saddr: *const sockaddr,
    socklen: socklen_t,
    backlog: c_int,
    silent_bind: c_int,
    reuse_addr: c_int,
    listen_fd: *mut c_int,
) -> ucs_status_t {
    let _ = (saddr, socklen, backlog, silent_bind, reuse_addr, listen_fd);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_max_conn() -> c_int {
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_send_nb(
    fd: c_int,
    data: *const c_void,
    length_p: *mut usize,
) -> ucs_status_t {
    let _ = (fd, data, length_p);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_recv_nb(
    fd: c_int,
    data: *mut c_void,
    flags: c_int,
    length_p: *mut usize,
) -> ucs_status_t {
    let _ = (fd, data, flags, length_p);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_send(
    fd: c_int,
    data: *const c_void,
    length: usize,
) -> ucs_status_t {
    let _ = (fd, data, length);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_sendv_nb(
    fd: c_int,
    iov: *mut iovec,
    iov_cnt: usize,
    length_p: *mut usize,
) -> ucs_status_t {
    let _ = (fd, iov, iov_cnt, length_p);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_recv(
    fd: c_int,
    data: *mut c_void,
    length: usize,
) -> ucs_status_t {
    let _ = (fd, data, length);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_sizeof(
    addr: *const sockaddr,
    size_p: *mut usize,
) -> ucs_status_t {
    let _ = (addr, size_p);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_get_port(
    addr: *const sockaddr,
    port_p: *mut u16,
) -> ucs_status_t {
    let _ = (addr, port_p);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_set_port(addr: *mut sockaddr, port: u16) -> ucs_status_t {
    let _ = (addr, port);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_get_inet_addr(addr: *const sockaddr) -> *const c_void {
    let _ = addr;
    core::ptr::null()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_set_inet_addr(
    addr: *mut sockaddr,
    in_addr: *const c_void,
) -> ucs_status_t {
    let _ = (addr, in_addr);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_inet_addr_sizeof(
    addr: *const sockaddr,
    size_p: *mut usize,
) -> ucs_status_t {
    let _ = (addr, size_p);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_str(
    sock_addr: *const sockaddr,
    str: *mut c_char,
    max_size: usize,
) -> *const c_char {
    let _ = (sock_addr, str, max_size);
    core::ptr::null()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sock_ipstr_to_sockaddr(
    ip_str: *const c_char,
    sa_storage: *mut sockaddr_storage,
) -> ucs_status_t {
    let _ = (ip_str, sa_storage);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sock_ipportstr_to_sockaddr(
    ip_port_str: *const c_char,
    default_port: u16,
    sa_storage: *mut sockaddr_storage,
) -> ucs_status_t {
    let _ = (ip_port_str, default_port, sa_storage);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sock_port_from_string(
    port_str: *const c_char,
    port: *mut u16,
) -> ucs_status_t {
    let _ = (port_str, port);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_is_known_af(sa: *const sockaddr) -> c_int {
    let _ = sa;
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_getname(
    fd: c_int,
    sock_addr: *mut sockaddr_storage,
    addr_len: *mut socklen_t,
) -> ucs_status_t {
    let _ = (fd, sock_addr, addr_len);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_getname_str(
    fd: c_int,
    str: *mut c_char,
    max_size: usize,
) -> *const c_char {
    let _ = (fd, str, max_size);
    core::ptr::null()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_cmp(
    sa1: *const sockaddr,
    sa2: *const sockaddr,
    status_p: *mut ucs_status_t,
) -> c_int {
    let _ = (sa1, sa2, status_p);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_ip_cmp(sa1: *const sockaddr, sa2: *const sockaddr) -> c_int {
    let _ = (sa1, sa2);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_is_same_subnet(
    sa1: *const sockaddr,
    sa2: *const sockaddr,
    prefix_len: c_uint,
) -> c_int {
    let _ = (sa1, sa2, prefix_len);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_is_inaddr_any(addr: *const sockaddr) -> c_int {
    let _ = addr;
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_is_inaddr_loopback(addr: *const sockaddr) -> c_int {
    let _ = addr;
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_set_inaddr_any(
    addr: *mut sockaddr,
    af: sa_family_t,
) -> ucs_status_t {
    let _ = (addr, af);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_copy(
    dst_addr: *mut sockaddr,
    src_addr: *const sockaddr,
) -> ucs_status_t {
    let _ = (dst_addr, src_addr);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_get_ifname(
    fd: c_int,
    ifname_str: *mut c_char,
    max_strlen: usize,
) -> ucs_status_t {
    let _ = (fd, ifname_str, max_strlen);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_inet_addr_size(
    af: sa_family_t,
    size_p: *mut usize,
) -> ucs_status_t {
    let _ = (af, size_p);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_address_family_str(af: sa_family_t) -> *const c_char {
    let _ = af;
    core::ptr::null()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_get_ip_local_port_range(
    port_range: *mut ucs_range_spec_t,
) -> ucs_status_t {
    let _ = port_range;
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sockaddr_get_ipstr(
    addr: *const sockaddr,
    str: *mut c_char,
    max_size: usize,
) -> ucs_status_t {
    let _ = (addr, str, max_size);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_netif_get_lowest_device_path(
    if_name: *const c_char,
    path_buffer: *mut c_char,
    max: usize,
) -> ucs_status_t {
    let _ = (if_name, path_buffer, max);
    NOT_IMPLEMENTED
}
