//! Addresses of devices and interfaces, and who can reach whom.
//!
//! ```text
//! device     flags 1 | family 1 | host 4 | IP address 4 or 16 (none for loopback)
//! interface  port 2 | id 4
//! ```

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::sys::netdev::NetAddr;
use crate::ucs::status::{Error, Result};

use super::wire::IfaceId;

const LOOPBACK: u8 = 1;
pub const IFACE_ADDR_LEN: usize = 6;

/// A device as its address tells it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceAddr {
    /// Of a loopback device: the one of its family.
    pub ip: IpAddr,
    pub loopback: bool,
    /// Stands for the host and its network namespace.
    pub host: u32,
}

impl DeviceAddr {
    pub fn encode(&self, out: &mut Vec<u8>) {
        let family = if self.ip.is_ipv4() { 4 } else { 6 };
        out.push(if self.loopback { LOOPBACK } else { 0 });
        out.push(family);
        out.extend_from_slice(&self.host.to_le_bytes());
        match self.ip {
            _ if self.loopback => {}
            IpAddr::V4(ip) => out.extend_from_slice(&ip.octets()),
            IpAddr::V6(ip) => out.extend_from_slice(&ip.octets()),
        }
    }

    pub fn encoded_len(&self) -> usize {
        6 + match self.ip {
            _ if self.loopback => 0,
            IpAddr::V4(_) => 4,
            IpAddr::V6(_) => 16,
        }
    }

    /// Bytes of an address that begins with these two; the least there is for what begins like
    /// none.
    pub fn len_of(flags: u8, family: u8) -> usize {
        6 + match (flags, family) {
            (0, 4) => 4,
            (0, 6) => 16,
            _ => 0,
        }
    }

    /// The address, which must be all there is.
    pub fn decode(bytes: &[u8]) -> Result<DeviceAddr> {
        let [flags, family, h0, h1, h2, h3, rest @ ..] = bytes else {
            return Err(Error::InvalidAddr);
        };
        if flags & !LOOPBACK != 0 {
            return Err(Error::InvalidAddr);
        }
        let loopback = *flags == LOOPBACK;
        let ip = match (*family, loopback, rest.len()) {
            (4, true, 0) => Ipv4Addr::LOCALHOST.into(),
            (6, true, 0) => Ipv6Addr::LOCALHOST.into(),
            (4, false, 4) => {
                let ip = rest.first_chunk::<4>().ok_or(Error::InvalidAddr)?;
                Ipv4Addr::from(*ip).into()
            }
            (6, false, 16) => {
                let ip = rest.first_chunk::<16>().ok_or(Error::InvalidAddr)?;
                Ipv6Addr::from(*ip).into()
            }
            _ => return Err(Error::InvalidAddr),
        };
        Ok(DeviceAddr {
            ip,
            loopback,
            host: u32::from_le_bytes([*h0, *h1, *h2, *h3]),
        })
    }
}

pub fn encode_iface(id: &IfaceId, out: &mut Vec<u8>) {
    out.extend_from_slice(&id.port.to_le_bytes());
    out.extend_from_slice(&id.id.to_le_bytes());
}

/// Puts a peer's interface together from its two addresses.
pub fn decode_iface(device: &DeviceAddr, bytes: &[u8]) -> Result<IfaceId> {
    let [p0, p1, i0, i1, i2, i3] = bytes else {
        return Err(Error::InvalidAddr);
    };
    let port = u16::from_le_bytes([*p0, *p1]);
    if port == 0 {
        return Err(Error::InvalidAddr);
    }
    Ok(IfaceId {
        ip: device.ip,
        port,
        id: u32::from_le_bytes([*i0, *i1, *i2, *i3]),
    })
}

