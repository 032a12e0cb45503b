//! Components that list the resources of a usual host, and open interfaces that do nothing.

use std::rc::Rc;

use crate::ucs::config::Config;
use crate::ucs::status::{Error, Result};
use crate::uct::{
    Component, DeviceKind, Ep, EpParams, Events, Iface, IfaceAttr, IfaceCaps, IfaceParams, Md,
    MdAttr, PerfAttr, TlDevice,
};

struct Fake {
    name: &'static str,
    kind: DeviceKind,
    devices: &'static [&'static str],
    caps: IfaceCaps,
}

const fn fake(
    name: &'static str,
    kind: DeviceKind,
    devices: &'static [&'static str],
    caps: IfaceCaps,
) -> Fake {
    Fake {
        name,
        kind,
        devices,
        caps,
    }
}

const AM: IfaceCaps = IfaceCaps::AM_BCOPY.union(IfaceCaps::AM_SHORT);

pub static COMPONENTS: &[&dyn Component] = &[
    &fake("self", DeviceKind::Loopback, &["memory"], AM),
    &fake(
        "tcp",
        DeviceKind::Net,
        &["eth0", "lo"],
        AM.union(IfaceCaps::ERR_PEER),
    ),
    &fake("sysv", DeviceKind::Shm, &["memory"], AM),
    &fake("posix", DeviceKind::Shm, &["memory"], AM),
    &fake("cma", DeviceKind::Shm, &["memory"], IfaceCaps::GET_ZCOPY),
];

impl Component for Fake {
    fn name(&self) -> &'static str {
        self.name
    }

    fn query_mds(&self) -> Vec<String> {
        vec![self.name.to_owned()]
    }

    fn open_md(&'static self, _: &str, _: &Config) -> Result<Rc<dyn Md>> {
        Ok(Rc::new(FakeMd(self)))
    }
}

struct FakeMd(&'static Fake);

impl Md for FakeMd {
    fn component(&self) -> &'static dyn Component {
        self.0
    }

    fn name(&self) -> &str {
        self.0.name
    }

    fn attr(&self) -> MdAttr {
        MdAttr::default()
    }

    fn devices(&self) -> Result<Vec<TlDevice>> {
        let Fake {
            name,
            kind,
            devices,
            ..
        } = self.0;
        let device = |dev: &&str| TlDevice {
            tl_name: name,
            dev_name: (*dev).to_owned(),
            kind: *kind,
        };
        Ok(devices.iter().map(device).collect())
    }

    /// Fails for devices that `FAKE_FAIL` lists.
    fn open_iface(
        &self,
        device: &TlDevice,
        config: &Config,
        _: &IfaceParams,
    ) -> Result<Rc<dyn Iface>> {
        let path = format!("{}/{}", device.tl_name, device.dev_name);
        if config
            .get("FAKE_FAIL")
            .is_some_and(|list| list.split(',').any(|name| name == path))
        {
            return Err(Error::NoMemory);
        }
        Ok(Rc::new(FakeIface(attr(self.0.caps))))
    }
}

fn attr(caps: IfaceCaps) -> IfaceAttr {
    IfaceAttr {
        caps,
        max_short: 100,
        max_bcopy: 8256,
        max_zcopy: 0,
        max_zcopy_header: 0,
        max_iov: 1,
        max_rma: usize::MAX,
        device_addr_len: 0,
        iface_addr_len: 0,
        perf: PerfAttr {
            latency: 80e-9,
            overhead: 10e-9,
            bw_shared: 0.0,
            bw_dedicated: 15e9,
            priority: 0,
        },
    }
}

struct FakeIface(IfaceAttr);

impl Iface for FakeIface {
    fn attr(&self) -> &IfaceAttr {
        &self.0
    }

    fn device_address(&self, _: &mut Vec<u8>) {}

    fn iface_address(&self, _: &mut Vec<u8>) {}

    fn reachable(&self, _: &[u8], _: &[u8]) -> core::result::Result<(), String> {
        Ok(())
    }

    fn create_ep(&self, _: &EpParams<'_>) -> Result<Rc<dyn Ep>> {
        Err(Error::Unsupported)
    }

    fn progress(&self, _: &dyn Events) -> usize {
        0
    }
}
