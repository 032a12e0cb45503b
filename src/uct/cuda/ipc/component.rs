//! The component and its memory domain.

use std::rc::Rc;

use super::cache::Limits;
use super::iface::IpcIface;
use super::{key, wire};
use crate::ucs::config::Config;
use crate::ucs::status::{Error, Result};
use crate::uct::cuda::driver;
use crate::uct::iface::{Iface, IfaceParams};
use crate::uct::md::{Component, DeviceKind, Md, MdAttr, MemoryTypes, TlDevice};

/// The component `cuda_ipc`.
pub static CUDA_IPC: IpcComponent = IpcComponent;

/// See [`CUDA_IPC`].
pub struct IpcComponent;

const DEVICE: &str = "cuda";
/// `1 << UCS_MEMORY_TYPE_CUDA`
const CUDA: u64 = 1 << 1;

impl Component for IpcComponent {
    fn name(&self) -> &'static str {
        "cuda_ipc"
    }

    fn query_mds(&self) -> Vec<String> {
        match driver::get() {
            Ok(_) => vec![self.name().to_owned()],
            Err(_) => Vec::new(),
        }
    }

    fn unavailable(&self) -> String {
        match driver::get() {
            Ok(_) => "it was not available a moment ago".to_owned(),
            Err(missing) => missing.to_string(),
        }
    }

    fn open_md(&'static self, name: &str, config: &Config) -> Result<Rc<dyn Md>> {
        if name != self.name() {
            return Err(Error::NoDevice);
        }
        let (_, mappings) = key::mappings()?;
        mappings.limit(Limits {
            regions: config
                .count("CUDA_IPC_CACHE_MAX_REGIONS")
                .map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX)),
            bytes: config.size("CUDA_IPC_CACHE_MAX_SIZE") as u64,
        });
        Ok(Rc::new(IpcMd))
    }
}

struct IpcMd;

impl Md for IpcMd {
    fn component(&self) -> &'static dyn Component {
        &CUDA_IPC
    }

    fn name(&self) -> &str {
        CUDA_IPC.name()
    }

    fn attr(&self) -> MdAttr {
        MdAttr {
            max_reg: usize::MAX,
            rkey_packed_size: wire::PACKED_LEN,
            types: Some(MemoryTypes {
                reg: CUDA,
                access: CUDA,
                cache: CUDA,
                ..MemoryTypes::default()
            }),
            invalidates: true,
            ..MdAttr::default()
        }
    }

    fn devices(&self) -> Result<Vec<TlDevice>> {
        Ok(vec![TlDevice {
            tl_name: CUDA_IPC.name(),
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
        if device.tl_name != CUDA_IPC.name() || device.dev_name != DEVICE {
            return Err(Error::NoDevice);
        }
        Ok(Rc::new(IpcIface::open(config)?))
    }
}
