//! The component and its memory domain.

use std::rc::Rc;

use parking_lot::Mutex;

use super::cache::{Limits, Unused};
use super::iface::IpcIface;
use super::key::Key;
use super::names::Named;
use super::{key, names, owner, wire};
use crate::ucs::config::{Config, Ternary};
use crate::ucs::memory::MemoryType;
use crate::ucs::status::{Error, Result};
use crate::uct::cuda::{domains, driver, memtype, why_none};
use crate::uct::iface::{Iface, IfaceParams};
use crate::uct::md::{
    Component, DeviceKind, Md, MdAttr, MemoryTypes, Registration, TlDevice, Unpack, UnpackedKey,
};

/// The component `cuda_ipc`.
pub static CUDA_IPC: IpcComponent = IpcComponent;

/// See [`CUDA_IPC`].
pub struct IpcComponent;

const DEVICE: &str = "cuda";
const CUDA: u64 = MemoryType::CUDA.bit();

impl Component for IpcComponent {
    fn name(&self) -> &'static str {
        "cuda_ipc"
    }

    fn query_mds(&self) -> Vec<String> {
        domains(self.name())
    }

    fn is_present(&self) -> bool {
        driver::get().is_ok()
    }

    fn unavailable(&self) -> String {
        why_none()
    }

    fn unpack(&self, packed: &[u8], how: Unpack) -> Result<Option<Box<dyn UnpackedKey>>> {
        let unused = match how.free_unused {
            true => Unused::Closes,
            false => Unused::Stays,
        };
        let key = Key::read(packed, unused)?;
        let device = key::usable_device(how.sys_device)?;
        if !key.is_accessible(device)? {
            return Err(Error::Unreachable);
        }
        Ok(Some(Box::new(Named::new(key))))
    }

    fn open_md(&'static self, name: &str, config: &Config) -> Result<Rc<dyn Md>> {
        if name != self.name() {
            return Err(Error::NoDevice);
        }
        let (_, mappings) = key::mappings()?;
        if config.ternary("CUDA_IPC_ENABLE_MNNVL") == Ternary::Yes {
            crate::ucs_error!(
                "UCX_CUDA_IPC_ENABLE_MNNVL=y: devices of other machines are not reached"
            );
        }
        memtype::enable();
        memtype::keep_order_here();
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

/// Registered memory: the allocations of it that keys were packed of. They are found then.
#[derive(Default)]
struct Registered(Mutex<Vec<owner::Exported>>);

impl Registration for Registered {
    fn pack(&self, at: usize) -> Result<Vec<u8>> {
        let at = at as u64;
        let (driver, _) = key::mappings()?;
        let mut known = self.0.lock();
        let inside =
            |e: &owner::Exported| e.key.what.offset(at).is_some_and(|o| o < e.key.what.len);
        let index = match known.iter().position(inside) {
            Some(index) => index,
            None => {
                known.push(owner::export(driver, at)?);
                known.len() - 1
            }
        };
        let exported = known.get(index).ok_or(Error::NoElem)?;
        let mut bytes = exported.key.encode();
        bytes.resize(wire::PACKED_LEN, 0);
        Ok(bytes)
    }
}

impl UnpackedKey for Named {
    fn number(&self) -> u64 {
        Named::number(self)
    }

    fn pointer(&self, remote: u64) -> Result<u64> {
        self.key().pointer(remote)
    }
}

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

    fn register(&self, _at: usize, _len: usize) -> Result<Option<Box<dyn Registration>>> {
        Ok(Some(Box::new(Registered::default())))
    }

    fn element(&self, rkey: u64) -> Result<i64> {
        let key = names::find(rkey).ok_or(Error::InvalidParam)?;
        let base = key.wire().what.base;
        Ok(key.pointer(base)?.wrapping_sub(base) as i64)
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