/// A number for this host and network namespace: the same for all processes in it.
pub fn host_id() -> u32 {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let netns = fs::read_link("/proc/self/ns/net").unwrap_or_default();
    let text = format!("{}{}", boot.trim(), netns.display());
    text.bytes().fold(0x811c_9dc5, |sum, byte| {
        (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

fn same_subnet(a: IpAddr, b: IpAddr, prefix: u8) -> bool {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            let shift = 32u32.saturating_sub(prefix.into());
            (u32::from(a) ^ u32::from(b))
                .checked_shr(shift)
                .unwrap_or(0)
                == 0
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => {
            let shift = 128u32.saturating_sub(prefix.into());
            (u128::from(a) ^ u128::from(b))
                .checked_shr(shift)
                .unwrap_or(0)
                == 0
        }
        _ => false,
    }
}

fn link_local(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local())
}

/// What reachability depends on beside the two addresses; the kernel, or a test's idea of one.
pub trait Routes {
    /// The IP address belongs to this host.
    fn is_local(&self, ip: IpAddr) -> bool;
    /// Index of the interface by which packets to `ip` leave.
    fn leaves_by(&self, ip: IpAddr) -> Option<u32>;
}

/// Whether an interface on `device`, whose address is `own`, can connect to `remote`.
pub fn reachable(
    device: &NetAddr,
    own: &DeviceAddr,
    remote: &DeviceAddr,
    routes: &dyn Routes,
) -> core::result::Result<(), String> {
    if own.ip.is_ipv4() != remote.ip.is_ipv4() {
        return Err("another address family".to_owned());
    }
    match (own.loopback, remote.loopback) {
        (true, true) if own.host == remote.host => return Ok(()),
        (true, true) => return Err("loopback of another host or network namespace".to_owned()),
        (false, false) => {}
        _ => return Err("one address is a loopback address, the other is not".to_owned()),
    }
    if remote.ip == own.ip && remote.host == own.host {
        return Ok(());
    }
    if routes.is_local(remote.ip) {
        return Err(if remote.host == own.host {
            format!("{} is on another device of this host", remote.ip)
        } else {
            // As on hosts that each have a bridge 172.17.0.1: it would lead to ourselves.
            format!("{} is an address of this host as well", remote.ip)
        });
    }
    if link_local(own.ip) != link_local(remote.ip) {
        return Err("one address is link-local, the other is not".to_owned());
    }
    if same_subnet(own.ip, remote.ip, device.prefix)
        || routes.leaves_by(remote.ip) == Some(device.index)
    {
        Ok(())
    } else {
        Err(format!("no route to {} by {}", remote.ip, device.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Table {
        local: Vec<IpAddr>,
        default: u32,
    }

    impl Routes for Table {
        fn is_local(&self, ip: IpAddr) -> bool {
            self.local.contains(&ip)
        }
        fn leaves_by(&self, _ip: IpAddr) -> Option<u32> {
            Some(self.default)
        }
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn device(text: &str, prefix: u8, index: u32) -> NetAddr {
        NetAddr {
            name: format!("dev{index}"),
            ip: ip(text),
            prefix,
            index,
            loopback: false,
        }
    }

    fn addr(text: &str, host: u32) -> DeviceAddr {
        DeviceAddr {
            ip: ip(text),
            loopback: ip(text).is_loopback(),
            host,
        }
    }

    #[test]
    fn bridges_of_the_same_address_are_no_way() {
        let table = Table {
            local: vec![ip("172.17.0.1"), ip("10.0.0.1")],
            default: 1,
        };
        let docker = device("172.17.0.1", 16, 2);
        let eth = device("10.0.0.1", 24, 1);
        let reach = |dev: &NetAddr, remote: &str| {
            let own = addr(&dev.ip.to_string(), 1);
            reachable(dev, &own, &addr(remote, 2), &table).is_ok()
        };
        assert!(!reach(&docker, "172.17.0.1"));
        assert!(!reach(&docker, "10.0.0.2"));
        assert!(!reach(&eth, "172.17.0.1"));
        assert!(reach(&eth, "10.0.0.2"));
        // By the default route.
        assert!(reach(&eth, "192.168.7.7"));
    }

    #[test]
    fn loopback_stays_on_the_host() {
        let table = Table {
            local: vec![],
            default: 0,
        };
        let lo = device("127.0.0.1", 8, 1);
        let own = addr("127.0.0.1", 1);
        assert!(reachable(&lo, &own, &addr("127.0.0.1", 1), &table).is_ok());
        assert!(reachable(&lo, &own, &addr("127.0.0.1", 2), &table).is_err());
        assert!(reachable(&lo, &own, &addr("10.0.0.1", 1), &table).is_err());
        assert!(reachable(&lo, &own, &addr("::1", 1), &table).is_err());
    }

    #[test]
    fn same_host_by_the_same_device_only() {
        let table = Table {
            local: vec![ip("10.0.0.1"), ip("10.0.1.1")],
            default: 0,
        };
        let eth = device("10.0.0.1", 24, 1);
        let own = addr("10.0.0.1", 1);
        assert!(reachable(&eth, &own, &addr("10.0.0.1", 1), &table).is_ok());
        assert!(reachable(&eth, &own, &addr("10.0.1.1", 1), &table).is_err());
    }

    #[test]
    fn subnets() {
        assert!(same_subnet(ip("10.0.0.1"), ip("10.0.0.200"), 24));
        assert!(!same_subnet(ip("10.0.0.1"), ip("10.0.1.1"), 24));
        assert!(same_subnet(ip("1.2.3.4"), ip("200.2.3.4"), 0));
        assert!(!same_subnet(ip("1.2.3.4"), ip("1.2.3.5"), 32));
        assert!(same_subnet(ip("fd00::1"), ip("fd00::2"), 64));
        assert!(!same_subnet(ip("fd00::1"), ip("fd00:0:0:1::2"), 64));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>, iface: Vec<u8>) {
            if let Ok(device) = DeviceAddr::decode(&bytes) {
                let mut again = Vec::new();
                device.encode(&mut again);
                prop_assert_eq!(again.len(), device.encoded_len());
                prop_assert_eq!(DeviceAddr::decode(&again), Ok(device));
                let _ = decode_iface(&device, &iface);
            }
        }
    }
}
