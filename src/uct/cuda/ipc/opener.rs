//! Opens memory of other processes through the driver.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::cache::{Allocation, Opener, Place};
use super::wire::Handle;
use crate::sys::hostid::host_ids;
use crate::sys::pidfd;
use crate::ucm::device::of_size;
use crate::ucs::status::{Error, Result};
use crate::uct::cuda::driver::{
    Borrowed, Device, Driver, Fabric, Mapped, MemHandle, Opened, Pool, PoolPointer,
};

/// The driver, as the cache needs it.
pub struct Ours {
    driver: &'static Driver,
    /// Pools that something is open in. Those of one fabric handle are one.
    pools: Mutex<HashMap<Fabric, Weak<Pool>>>,
    /// Numbers of the devices' primary contexts, when they were last used.
    primaries: Mutex<HashMap<i32, u64>>,
}

/// Something open. The order of a pool's parts is that in which they are closed.
pub enum Open {
    Legacy(Opened<'static>),
    Mapped(Mapped<'static>),
    InPool(Borrowed, #[allow(dead_code)] Arc<Pool>),
}

impl Ours {
    pub fn new(driver: &'static Driver) -> Ours {
        Ours {
            driver,
            pools: Mutex::default(),
            primaries: Mutex::default(),
        }
    }

    /// In the device's primary context, which outlives those that programs create.
    fn legacy(&self, device: Device, handle: [u8; 64], len: usize) -> Result<Open> {
        let handle = MemHandle::from_bytes(handle);
        let open = || of_size(len, || self.driver.open(handle)).map(Open::Legacy);
        if self.is_in_primary(device)? {
            return open();
        }
        let primary = self.driver.retain(device)?;
        let _here = self.driver.push(primary.context)?;
        let opened = open()?;
        if let Some(id) = self.driver.current_id()? {
            self.primaries.lock().insert(device.ordinal(), id);
        }
        Ok(opened)
    }

    /// Whether that is current already, as far as is known: numbers of contexts are used once.
    fn is_in_primary(&self, device: Device) -> Result<bool> {
        let known = self.primaries.lock().get(&device.ordinal()).copied();
        match known {
            Some(known) => Ok(self.driver.current_id()? == Some(known)),
            None => Ok(false),
        }
    }

    fn descriptor(&self, place: Place, fd: i32, len: usize) -> Result<Mapped<'static>> {
        if place.process.pid_ns != super::owner::this_process().pid_ns {
            return Err(Error::Unreachable);
        }
        let fd = pidfd::descriptor_of(place.process.pid, fd).map_err(|error| {
            crate::ucs_debug!("cuda_ipc: process {}: {error}", place.process.pid);
            Error::Unreachable
        })?;
        self.driver
            .map_descriptor(fd.as_fd(), len, Device::of(place.device))
    }

    fn in_pool(&self, device: Device, fabric: Fabric, pointer: PoolPointer) -> Result<Open> {
        let pool = self.pool(fabric, device)?;
        Ok(Open::InPool(pool.pointer(pointer)?, pool))
    }

    fn pool(&self, fabric: Fabric, device: Device) -> Result<Arc<Pool>> {
        let mut pools = self.pools.lock();
        if let Some(pool) = pools.get(&fabric).and_then(Weak::upgrade) {
            pool.allow(device)?;
            return Ok(pool);
        }
        let pool = Arc::new(self.driver.import_pool(fabric, device)?);
        pools.retain(|_, pool| pool.strong_count() > 0);
        pools.insert(fabric, Arc::downgrade(&pool));
        Ok(pool)
    }

    /// What was opened in a context that is gone went with it.
    fn close_legacy(&self, device: Device, opened: &mut Opened<'static>) -> Result<()> {
        if self.is_in_primary(device)? {
            return opened.end();
        }
        match self.driver.primary(device)? {
            Some(primary) => {
                let _here = self.driver.push(primary.context)?;
                opened.end()
            }
            None => {
                opened.gone();
                Ok(())
            }
        }
    }
}

impl Opener for Ours {
    type Handle = Handle;
    type Open = Open;

    fn open(&self, place: Place, what: &Allocation, handle: &Handle) -> Result<Open> {
        let device = Device::of(place.device);
        let len = usize::try_from(what.len).map_err(|_| Error::InvalidParam)?;
        match *handle {
            Handle::Nothing => Err(Error::Unreachable),
            Handle::Legacy(bytes) => self.legacy(device, bytes, len),
            Handle::Fabric(bytes) => self.driver.map_fabric(bytes, len, device).map(Open::Mapped),
            Handle::Pool { pool, pointer } => self.in_pool(device, pool, pointer),
            Handle::Descriptor { host, fd } if host == host_ids().boot => {
                self.descriptor(place, fd, len).map(Open::Mapped)
            }
            Handle::Descriptor { .. } => Err(Error::Unreachable),
        }
    }

    fn address(&self, open: &Open) -> u64 {
        match open {
            Open::Legacy(opened) => opened.address(),
            Open::Mapped(mapped) => mapped.address(),
            Open::InPool(borrowed, _) => borrowed.address(),
        }
    }

    fn close(&self, place: Place, what: &Allocation, open: Open) {
        crate::ucs_trace!("cuda_ipc: {what:x?} of {:?} is closed", place.process);
        if let Open::Legacy(mut opened) = open {
            let device = Device::of(place.device);
            // Once more, since it would be lost.
            let closed = self.close_legacy(device, &mut opened);
            let _ = closed.or_else(|_| self.close_legacy(device, &mut opened));
        }
    }
}
