//! Entry points of `ucs/sys/sock.h`: network interfaces.

use std::net::IpAddr;

use super::address::{family_of, sockaddr_of};
use super::socket::{errno, report};
use crate::abi::prelude::*;
use crate::abi::ucs::text;

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

/// Folder in sysfs of the device under an interface, through all the interfaces that lie between.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_netif_get_lowest_device_path(
    if_name: *const c_char,
    path_buffer: *mut c_char,
    max: usize,
) -> ucs_status_t {
    // SAFETY: a C string or NULL.
    let name = unsafe { text::read(if_name) };
    let mut path = std::path::PathBuf::from(format!("/sys/class/net/{name}"));
    for _ in 0..MAX_DEPTH {
        let Some(lower) = lower_device(&path) else {
            // SAFETY: NULL or the caller's room.
            unsafe { text::write(path_buffer, max, path.as_os_str().as_encoded_bytes()) };
            return Status::OK;
        };
        path.push(lower);
    }
    Error::IoError.into()
}

/// Interfaces on one another; more are links in a circle.
const MAX_DEPTH: usize = 8;

/// The link to what an interface is made on, as for VLANs and bonds.
fn lower_device(folder: &std::path::Path) -> Option<std::ffi::OsString> {
    let entries = std::fs::read_dir(folder).ok()?;
    let mut names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    names.find(|name| name.as_encoded_bytes().starts_with(b"lower_"))
}

fn is_link_local(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}
