//! Shared memory transports: `posix` and `sysv`, two kinds of segments under one receive queue.

mod ep;
#[allow(unsafe_code)]
pub mod fifo;
mod iface;
mod remote;
mod segment;
mod warm;

use std::rc::Rc;

use crate::ucs::config::Config;
use crate::ucs::status::{Error, Result};

use super::iface::{Iface, IfaceParams};
use super::md::{AllocRequest, Component, DeviceKind, Md, MdAttr, Shared, TlDevice};
use super::ops::key;
use super::registry::Transport;
pub use iface::SmIface;
use segment::{Kind, Settings};

impl Transport for SmIface {
    type Ep = ep::SmEp;
}

/// The component `posix`.
pub static POSIX: SmComponent = SmComponent(Kind::Posix);
/// The component `sysv`.
pub static SYSV: SmComponent = SmComponent(Kind::Sysv);

const DEVICE: &str = "memory";

/// See [`POSIX`] and [`SYSV`].
pub struct SmComponent(Kind);

impl Component for SmComponent {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn query_mds(&self) -> Vec<String> {
        vec![self.name().to_owned()]
    }

    fn open_md(&'static self, name: &str, config: &Config) -> Result<Rc<dyn Md>> {
        if name != self.name() {
            return Err(Error::NoDevice);
        }
        let settings = self.0.settings(config);
        Ok(Rc::new(SmMd {
            component: self,
            settings,
        }))
    }

    fn alloc(&self, config: &Config, request: &AllocRequest) -> Result<Option<Shared>> {
        segment::memory::alloc(&self.0.settings(config), request).map(Some)
    }

    fn attach(&self, config: &Config, key: &[u8]) -> Result<Shared> {
        segment::memory::attach(&self.0.settings(config), key)
    }
}

struct SmMd {
    component: &'static SmComponent,
    settings: Settings,
}

impl Md for SmMd {
    fn component(&self) -> &'static dyn Component {
        self.component
    }

    fn name(&self) -> &str {
        self.component.name()
    }

    fn attr(&self) -> MdAttr {
        MdAttr {
            max_alloc: self.settings.max_alloc(),
            rkey_packed_size: key::LEN,
            rkey_ptr: true,
            ..MdAttr::default()
        }
    }

    fn devices(&self) -> Result<Vec<TlDevice>> {
        Ok(vec![TlDevice {
            tl_name: self.component.name(),
            dev_name: DEVICE.to_owned(),
            kind: DeviceKind::Shm,
        }])
    }

    fn open_iface(
        &self,
        device: &TlDevice,
        config: &Config,
        params: &IfaceParams,
    ) -> Result<Rc<dyn Iface>> {
        if device.tl_name != self.component.name() || device.dev_name != DEVICE {
            return Err(Error::NoDevice);
        }
        let kind = self.component.0;
        let iface = iface::SmIface::open(kind, self.settings.clone(), config, params)?;
        Ok(Rc::new(iface))
    }
}

#[cfg(test)]
mod tests;
