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
use crate::ucs::config::{Config, Ternary};
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

    fn open_md(&'static self, name: &str, config: &Config) -> Result<Rc<dyn Md>> {
        if name != self.name() || driver::get().is_err() {
            return Err(Error::NoDevice);
        }
        memtype::enable();
        memtype::keep_order_here();
        Ok(Rc::new(CudaCopyMd::new(config)))
    }
}

struct CudaCopyMd {
    /// Registrations are of whole allocations; `Auto`: of those that are not larger than `ratio` of
    /// their device's memory.
    whole: Ternary,
    ratio: f64,
    /// Memory of pools is told to be managed.
    pools_are_managed: bool,
    /// A context is made active to allocate in it.
    retains: bool,
}

impl CudaCopyMd {
    fn new(config: &Config) -> CudaCopyMd {
        CudaCopyMd {
            whole: config.ternary("CUDA_COPY_REG_WHOLE_ALLOC"),
            ratio: config.double("CUDA_COPY_MAX_REG_RATIO"),
            pools_are_managed: pools_are_managed(config),
            retains: config.bool_("CUDA_COPY_RETAIN_PRIMARY_CTX"),
        }
    }

    /// Whether all of an allocation is worth being registered.
    fn is_for_whole(&self, known: &memtype::Known) -> Result<bool> {
        Ok(match self.whole {
            Ternary::No => false,
            Ternary::Yes => true,
            Ternary::Auto | Ternary::Try => {
                let driver = driver::get().map_err(|_| Error::NoDevice)?;
                let total = driver.total_memory(known.owner.device)?;
                known.len as f64 <= total as f64 * self.ratio
            }
        })
    }
}

fn pools_are_managed(config: &Config) -> bool {
    config.choice("CUDA_COPY_ASYNC_MEM_TYPE") == "cuda-managed"
}

/// Whether it was allocated from a pool, in the order of a stream.
fn is_of_pool(known: &memtype::Known) -> bool {
    let mapped = || driver::get().is_ok_and(|driver| driver.is_mapped(known.base as u64));
    known.kind == MemoryType::CUDA && known.owner.context.is_none() && !mapped()
}

/// Of which type users are told that memory is: UCX takes that of pools for managed, unless
/// `UCX_CUDA_COPY_ASYNC_MEM_TYPE` says otherwise.
pub fn told(config: &Config, known: &memtype::Known) -> MemoryType {
    match pools_are_managed(config) && is_of_pool(known) {
        true => MemoryType::CUDA_MANAGED,
        false => known.kind,
    }
}

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

    fn detect(&self, at: usize, len: usize) -> Result<Detected> {
        let known = memtype::detect(at)?.ok_or(Error::InvalidAddr)?;
        // Managed memory has no extent that a driver tells of.
        let whole = known.kind == MemoryType::CUDA && self.is_for_whole(&known)?;
        let kind = match self.pools_are_managed && is_of_pool(&known) {
            true => MemoryType::CUDA_MANAGED,
            false => known.kind,
        };
        let (base, len) = if whole {
            (known.base, known.len)
        } else {
            (at, len)
        };
        Ok(Detected { kind, base, len })
    }

    fn allocate(&self, kind: MemoryType, len: usize) -> Result<Box<dyn DeviceMemory>> {
        Ok(Box::new(memory::allocate(kind, len, self.retains)?))
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
