//! Transport `cma`: reads and writes another process's memory through the kernel.

mod ep;
mod iface;
mod lessor;
mod queue;
mod share;

use std::rc::Rc;

use crate::sys::vmcopy;
use crate::ucs::config::Config;
use crate::ucs::status::{Error, Result};
use crate::uct::iface::{Iface, IfaceParams};
use crate::uct::md::{Component, DeviceKind, Md, MdAttr, TlDevice};
use crate::uct::registry::Transport;

pub use iface::CmaIface;

impl Transport for CmaIface {
    type Ep = ep::CmaEp;
}

/// The component `cma`.
pub static CMA: CmaComponent = CmaComponent;

/// See [`CMA`].
pub struct CmaComponent;

const DEVICE: &str = "memory";

impl Component for CmaComponent {
    fn name(&self) -> &'static str {
        "cma"
    }

    /// Nothing where the kernel (or a seccomp filter) doesn't let us, tried on ourselves.
    fn query_mds(&self) -> Vec<String> {
        match vmcopy::probe(std::process::id()) {
            Ok(()) => vec![self.name().to_owned()],
            Err(error) => {
                crate::ucs_diag!("cma is not available: {error}");
                Vec::new()
            }
        }
    }

    fn unavailable(&self) -> String {
        match vmcopy::probe(std::process::id()) {
            Ok(()) => "it was not available a moment ago".to_owned(),
            Err(error) => format!("the kernel refuses: {error}"),
        }
    }

    fn open_md(&'static self, name: &str, _: &Config) -> Result<Rc<dyn Md>> {
        if name != self.name() {
            return Err(Error::NoDevice);
        }
        Ok(Rc::new(CmaMd))
    }
}

struct CmaMd;

impl Md for CmaMd {
    fn component(&self) -> &'static dyn Component {
        &CMA
    }

    fn name(&self) -> &str {
        CMA.name()
    }

    fn attr(&self) -> MdAttr {
        MdAttr::default()
    }

    fn devices(&self) -> Result<Vec<TlDevice>> {
        Ok(vec![TlDevice {
            tl_name: CMA.name(),
            dev_name: DEVICE.to_owned(),
            kind: DeviceKind::Shm,
        }])
    }

    fn open_iface(
        &self,
        device: &TlDevice,
        config: &Config,
        _: &IfaceParams,
    ) -> Result<Rc<dyn Iface>> {
        if device.tl_name != CMA.name() || device.dev_name != DEVICE {
            return Err(Error::NoDevice);
        }
        Ok(Rc::new(CmaIface::open(config)))
    }
}

#[cfg(test)]
crate::uct::conformance::suite!(tests, &crate::uct::scopy::cma::CMA, "memory", &[]);
#[cfg(test)]
crate::uct::conformance::suite!(
    small_steps,
    &crate::uct::scopy::cma::CMA,
    "memory",
    &[("CMA_SEG_SIZE", "1000"), ("CMA_MAX_IOV", "3")]
);
