//! Network interfaces of this host.

use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsRawFd;

use socket2::{Domain, Socket, Type};

/// One address of one interface that is up and running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetAddr {
    pub name: String,
    pub ip: IpAddr,
    /// Bits of the network part.
    pub prefix: u8,
    /// Interface index: the scope of a link-local address.
    pub index: u32,
    pub loopback: bool,
}

/// All addresses, in the kernel's order.
pub fn addresses() -> io::Result<Vec<NetAddr>> {
    let mut head: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: on success the list is written to `head`; it is freed below.
    if unsafe { libc::getifaddrs(&raw mut head) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut list = Vec::new();
    let mut next = head;
    while !next.is_null() {
        // SAFETY: an entry of the list, which is freed only after the loop.
        let entry = unsafe { &*next };
        next = entry.ifa_next;
        let wanted = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_uint;
        if entry.ifa_flags & wanted != wanted || entry.ifa_name.is_null() {
            continue;
        }
        let (Some(ip), Some(mask)) = (ip_of(entry.ifa_addr), ip_of(entry.ifa_netmask)) else {
            continue;
        };
        // SAFETY: names in the list are C strings, and indices are looked up by them.
        let (name, index) = unsafe {
            (
                CStr::from_ptr(entry.ifa_name),
                libc::if_nametoindex(entry.ifa_name),
            )
        };
        let Ok(name) = name.to_str() else { continue };
        list.push(NetAddr {
            name: name.to_owned(),
            ip,
            prefix: ones(mask),
            index,
            loopback: entry.ifa_flags & libc::IFF_LOOPBACK as libc::c_uint != 0,
        });
    }
    // SAFETY: what getifaddrs gave.
    unsafe { libc::freeifaddrs(head) };
    Ok(list)
}

fn ip_of(addr: *const libc::sockaddr) -> Option<IpAddr> {
    if addr.is_null() {
        return None;
    }
    // SAFETY: not null, and entries of the list are as long as their family says.
    unsafe {
        match i32::from((*addr).sa_family) {
            libc::AF_INET => {
                let v4 = addr.cast::<libc::sockaddr_in>().read_unaligned();
                Some(Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr)).into())
            }
            libc::AF_INET6 => {
                let v6 = addr.cast::<libc::sockaddr_in6>().read_unaligned();
                Some(Ipv6Addr::from(v6.sin6_addr.s6_addr).into())
            }
            _ => None,
        }
    }
}

fn ones(mask: IpAddr) -> u8 {
    (match mask {
        IpAddr::V4(ip) => u32::from(ip).leading_ones(),
        IpAddr::V6(ip) => u128::from(ip).leading_ones(),
    }) as u8
}

/// An ioctl about the interface `name`. By a socket rather than sysfs, since that may show another
/// network namespace than ours.
fn query(name: &str, code: libc::c_ulong, data: Option<&mut [u8]>) -> Option<libc::ifreq> {
    let name = CString::new(name).ok()?;
    // SAFETY: all zero is a valid request.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    let bytes = name.as_bytes_with_nul();
    if bytes.len() > request.ifr_name.len() {
        return None;
    }
    for (to, from) in request.ifr_name.iter_mut().zip(bytes) {
        *to = *from as libc::c_char;
    }
    if let Some(data) = data {
        request.ifr_ifru.ifru_data = data.as_mut_ptr().cast();
    }
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).ok()?;
    // SAFETY: the kernel reads and writes the request, and for ethtool the command it names,
    // which is as long as the command's structure.
    let rc = unsafe { libc::ioctl(socket.as_raw_fd(), code as _, &raw mut request) };
    (rc == 0).then_some(request)
}

const SIOCETHTOOL: libc::c_ulong = 0x8946;

/// True for a software bridge (docker0, virbr0).
pub fn is_bridge(name: &str) -> bool {
    // `struct ethtool_drvinfo`: the driver's name is at 4.
    const ETHTOOL_GDRVINFO: u32 = 3;
    let mut command = [0u8; 196];
    command[..4].copy_from_slice(&ETHTOOL_GDRVINFO.to_ne_bytes());
    query(name, SIOCETHTOOL, Some(&mut command)).is_some() && command[4..].starts_with(b"bridge\0")
}

/// Speed of the link in Mbit/s, where the driver knows it.
pub fn speed_mbps(name: &str) -> Option<u32> {
    // `struct ethtool_cmd`: the speed is at 12, its high half at 28.
    const ETHTOOL_GSET: u32 = 1;
    let mut command = [0u8; 44];
    command[..4].copy_from_slice(&ETHTOOL_GSET.to_ne_bytes());
    query(name, SIOCETHTOOL, Some(&mut command))?;
    let low = u16::from_ne_bytes([command[12], command[13]]);
    let high = u16::from_ne_bytes([command[28], command[29]]);
    match (u32::from(high) << 16) | u32::from(low) {
        0 | 0xffff | u32::MAX => None,
        speed => Some(speed),
    }
}

/// Largest packet of the interface in bytes.
pub fn mtu(name: &str) -> Option<u32> {
    let request = query(name, libc::SIOCGIFMTU as _, None)?;
    // SAFETY: this request writes the MTU.
    u32::try_from(unsafe { request.ifr_ifru.ifru_mtu }).ok()
}

/// Whether the link is up and has a carrier; `None` if there is no such interface.
pub fn is_running(name: &str) -> Option<bool> {
    let request = query(name, libc::SIOCGIFFLAGS as _, None)?;
    // SAFETY: this request writes the flags.
    let flags = i32::from(unsafe { request.ifr_ifru.ifru_flags });
    let wanted = libc::IFF_UP | libc::IFF_RUNNING;
    // The flags of a link that comes up are late: packets may go already.
    Some(flags & wanted == wanted || has_carrier(name))
}

/// Asks the driver; false if it doesn't tell.
fn has_carrier(name: &str) -> bool {
    // `struct ethtool_value`: the value is at 4.
    const ETHTOOL_GLINK: u32 = 10;
    let mut command = [0u8; 8];
    command[..4].copy_from_slice(&ETHTOOL_GLINK.to_ne_bytes());
    query(name, SIOCETHTOOL, Some(&mut command)).is_some() && command[4..] != [0; 4]
}

/// `ARPHRD_*` of the interface.
pub fn hardware_type(name: &str) -> Option<u32> {
    let request = query(name, libc::SIOCGIFHWADDR as _, None)?;
    // SAFETY: this request writes an address, whose family is the type.
    Some(unsafe { request.ifr_ifru.ifru_hwaddr.sa_family }.into())
}

/// True when an IPv4 default route leaves by this interface.
pub fn is_default_route(name: &str) -> bool {
    let Ok(table) = fs::read_to_string("/proc/net/route") else {
        return false;
    };
    table.lines().skip(1).any(|line| {
        let mut fields = line.split_whitespace();
        fields.next() == Some(name) && fields.nth(6) == Some("00000000")
    })
}
