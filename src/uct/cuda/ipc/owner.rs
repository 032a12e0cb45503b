//! The owner's side: what others need to open memory of this process.

use std::os::fd::{AsRawFd, OwnedFd};

use super::cache::{Allocation, Process};
use super::wire::{Handle, Key};
use crate::sys::hostid::host_ids;
use crate::ucs::status::{Error, Result};
use crate::uct::cuda::context::Owner;
use crate::uct::cuda::driver::{Attributes, BY_DESCRIPTOR, BY_FABRIC, Device, Driver, Place};

/// An allocation that others may open.
pub struct Exported {
    pub key: Key,
    /// What the key's descriptor is, as long as others may ask for it.
    _descriptor: Option<OwnedFd>,
}

/// This process, by its id now: a forked child is another.
pub fn this_process() -> Process {
    Process {
        pid: std::process::id() as i32,
        pid_ns: host_ids().pid_ns as u32,
    }
}

/// Prepares the allocation that the address lies in for others. One that can't be shared gets a key
/// too, which others find to be of no use.
///
/// # Errors
/// `InvalidAddr` for what is no device memory; the driver's.
pub fn export(driver: &'static Driver, at: u64) -> Result<Exported> {
    let memory = driver.look_up(at)?;
    let memory = memory.filter(|memory| memory.place == Place::Device);
    let memory = memory.ok_or(Error::InvalidAddr)?;
    let owner = Owner {
        device: memory.device,
        context: memory.context,
        id: 0,
    };
    let held = owner.hold(driver)?;
    let _current = held.enter(driver)?;
    let range = driver.range(at)?;
    let buffer_id = driver.buffer_id(at)?.ok_or(Error::InvalidAddr)?;
    let (handle, descriptor) = handle(driver, at, &memory)?;
    let key = Key {
        owner: this_process(),
        what: Allocation {
            base: range.base,
            len: range.len as u64,
            buffer_id,
        },
        device: uuid(driver, memory.device)?,
        handle,
    };
    Ok(Exported {
        key,
        _descriptor: descriptor,
    })
}

fn handle(
    driver: &'static Driver,
    at: u64,
    memory: &Attributes,
) -> Result<(Handle, Option<OwnedFd>)> {
    if memory.ipc_capable {
        let handle = driver.handle(at)?.to_bytes();
        return Ok((Handle::Legacy(handle), None));
    }
    if memory.handle_types & BY_FABRIC != 0
        && let Some(handle) = by_fabric(driver, at)?
    {
        return Ok((handle, None));
    }
    if memory.handle_types & BY_DESCRIPTOR != 0
        && let Ok(descriptor) = driver.export_descriptor(at)
    {
        let host = host_ids().boot;
        let fd = descriptor.as_raw_fd();
        return Ok((Handle::Descriptor { host, fd }, Some(descriptor)));
    }
    Ok((Handle::Nothing, None))
}

fn by_fabric(driver: &'static Driver, at: u64) -> Result<Option<Handle>> {
    if let Some((pool, pointer)) = driver.export_pool(at)? {
        return Ok(Some(Handle::Pool { pool, pointer }));
    }
    Ok(driver.export_fabric(at).ok().map(Handle::Fabric))
}

/// The device's UUID, asked once.
pub fn uuid(driver: &'static Driver, device: Device) -> Result<[u8; 16]> {
    let known = uuids(driver)?.iter().find(|(other, _)| *other == device);
    known.map(|(_, uuid)| *uuid).ok_or(Error::NoDevice)
}

/// All devices that this process sees, with their UUIDs.
///
/// # Errors
/// The driver's.
pub fn uuids(driver: &'static Driver) -> Result<&'static [(Device, [u8; 16])]> {
    static UUIDS: std::sync::OnceLock<Vec<(Device, [u8; 16])>> = std::sync::OnceLock::new();
    if let Some(known) = UUIDS.get() {
        return Ok(known);
    }
    let uuid = |device: Device| Ok((device, driver.uuid(device)?));
    let all = driver.devices().map(uuid).collect::<Result<Vec<_>>>()?;
    Ok(UUIDS.get_or_init(|| all))
}
