//! Keys of other processes' memory, unpacked here.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::cache::{Cache, Interest, Pin, Place, Unused};
use super::opener::Ours;
use super::{owner, wire};
use crate::ucs::status::{Error, Result};
use crate::ucs::topo;
use crate::uct::cuda::driver::{self, Device, Driver};

/// The mappings of this process.
pub type Mappings = Arc<Cache<Ours>>;

/// The cache that all keys, interfaces and workers share; with the driver that it opens by.
///
/// # Errors
/// `NoDevice` where there is no driver.
pub fn mappings() -> Result<(&'static Driver, &'static Mappings)> {
    static MAPPINGS: OnceLock<Mappings> = OnceLock::new();
    let driver = driver::get().map_err(|_| Error::NoDevice)?;
    let mappings = MAPPINGS.get_or_init(|| Cache::new(Ours::new(driver)));
    Ok((driver, mappings))
}

/// The device that keys are likely to be used from: that which the topology names, if it names one,
/// else the current one, or any that the program has made active.
///
/// # Errors
/// `Unreachable` if there is none that is active.
pub fn usable_device(sys_device: Option<u8>) -> Result<Device> {
    let (driver, _) = mappings()?;
    let current = driver.current_device()?;
    let active = |device: &Device| driver.primary(*device).is_ok_and(|found| found.is_some());
    if let Some(named) = sys_device.and_then(|number| named(driver, number)) {
        let usable = current == Some(named) || active(&named);
        return usable.then_some(named).ok_or(Error::Unreachable);
    }
    let active = || driver.devices().find(active);
    current.or_else(active).ok_or(Error::Unreachable)
}

/// The device of a number in the topology.
fn named(driver: &Driver, number: u8) -> Option<Device> {
    let place = topo::bus_id(number).ok()?;
    let place = Ok((place.domain, place.bus, place.slot));
    driver
        .devices()
        .find(|device| driver.bus_id(*device) == place)
}

/// An address here, and what keeps it mapped.
#[derive(Debug)]
pub enum Access {
    /// Memory of our own.
    Own(u64),
    Mapped(u64, Pin<Ours>),
}

impl Access {
    pub const fn address(&self) -> u64 {
        match self {
            Access::Own(address) | Access::Mapped(address, _) => *address,
        }
    }
}

#[derive(Default)]
struct Held {
    interests: Vec<Interest<Ours>>,
    /// Addresses that the key's user has, by device: good until the key is destroyed.
    given: Vec<(Device, Access)>,
}

/// A key, as long as anybody uses it.
pub struct Key {
    wire: wire::Key,
    unused: Unused,
    held: Mutex<Held>,
}

impl Key {
    /// Reads a key; nothing is mapped. With [`Unused::Closes`] the mapping goes with the key, unless
    /// others hold it.
    ///
    /// # Errors
    /// `InvalidParam` for what is no key.
    pub fn read(bytes: &[u8], unused: Unused) -> Result<Key> {
        let wire = wire::Key::decode(bytes).ok_or(Error::InvalidParam)?;
        Ok(Key {
            wire,
            unused,
            held: Mutex::default(),
        })
    }

    pub const fn wire(&self) -> &wire::Key {
        &self.wire
    }

    fn is_own(&self) -> bool {
        self.wire.owner == owner::this_process()
    }

    /// The `len` bytes at the owner's address `remote`, for use by our device. `unused`: whether
    /// the mapping outlives its use.
    ///
    /// # Errors
    /// `InvalidAddr` outside of the allocation, `Unreachable` where the device can't get there.
    pub fn map(&self, device: Device, remote: u64, len: usize, unused: Unused) -> Result<Access> {
        self.map_for(&mut self.held.lock().interests, device, remote, len, unused)
    }

    fn map_for(
        &self,
        interests: &mut Vec<Interest<Ours>>,
        device: Device,
        remote: u64,
        len: usize,
        unused: Unused,
    ) -> Result<Access> {
        let what = &self.wire.what;
        let offset = what.offset(remote).ok_or(Error::InvalidAddr)?;
        if offset.saturating_add(len as u64) > what.len {
            return Err(Error::InvalidAddr);
        }
        let (driver, mappings) = mappings()?;
        if self.is_own() && owner::uuid(driver, device)? == self.wire.device {
            return Ok(Access::Own(remote));
        }
        let place = Place {
            process: self.wire.owner,
            device: device.ordinal(),
        };
        // A cache that is off keeps nothing for keys either.
        let interests = (unused == Unused::Stays).then_some(interests);
        let pin = mappings.map(place, what, &self.wire.handle, interests, unused)?;
        Ok(Access::Mapped(pin.address() + offset, pin))
    }

    /// Where the owner's address `remote` is for the current device, until the key is destroyed.
    ///
    /// # Errors
    /// `NoDevice` if no device is current; as for [`Key::map`].
    pub fn pointer(&self, remote: u64) -> Result<u64> {
        let (driver, _) = mappings()?;
        let device = driver.current_device()?.ok_or(Error::NoDevice)?;
        let base = self.wire.what.base;
        let offset = self.wire.what.offset(remote).ok_or(Error::InvalidAddr)?;
        let mut held = self.held.lock();
        if let Some((_, access)) = held.given.iter().find(|(other, _)| *other == device) {
            return Ok(access.address() + offset);
        }
        let access = self.map_for(&mut held.interests, device, base, 0, Unused::Stays)?;
        let address = access.address() + offset;
        held.given.push((device, access));
        Ok(address)
    }

    /// Whether our device can get at the memory. The answer is remembered for all keys of that
    /// device; where the owner's device is hidden from us, the first asks by mapping.
    ///
    /// # Errors
    /// The driver's, if it has no answer for now.
    pub fn is_accessible(&self, device: Device) -> Result<bool> {
        type Question = ([u8; 16], u8, bool, i32);
        static KNOWN: Mutex<Option<HashMap<Question, bool>>> = Mutex::new(None);
        let kind = self.wire.handle.kind();
        let question = (self.wire.device, kind, self.is_own(), device.ordinal());
        let mut known = KNOWN.lock();
        let known = known.get_or_insert_default();
        if let Some(answer) = known.get(&question) {
            return Ok(*answer);
        }
        let answer = self.find_out(device)?;
        known.insert(question, answer);
        Ok(answer)
    }

    fn find_out(&self, device: Device) -> Result<bool> {
        if self.wire.handle == wire::Handle::Nothing {
            return Ok(false);
        }
        let (driver, _) = mappings()?;
        let visible = owner::uuids(driver)?;
        let peer = visible.iter().find(|(_, uuid)| *uuid == self.wire.device);
        match peer {
            Some((peer, _)) => driver.reaches(device, *peer),
            None => match self.map(device, self.wire.what.base, 0, Unused::Stays) {
                Ok(_) => Ok(true),
                Err(Error::Unreachable | Error::Unsupported | Error::InvalidParam) => Ok(false),
                Err(error) => Err(error),
            },
        }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        let held = core::mem::take(self.held.get_mut());
        drop(held.given);
        for interest in held.interests {
            interest.release(self.unused);
        }
    }
}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Key({:x?}, unused {:?})", self.wire.what, self.unused)
    }
}
