//! The CUDA driver, loaded when first asked for: nothing here is linked, and where there is no
//! driver or no device, [`get`] says so and nothing more happens.
//!
//! All calls go through a typed table of the functions that we use ([`table`]); failures come back
//! as [`Error`]. Handles are types of their own, so that a stream can't be taken for an event, and
//! what must be given back is given back when dropped.

mod context;
mod device;
mod error;
mod ipc;
mod memory;
mod nvml;
mod order;
mod pool;
mod share;
mod stream;
mod table;
#[cfg(test)]
mod tests;

pub use context::{Context, Primary, Pushed};
pub use device::Device;
pub use ipc::{MemHandle, Opened};
pub use memory::{Attributes, Place, Range};
pub use nvml::has_links;
pub use pool::{Borrowed, Pool, PoolPointer};
pub use share::{BY_DESCRIPTOR, BY_FABRIC, Fabric, Mapped};
pub use stream::{Event, Stream};

use crate::ucs::status::Error;
use std::sync::OnceLock;
use table::Table;

/// The driver, initialised, with at least one device.
#[derive(Debug)]
pub struct Driver {
    table: Table,
    devices: i32,
    set_flags: Option<table::SetFlags>,
}

/// Why there is no driver to use; for `ucx_info` and logs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Missing {
    /// The library can't be loaded.
    Library,
    /// It lacks a function, by its name: too old, or no driver at all.
    Function(&'static str),
    /// It doesn't initialise: the driver's own code.
    Init(i32),
    NoDevice,
}

impl core::fmt::Display for Missing {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Missing::Library => f.write_str("libcuda.so.1 can't be loaded"),
            Missing::Function(name) => write!(f, "the CUDA driver lacks {name}"),
            Missing::Init(code) => write!(f, "the CUDA driver doesn't start (error {code})"),
            Missing::NoDevice => f.write_str("there is no CUDA device"),
        }
    }
}

/// The driver of this process, or why there is none. The first call loads it.
pub fn get() -> Result<&'static Driver, &'static Missing> {
    static DRIVER: OnceLock<Result<Driver, Missing>> = OnceLock::new();
    DRIVER.get_or_init(Driver::load).as_ref()
}

impl Driver {
    fn load() -> Result<Self, Missing> {
        let table = Table::load()?;
        // SAFETY: no pointers.
        error::raw(unsafe { (table.init)(0) }).map_err(Missing::Init)?;
        let mut devices = 0;
        // SAFETY: room for the number.
        error::raw(unsafe { (table.device_count)(&mut devices) }).map_err(Missing::Init)?;
        if devices > 0 {
            Ok(Self {
                table,
                devices,
                set_flags: table::set_flags(),
            })
        } else {
            Err(Missing::NoDevice)
        }
    }

    /// The devices, in the driver's order.
    pub fn devices(&self) -> impl Iterator<Item = Device> + use<> {
        (0..self.devices).map(Device::from_ordinal)
    }

    /// Gives something back by `give`: what fails is tried again, since it would be lost.
    fn give_back(&self, what: &str, give: impl Fn() -> i32) {
        if self.check(what, give()).is_err() {
            let _ = self.check(what, give());
        }
    }

    /// A driver's answer as ours; what was called goes into the log with an error.
    fn check(&self, what: &str, code: i32) -> Result<(), Error> {
        error::check(&self.table, what, code)
    }
}
