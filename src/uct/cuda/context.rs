//! Which context a call is made in.

use super::driver::{Context, Device, Driver, Primary, Pushed};
use crate::ucs::status::{Error, Result};

/// Where memory is: its device, and the context that it was allocated in (`None` for memory of
/// pools and of mappings, which has none).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owner {
    pub device: Device,
    pub context: Option<Context>,
    /// The context's number ([`Driver::context_id`]), 0 without one.
    pub id: u64,
}

/// A context to make calls in; a primary one stays active as long as this.
#[derive(Debug)]
pub struct Held {
    pub context: Context,
    _primary: Option<Primary<'static>>,
}

impl Owner {
    /// The context for this memory: its own, or the primary one of its device.
    pub fn hold(&self, driver: &'static Driver) -> Result<Held> {
        if let Some(context) = self.context {
            return Ok(Held {
                context,
                _primary: None,
            });
        }
        Held::primary(driver, self.device)
    }
}

impl Held {
    /// The primary context of a device.
    pub fn primary(driver: &'static Driver, device: Device) -> Result<Held> {
        let primary = driver.retain(device)?;
        Ok(Held {
            context: primary.context,
            _primary: Some(primary),
        })
    }

    /// The context that is current, or else the primary context of the first device that has an
    /// active one.
    pub fn active(driver: &'static Driver) -> Result<Option<Held>> {
        if let Some(context) = driver.current()? {
            return Ok(Some(Held {
                context,
                _primary: None,
            }));
        }
        for device in driver.devices() {
            if let Some(primary) = driver.primary(device)? {
                return Ok(Some(Held {
                    context: primary.context,
                    _primary: Some(primary),
                }));
            }
        }
        Ok(None)
    }

    /// The same, or else the primary context of the first device.
    pub fn any(driver: &'static Driver) -> Result<Held> {
        if let Some(held) = Held::active(driver)? {
            return Ok(held);
        }
        let first = driver.devices().next().ok_or(Error::NoDevice)?;
        Held::primary(driver, first)
    }

    /// Makes it current for as long as the result lives, if it isn't.
    pub fn enter(&self, driver: &'static Driver) -> Result<Option<Pushed<'static>>> {
        if driver.current()? == Some(self.context) {
            return Ok(None);
        }
        driver.push(self.context).map(Some)
    }
}
