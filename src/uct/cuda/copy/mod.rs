//! Transport `cuda_copy`: copies between host memory and devices, and between devices, inside of
//! this process.
#![forbid(unsafe_code)]

pub mod config;
mod ep;
mod iface;
mod lane;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use super::{domains, driver, memory, memtype, why_none};
use crate::ucs::config::Config;
use crate::ucs::memory::MemoryType;
use crate::ucs::status::{Error, Result};
use crate::uct::iface::{Iface, IfaceParams};
use crate::uct::md::{
    Component, Detected, DeviceKind, DeviceMemory, Md, MdAttr, MemoryTypes, TlDevice,
};

pub use iface::CopyIface;

/// The component `cuda_cpy`.
pub static CUDA_COPY: CudaCopyComponent = CudaCopyComponent;

/// See [`CUDA_COPY`].
pub struct CudaCopyComponent;

const TRANSPORT: &str = "cuda_copy";
const DEVICE: &str = "cuda";

impl Component for CudaCopyComponent {
    fn name(&self) -> &'static str {
        "cuda_cpy"
    }

    fn tl_name(&self) -> &'static str {
        TRANSPORT
    }

    /// Nothing without a driver that has devices.
    fn query_mds(&self) -> Vec<String> {
        domains(self.name())
    }

    fn is_present(&self) -> bool {
        driver::get().is_ok()
    }

    fn unavailable(&self) -> String {
        why_none()
    }

    fn open_md(&'static self, name: &str, _: &Config) -> Result<Rc<dyn Md>> {
        if name != self.name() || driver::get().is_err() {
            return Err(Error::NoDevice);
        }
        memtype::enable();
        Ok(Rc::new(CudaCopyMd))
    }
}

struct CudaCopyMd;

const HOST: u64 = MemoryType::HOST.bit();
const CUDA: u64 = MemoryType::CUDA.bit();
const MANAGED: u64 = MemoryType::CUDA_MANAGED.bit();

impl Md for CudaCopyMd {
    fn component(&self) -> &'static dyn Component {
        &CUDA_COPY
    }

    fn name(&self) -> &str {
        CUDA_COPY.name()
    }

    fn attr(&self) -> MdAttr {
        MdAttr {
            max_alloc: usize::MAX,
            max_reg: usize::MAX,
            types: Some(MemoryTypes {
                access: HOST | CUDA | MANAGED,
                alloc: CUDA | MANAGED,
                reg: HOST | CUDA | MANAGED,
                cache: MANAGED,
                detect: CUDA | MANAGED,
            }),
            ..MdAttr::default()
        }
    }

    fn detect(&self, at: usize) -> Result<Detected> {
        let known = memtype::detect(at)?.ok_or(Error::InvalidAddr)?;
        Ok(Detected {
            kind: known.kind,
            base: known.base,
            len: known.len,
        })
    }

    fn allocate(&self, kind: MemoryType, len: usize) -> Result<Box<dyn DeviceMemory>> {
        Ok(Box::new(memory::allocate(kind, len)?))
    }

    fn devices(&self) -> Result<Vec<TlDevice>> {
        Ok(vec![TlDevice {
            tl_name: TRANSPORT,
            dev_name: DEVICE.to_owned(),
            kind: DeviceKind::Acc,
        }])
    }

    fn open_iface(
        &self,
        device: &TlDevice,
        config: &Config,
        _: &IfaceParams,
    ) -> Result<Rc<dyn Iface>> {
        if device.tl_name != TRANSPORT || device.dev_name != DEVICE {
            return Err(Error::NoDevice);
        }
        Ok(Rc::new(iface::CopyIface::open(config)?))
    }
}
