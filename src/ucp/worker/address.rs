//! What a worker tells others of itself.

use core::cmp::Reverse;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use super::Worker;
use crate::sys::netdev;
use crate::ucp::address::{self, AddressFlags, TlAddress, TlId, WorkerAddress};
use crate::ucp::context::OpenIface;
use crate::uct::DeviceKind;

impl Worker {
    /// The worker's address, packed once.
    pub fn address(&self) -> Rc<[u8]> {
        if let Some(address) = &*self.address.borrow() {
            return address.clone();
        }
        let packed: Rc<[u8]> = self.pack_address(false).into();
        *self.address.borrow_mut() = Some(packed.clone());
        packed
    }

    /// Packs an address; with `net_only`, of network transports alone.
    pub fn pack_address(&self, net_only: bool) -> Vec<u8> {
        let is_wanted =
            |open: &&OpenIface| !net_only || self.kind_of(open) == Some(DeviceKind::Net);
        let mut flags = AddressFlags::default();
        flags.set(AddressFlags::NET_ONLY, net_only);
        self.pack(self.ifaces.iter().filter(is_wanted), flags)
    }

    /// The address for a peer that is connected by socket address, from `local` here: the whole if
    /// it takes no more than `room` bytes, else those of its transports that do most for this peer.
    pub(in crate::ucp) fn address_within(
        &self,
        room: usize,
        local: Option<SocketAddr>,
    ) -> Rc<[u8]> {
        let whole = self.address();
        if whole.len() <= room {
            return whole;
        }
        let device = local.and_then(|local| device_with(local.ip()));
        let mut best: Vec<usize> = (0..self.ifaces.len()).collect();
        best.sort_by_key(|index| {
            let open = self.ifaces.get(*index);
            Reverse(open.map_or(0, |open| self.use_for_peer(open, device.as_deref())))
        });
        // What belongs to one device shares an entry, so that only packing tells the length.
        let first = |n: usize| {
            let all = self.ifaces.iter().enumerate();
            let chosen = all.filter(|(i, _)| best.iter().take(n).any(|index| index == i));
            self.pack(chosen.map(|(_, open)| open), AddressFlags::default())
        };
        let counts: Vec<usize> = (1..self.ifaces.len()).collect();
        let fitting = counts.partition_point(|n| first(*n).len() <= room);
        if fitting == 0 {
            return whole;
        }
        crate::ucs_diag!(
            "{}: {fitting} of {} transports and devices are told to the peer of a connection by \
             socket address, as UCX_TCP_CM_PRIV_DATA_LEN leaves room for no more",
            self.name(),
            self.ifaces.len()
        );
        first(fitting).into()
    }

    /// How much a transport does for a peer at the other end of a connection over `device`.
    fn use_for_peer(&self, open: &OpenIface, device: Option<&str>) -> u8 {
        let Some(rsc) = self.context.resources.get(usize::from(open.rsc_index)) else {
            return 0;
        };
        match rsc.kind() {
            DeviceKind::Net if device == Some(rsc.dev_name()) => 2,
            DeviceKind::Net => 0,
            _ => 1,
        }
    }

    fn kind_of(&self, open: &OpenIface) -> Option<DeviceKind> {
        let rsc = self.context.resources.get(usize::from(open.rsc_index));
        rsc.map(|rsc| rsc.kind())
    }

    fn pack<'a>(
        &self,
        ifaces: impl Iterator<Item = &'a OpenIface>,
        flags: AddressFlags,
    ) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(256);
        let mut spans = Vec::with_capacity(self.ifaces.len());
        for open in ifaces {
            let start = bytes.len();
            open.iface.device_address(&mut bytes);
            let middle = bytes.len();
            open.iface.iface_address(&mut bytes);
            spans.push((open, start, middle, bytes.len()));
        }
        let mut packed = WorkerAddress {
            uuid: self.uid,
            flags,
            ..WorkerAddress::default()
        };
        if self.context.config.bool_("ADDRESS_DEBUG_INFO") {
            packed.name = Some(&self.name);
        }
        for (open, start, middle, end) in spans {
            let Some(rsc) = self.context.resources.get(usize::from(open.rsc_index)) else {
                continue;
            };
            let attr = open.iface.attr();
            packed.tls.push(TlAddress {
                tl: TlId::of(rsc.tl_name()),
                rsc_index: open.rsc_index,
                md_index: rsc.md_index,
                dev_index: rsc.dev_index,
                caps: attr.caps,
                perf: attr.perf,
                device_addr: bytes.get(start..middle).unwrap_or_default(),
                iface_addr: bytes.get(middle..end).unwrap_or_default(),
            });
        }
        address::encode(&packed).unwrap_or_else(|e| {
            crate::ucs_error!("failed to pack the worker address: {e}");
            Vec::new()
        })
    }
}

/// The network device that has this IP address.
fn device_with(ip: IpAddr) -> Option<String> {
    let all = netdev::addresses().ok()?;
    let found = all.into_iter().find(|addr| addr.ip == ip)?;
    Some(found.name)
}
