//! TCP: one interface per network device, one connection per pair of endpoints.
//!
//! | file | what |
//! |---|---|
//! | `wire` | greetings and frames |
//! | `addr`, `reach` | addresses, and who can reach whom |
//! | `iface`, `listener` | the interface, its progress, incoming connections |
//! | `slab`, `table` | connections by the key of their events, and by their peers |
//! | `connect`, `conn` | connecting; the state of a connection |
//! | `ep`, `send`, `tx` | sending, closing |
//! | `rx` | receiving |
//! | `link` | whether a connection still leads anywhere |
//! | `put` | which puts the peer has written |
//! | `shutdown` | the end of an interface |
//!
//! Nothing here waits, but for `shutdown`, within a bound. A message is handed to the kernel when
//! it is posted, so that it arrives whatever the application does next; only what a full socket
//! doesn't take is kept and sent by `progress`.

mod addr;
pub mod cm;
mod config;
mod conn;
mod connect;
mod device;
mod ep;
mod iface;
#[allow(unsafe_code)]
mod io;
mod link;
mod listener;
mod put;
mod reach;
mod rx;
mod send;
mod shutdown;
mod slab;
mod table;
mod tx;
mod wire;

#[cfg(test)]
mod tests;

use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;

use crate::ucs::config::Config;
use crate::ucs::status::{Error, Result};
use crate::uct::registry::Transport;
use crate::uct::{Component, DeviceKind, Iface, IfaceParams, Md, MdAttr, TlDevice};

use config::{MdConfig, TcpConfig};
pub use iface::TcpIface;
use iface::{Open, Shared};

impl Transport for TcpIface {
    type Ep = ep::TcpEp;
}

const NAME: &str = "tcp";

/// Something different at each call.
fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// The component.
pub struct Tcp;

pub static TCP: Tcp = Tcp;

impl Component for Tcp {
    fn name(&self) -> &'static str {
        NAME
    }

    fn query_mds(&self) -> Vec<String> {
        vec![NAME.to_owned()]
    }

    fn open_md(&'static self, name: &str, config: &Config) -> Result<Rc<dyn Md>> {
        if name != NAME {
            return Err(Error::NoDevice);
        }
        Ok(Rc::new(TcpMd {
            config: MdConfig::read(config)?,
        }))
    }
}

struct TcpMd {
    config: MdConfig,
}

impl Md for TcpMd {
    fn component(&self) -> &'static dyn Component {
        &TCP
    }

    fn name(&self) -> &str {
        NAME
    }

    fn attr(&self) -> MdAttr {
        MdAttr::default()
    }

    fn devices(&self) -> Result<Vec<TlDevice>> {
        let devices = device::list(&self.config)?;
        Ok(devices
            .into_iter()
            .map(|device| TlDevice {
                tl_name: NAME,
                dev_name: device.name,
                kind: DeviceKind::Net,
            })
            .collect())
    }

    fn open_iface(
        &self,
        device: &TlDevice,
        config: &Config,
        params: &IfaceParams,
    ) -> Result<Rc<dyn Iface>> {
        Ok(Rc::new(self.open_tcp(device, config, params)?))
    }
}

impl TcpMd {
    fn open_tcp(
        &self,
        device: &TlDevice,
        config: &Config,
        params: &IfaceParams,
    ) -> Result<TcpIface> {
        let config = TcpConfig::read(config)?;
        let device = device::list(&self.config)?
            .into_iter()
            .find(|found| found.name == device.dev_name)
            .ok_or(Error::NoDevice)?;
        let attr = device::attr(&device, &config, params);
        let shared = Shared::open(Open {
            device,
            config,
            attr,
            params: params.clone(),
        })?;
        Ok(TcpIface { shared })
    }
}
