//! Asking the kernel which way a packet would leave (rtnetlink `RTM_GETROUTE`).

use std::io;
use std::mem;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A route that the kernel would take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route {
    /// Index of the interface.
    pub interface: u32,
    /// The destination is an address of this host.
    pub local: bool,
}

const HEADER: usize = 16;
const ROUTE_MESSAGE: usize = 12;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;

/// The route to `ip`, `None` when there is none.
pub fn route_to(ip: IpAddr) -> io::Result<Option<Route>> {
    // SAFETY: no memory is involved.
    let fd = unsafe {
        libc::socket(
            libc::AF_NETLINK,
            libc::SOCK_RAW | libc::SOCK_CLOEXEC,
            libc::NETLINK_ROUTE,
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just made.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let request = request(ip);
    // SAFETY: pointer and length are the vector's.
    let sent = unsafe {
        libc::send(
            fd.as_raw_fd(),
            request.as_ptr().cast(),
            request.len(),
            libc::MSG_NOSIGNAL,
        )
    };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut answer = [0u8; 4096];
    // SAFETY: pointer and length are the array's.
    let n = unsafe { libc::recv(fd.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) };
    let n = usize::try_from(n).map_err(|_| io::Error::last_os_error())?;
    Ok(parse(answer.get(..n).unwrap_or_default()))
}

/// A descriptor that becomes readable when any link of this network namespace changes.
pub struct LinkEvents(OwnedFd);

impl LinkEvents {
    pub fn new() -> io::Result<LinkEvents> {
        // SAFETY: no memory is involved.
        let fd = unsafe {
            libc::socket(
                libc::AF_NETLINK,
                libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK,
                libc::NETLINK_ROUTE,
            )
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just made.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: all zero is a value of it.
        let mut address: libc::sockaddr_nl = unsafe { mem::zeroed() };
        address.nl_family = libc::AF_NETLINK as libc::sa_family_t;
        address.nl_groups = libc::RTMGRP_LINK as u32;
        // SAFETY: pointer and length are the address's.
        let rc = unsafe {
            libc::bind(
                fd.as_raw_fd(),
                (&raw const address).cast(),
                mem::size_of_val(&address) as libc::socklen_t,
            )
        };
        if rc == 0 {
            Ok(LinkEvents(fd))
        } else {
            Err(io::Error::last_os_error())
        }
    }

    pub fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.0.as_raw_fd()
    }

    /// Forgets what has come: the links themselves say how they are.
    pub fn clear(&self) {
        let mut scratch = [0u8; 4096];
        // An overrun is told as an error once, and is as good as any event.
        for _ in 0..64 {
            // SAFETY: pointer and length are the array's.
            let n = unsafe {
                libc::recv(
                    self.0.as_raw_fd(),
                    scratch.as_mut_ptr().cast(),
                    scratch.len(),
                    0,
                )
            };
            if n < 0 && io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock {
                return;
            }
        }
    }
}

fn request(ip: IpAddr) -> Vec<u8> {
    let (family, addr): (i32, Vec<u8>) = match ip {
        IpAddr::V4(ip) => (libc::AF_INET, ip.octets().to_vec()),
        IpAddr::V6(ip) => (libc::AF_INET6, ip.octets().to_vec()),
    };
    let total = HEADER + ROUTE_MESSAGE + 4 + addr.len();
    let mut out = Vec::with_capacity(total);
    out.extend_from_slice(&(total as u32).to_ne_bytes());
    out.extend_from_slice(&libc::RTM_GETROUTE.to_ne_bytes());
    out.extend_from_slice(&(libc::NLM_F_REQUEST as u16).to_ne_bytes());
    out.extend_from_slice(&[0; 8]);
    // rtmsg: family, destination's bits, the rest zero.
    out.push(family as u8);
    out.push((addr.len() * 8) as u8);
    out.extend_from_slice(&[0; ROUTE_MESSAGE - 2]);
    out.extend_from_slice(&((4 + addr.len()) as u16).to_ne_bytes());
    out.extend_from_slice(&RTA_DST.to_ne_bytes());
    out.extend_from_slice(&addr);
    out
}

fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    let bytes = data.get(at..at + mem::size_of::<u16>())?;
    Some(u16::from_ne_bytes(bytes.try_into().ok()?))
}

fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    let bytes = data.get(at..at + mem::size_of::<u32>())?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

fn parse(answer: &[u8]) -> Option<Route> {
    if u16_at(answer, 4)? != libc::RTM_NEWROUTE {
        return None;
    }
    let end = (u32_at(answer, 0)? as usize).min(answer.len());
    let kind = *answer.get(HEADER + 7)?;
    if !matches!(kind, libc::RTN_UNICAST | libc::RTN_LOCAL) {
        return None;
    }
    let mut at = HEADER + ROUTE_MESSAGE;
    while at + 4 <= end {
        let len = usize::from(u16_at(answer, at)?);
        if len < 4 {
            break;
        }
        if u16_at(answer, at + 2)? == RTA_OIF {
            return Some(Route {
                interface: u32_at(answer, at + 4)?,
                local: kind == libc::RTN_LOCAL,
            });
        }
        at += len.next_multiple_of(4);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_local() {
        let route = route_to("127.0.0.1".parse().unwrap()).unwrap().unwrap();
        assert!(route.local);
    }

    #[test]
    fn answers_cut_short_are_survived() {
        let mut whole = request("127.0.0.1".parse().unwrap());
        whole[4..6].copy_from_slice(&libc::RTM_NEWROUTE.to_ne_bytes());
        whole[HEADER + 7] = libc::RTN_UNICAST;
        for n in 0..whole.len() {
            assert_eq!(parse(&whole[..n]), None);
        }
    }
}
