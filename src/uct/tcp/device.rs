//! The network devices, and what an interface on one of them can do and costs.

use std::net::IpAddr;

use crate::sys::netdev::{self, NetAddr};
use crate::ucs::status::{Error, Result};
use crate::ucs_error;
use crate::uct::{IfaceAttr, IfaceCaps, IfaceParams, PerfAttr};

use super::addr::{DeviceAddr, IFACE_ADDR_LEN};
use super::config::{MdConfig, TcpConfig};

/// Assumed where the driver doesn't know, as UCX does.
const UNKNOWN_SPEED_MBPS: u32 = 100;
/// Longest payload of one large frame. The receiver that has a place for it reads it in as few
/// calls as the kernel allows.
const MAX_ZCOPY: usize = 4 << 20;
/// Longest put.
const MAX_PUT: usize = 1 << 31;
const ARPHRD_ETHER: u32 = 1;
const ARPHRD_INFINIBAND: u32 = 32;

/// One address per device that is up, by name.
pub fn list(config: &MdConfig) -> Result<Vec<NetAddr>> {
    let mut all = netdev::addresses().map_err(|error| {
        ucs_error!("tcp: listing network devices failed: {error}");
        Error::IoError
    })?;
    // Preferred family first, link-local addresses last.
    all.retain(|addr| config.af_prio.contains(&addr.ip.is_ipv6()));
    all.sort_by_key(|addr| {
        let family = config
            .af_prio
            .iter()
            .position(|v6| *v6 == addr.ip.is_ipv6());
        (addr.name.clone(), family, link_local(addr.ip))
    });
    all.dedup_by(|next, first| next.name == first.name);
    all.retain(|addr| config.bridge_enable || !netdev::is_bridge(&addr.name));
    // Every link has the same link-local subnet, so whether a peer is on ours can't be known, and
    // containers' links would seem to lead everywhere: used only when asked for.
    let v6_first = config.af_prio.first() == Some(&true);
    all.retain(|addr| !link_local(addr.ip) || v6_first || config.named.contains(&addr.name));
    Ok(all)
}

fn link_local(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local())
}

/// Attributes of an interface on `device`.
/// `params`: whether peers may write to each other's memory.
pub fn attr(device: &NetAddr, config: &TcpConfig, params: &IfaceParams) -> IfaceAttr {
    let segment = config.tx_seg_size;
    let addr = DeviceAddr {
        ip: device.ip,
        loopback: device.ip.is_loopback(),
        host: 0,
    };
    let mut caps = IfaceCaps::AM_SHORT
        | IfaceCaps::AM_BCOPY
        | IfaceCaps::ERR_PEER
        | IfaceCaps::EVENT_FD
        | IfaceCaps::ORDERED;
    let max_iov = config.max_iov.min(super::tx::MAX_PARTS - 1);
    if max_iov > 0 {
        caps |= IfaceCaps::AM_ZCOPY;
    }
    let put = (params.remote_put || params.keyed_put) && config.put_enable && max_iov > 0;
    caps.set(IfaceCaps::PUT_ZCOPY, put);
    caps.set(IfaceCaps::PUT_KEYED, put && params.keyed_put);
    IfaceAttr {
        caps,
        max_short: segment - 8,
        max_bcopy: segment,
        max_zcopy: if max_iov > 0 { MAX_ZCOPY } else { 0 },
        max_zcopy_header: segment.min(usize::from(u16::MAX)),
        max_iov,
        max_rma: if put { MAX_PUT } else { 0 },
        device_addr_len: addr.encoded_len(),
        iface_addr_len: IFACE_ADDR_LEN,
        perf: perf(device, config),
    }
}

/// UCX's model: the wire's rate less what headers take, and the time of one small packet.
fn perf(device: &NetAddr, config: &TcpConfig) -> PerfAttr {
    let speed = netdev::speed_mbps(&device.name).unwrap_or(UNKNOWN_SPEED_MBPS);
    let bits = f64::from(speed) * 1e6;
    let mtu = f64::from(netdev::mtu(&device.name).unwrap_or(1500));
    let link_headers = match netdev::hardware_type(&device.name) {
        Some(ARPHRD_ETHER) | None => 7.0 + 1.0 + 14.0 + 4.0 + 12.0,
        Some(ARPHRD_INFINIBAND) => 88.0,
        Some(_) => 0.0,
    };
    let tcp_headers = 40.0;
    let bandwidth = bits / 8.0 * (mtu - tcp_headers) / (mtu + link_headers);
    let preferred = config.prefer_default && netdev::is_default_route(&device.name);
    PerfAttr {
        latency: 576.0 / bits + 5.2e-6,
        overhead: 50e-6,
        bw_shared: bandwidth.min(config.max_bw),
        bw_dedicated: 0.0,
        priority: u8::from(preferred),
    }
}
