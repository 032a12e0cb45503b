//! Devices.

use super::Driver;
use crate::ucs::status::Error;

/// A device, by its number in this process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Device(i32);

const PCI_BUS: i32 = 33;
const PCI_SLOT: i32 = 34;
const PCI_DOMAIN: i32 = 50;
const COMPUTE_MAJOR: i32 = 75;

impl Device {
    pub const fn from_ordinal(ordinal: i32) -> Self {
        Self(ordinal)
    }

    /// That of a number which a [`Device`] gave.
    pub const fn of(ordinal: i32) -> Self {
        Self(ordinal)
    }

    pub const fn ordinal(self) -> i32 {
        self.0
    }
}

impl Driver {
    fn number(&self, device: Device, which: i32) -> Result<i32, Error> {
        let mut value = 0;
        // SAFETY: room for the number.
        let code = unsafe { (self.table.device_attribute)(&mut value, which, device.0) };
        self.check("cuDeviceGetAttribute", code)?;
        Ok(value)
    }

    /// PCI domain, bus and slot.
    pub fn bus_id(&self, device: Device) -> Result<(u16, u8, u8), Error> {
        let part = |which| self.number(device, which);
        Ok((
            part(PCI_DOMAIN)? as u16,
            part(PCI_BUS)? as u8,
            part(PCI_SLOT)? as u8,
        ))
    }

    /// Generation of the hardware: the major compute capability.
    pub fn generation(&self, device: Device) -> Result<i32, Error> {
        self.number(device, COMPUTE_MAJOR)
    }

    /// What tells the device from all others, in all processes.
    pub fn uuid(&self, device: Device) -> Result<[u8; 16], Error> {
        let mut id = [0; 16];
        // SAFETY: room for it.
        let code = unsafe { (self.table.device_uuid)(&mut id, device.0) };
        self.check("cuDeviceGetUuid", code)?;
        Ok(id)
    }

    /// Bytes of memory that the device has.
    pub fn total_memory(&self, device: Device) -> Result<usize, Error> {
        let mut total = 0;
        // SAFETY: room for the number.
        let code = unsafe { (self.table.device_total)(&mut total, device.0) };
        self.check("cuDeviceTotalMem", code)?;
        Ok(total)
    }

    /// Whether `device` reaches memory of `peer` directly. A device reaches its own.
    pub fn reaches(&self, device: Device, peer: Device) -> Result<bool, Error> {
        if device == peer {
            return Ok(true);
        }
        let mut yes = 0;
        // SAFETY: room for the answer.
        let code = unsafe { (self.table.device_peer)(&mut yes, device.0, peer.0) };
        self.check("cuDeviceCanAccessPeer", code)?;
        Ok(yes != 0)
    }
}
