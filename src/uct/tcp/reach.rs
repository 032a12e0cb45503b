//! Reachability by the kernel's routes, remembered per address.

use std::cell::{OnceCell, RefCell};
use std::net::IpAddr;

use hashbrown::HashMap;

use crate::sys::netdev::NetAddr;
use crate::sys::{netdev, netlink};

use super::addr::{self, DeviceAddr, Routes};

/// More peers than this are asked about anew.
const MAX_ENTRIES: usize = 16 << 10;

type Verdict = core::result::Result<(), String>;

#[derive(Default)]
pub struct RouteCache {
    local: OnceCell<Vec<IpAddr>>,
    known: RefCell<HashMap<(IpAddr, u32), Verdict>>,
}

impl RouteCache {
    pub fn reachable(&self, device: &NetAddr, own: &DeviceAddr, remote: &DeviceAddr) -> Verdict {
        let key = (remote.ip, remote.host);
        if remote.loopback || own.loopback {
            return addr::reachable(device, own, remote, self);
        }
        if let Some(verdict) = self.known.borrow().get(&key) {
            return verdict.clone();
        }
        let verdict = addr::reachable(device, own, remote, self);
        let mut known = self.known.borrow_mut();
        if known.len() < MAX_ENTRIES {
            known.insert(key, verdict.clone());
        }
        verdict
    }
}

impl Routes for RouteCache {
    fn is_local(&self, ip: IpAddr) -> bool {
        self.local
            .get_or_init(|| {
                let all = netdev::addresses().unwrap_or_default();
                all.into_iter().map(|addr| addr.ip).collect()
            })
            .contains(&ip)
    }

    fn leaves_by(&self, ip: IpAddr) -> Option<u32> {
        let route = netlink::route_to(ip).ok().flatten()?;
        (!route.local).then_some(route.interface)
    }
}
