//! Opening the interfaces of a worker.

use std::rc::Rc;

use crate::ucs::status::{Error, Result};
use crate::uct::{DeviceKind, Iface, IfaceParams, Md, fault};

use super::{Context, RscIndex};

/// An interface and the resource it was opened on.
pub struct OpenIface {
    pub rsc_index: RscIndex,
    pub iface: Rc<dyn Iface>,
    /// Its address, as peers get it.
    pub device_addr: Box<[u8]>,
}

/// What a worker owns of the transports.
pub struct OpenIfaces {
    /// By index of [`Context::mds`]; `None` where opening failed.
    pub mds: Vec<Option<Rc<dyn Md>>>,
    /// In the order of [`Context::resources`], without those that failed.
    pub ifaces: Vec<OpenIface>,
}

impl Context {
    /// Opens the memory domains and one interface for each resource. What can't be opened is
    /// left out with a message.
    ///
    /// # Errors
    /// The first failure, if nothing is left that could carry messages.
    pub fn open_ifaces(&self, params: &IfaceParams) -> Result<OpenIfaces> {
        let mds: Vec<_> = (0..self.mds.len())
            .map(|index| self.open_md(index))
            .collect();
        let mut ifaces = Vec::with_capacity(self.resources.len());
        let mut first_error = None;
        for (index, resource) in self.resources.iter().enumerate() {
            // It leads nowhere: what it is for is in its memory domain.
            if resource.kind() == DeviceKind::Acc {
                continue;
            }
            let Some(Some(md)) = mds.get(usize::from(resource.md_index)) else {
                first_error.get_or_insert(Error::NoDevice);
                continue;
            };
            match md.open_iface(&resource.device, &self.config, params) {
                Ok(iface) => {
                    let (tl, dev) = (resource.tl_name(), resource.dev_name());
                    let mut device_addr = Vec::new();
                    iface.device_address(&mut device_addr);
                    ifaces.push(OpenIface {
                        device_addr: device_addr.into(),
                        rsc_index: index as RscIndex,
                        iface: fault::wrap(iface, &self.config, tl, dev),
                    });
                }
                // What the user allows is used up, as a range of ports. A worker without this
                // transport would be one that peers can't reach.
                Err(Error::Busy) => return Err(Error::Busy),
                // Settings that can't be: they are to be mended, not to be done without.
                Err(Error::InvalidParam) => return Err(Error::InvalidParam),
                Err(error) => {
                    let (tl, dev) = (resource.tl_name(), resource.dev_name());
                    // The transport has said what failed, if that is worth a line.
                    crate::ucs_diag!("{tl}/{dev} is not used: failed to open it: {error}");
                    first_error.get_or_insert(error);
                }
            }
        }
        let usable = |open: &OpenIface| {
            self.resources
                .get(usize::from(open.rsc_index))
                .is_some_and(|rsc| !rsc.aux)
        };
        if ifaces.iter().any(usable) {
            return Ok(OpenIfaces { mds, ifaces });
        }
        let error = first_error.unwrap_or(Error::NoDevice);
        crate::ucs_error!("no transport of {} could be opened: {error}", self.name);
        Err(error)
    }

    fn open_md(&self, index: usize) -> Option<Rc<dyn Md>> {
        let md = self.mds.get(index)?;
        let component = self.component_of(index as u8)?;
        match component.open_md(&md.name, &self.config) {
            Ok(md) => Some(md),
            Err(error) => {
                crate::ucs_diag!("failed to open memory domain {}: {error}", md.name);
                None
            }
        }
    }
}
