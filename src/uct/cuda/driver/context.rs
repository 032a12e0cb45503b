//! Contexts. We make none: we use primary contexts that the program made active, and whatever is
//! current stays current.

use super::table::Opaque;
use super::{Device, Driver, error};
use crate::ucs::status::Error;

/// A context of the driver. It may be gone: calls then fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Context(Opaque);

/// A primary context, held until dropped.
#[derive(Debug)]
pub struct Primary<'a> {
    driver: &'a Driver,
    device: Device,
    pub context: Context,
}

/// A context that is current in this thread until this is dropped.
#[derive(Debug)]
pub struct Pushed<'a> {
    driver: &'a Driver,
    /// Not sent to other threads: each has its own stack.
    _here: core::marker::PhantomData<*mut ()>,
}

// SAFETY: a name that the driver looks up, in whatever thread.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    pub(super) fn from_raw(raw: Opaque) -> Option<Self> {
        if raw.is_null() { None } else { Some(Self(raw)) }
    }

    /// As a number, for tables; never 0.
    pub fn to_number(self) -> usize {
        self.0.expose_provenance()
    }

    /// From [`Context::to_number`]; 0 is none.
    pub fn from_number(number: usize) -> Option<Self> {
        Self::from_raw(core::ptr::with_exposed_provenance_mut(number))
    }
}

impl Driver {
    /// The context that is current in this thread.
    pub fn current(&self) -> Result<Option<Context>, Error> {
        let mut raw = core::ptr::null_mut();
        // SAFETY: room for the handle.
        let code = unsafe { (self.table.context_current)(&mut raw) };
        self.check("cuCtxGetCurrent", code)?;
        Ok(Context::from_raw(raw))
    }

    /// Device of the current context.
    pub fn current_device(&self) -> Result<Option<Device>, Error> {
        let mut ordinal = 0;
        // SAFETY: room for the number.
        let code = unsafe { (self.table.context_device)(&mut ordinal) };
        if code == error::INVALID_CONTEXT {
            return Ok(None);
        }
        self.check("cuCtxGetDevice", code)?;
        Ok(Some(Device::from_ordinal(ordinal)))
    }

    /// Number of a context, which no other context of the process ever has.
    pub fn context_id(&self, context: Context) -> Result<u64, Error> {
        let mut id = 0;
        // SAFETY: room for the number; the driver checks the handle.
        let code = unsafe { (self.table.context_id)(context.0, &mut id) };
        self.check("cuCtxGetId", code)?;
        Ok(id)
    }

    /// Number of the context that is current in this thread.
    pub fn current_id(&self) -> Result<Option<u64>, Error> {
        let mut id = 0;
        // SAFETY: room for the number; no handle stands for the current context.
        let code = unsafe { (self.table.context_id)(core::ptr::null_mut(), &mut id) };
        match code {
            error::INVALID_CONTEXT | error::INVALID_VALUE | error::CONTEXT_IS_DESTROYED => Ok(None),
            _ => self.check("cuCtxGetId", code).map(|()| Some(id)),
        }
    }

    /// The device's primary context, if the program has made it active.
    pub fn primary(&self, device: Device) -> Result<Option<Primary<'_>>, Error> {
        let (mut flags, mut active) = (0, 0);
        // SAFETY: room for both numbers.
        let code = unsafe { (self.table.primary_state)(device.ordinal(), &mut flags, &mut active) };
        self.check("cuDevicePrimaryCtxGetState", code)?;
        if active == 0 {
            return Ok(None);
        }
        self.retain(device).map(Some)
    }

    /// The device's primary context, made active if it isn't.
    pub fn retain(&self, device: Device) -> Result<Primary<'_>, Error> {
        let mut raw = core::ptr::null_mut();
        // SAFETY: room for the handle.
        let code = unsafe { (self.table.primary_retain)(&mut raw, device.ordinal()) };
        self.check("cuDevicePrimaryCtxRetain", code)?;
        let context = Context(raw);
        Ok(Primary {
            driver: self,
            device,
            context,
        })
    }

    /// Makes a context current, over what is current.
    pub fn push(&self, context: Context) -> Result<Pushed<'_>, Error> {
        // SAFETY: the driver checks the handle.
        let code = unsafe { (self.table.context_push)(context.0) };
        self.check("cuCtxPushCurrent", code)?;
        Ok(Pushed {
            driver: self,
            _here: core::marker::PhantomData,
        })
    }
}

impl Drop for Primary<'_> {
    fn drop(&mut self) {
        // SAFETY: held once by this value.
        let release = || unsafe { (self.driver.table.primary_release)(self.device.ordinal()) };
        self.driver.give_back("cuDevicePrimaryCtxRelease", release);
    }
}

impl Drop for Pushed<'_> {
    fn drop(&mut self) {
        let pop = || {
            let mut old = core::ptr::null_mut();
            // SAFETY: room for the handle.
            unsafe { (self.driver.table.context_pop)(&mut old) }
        };
        self.driver.give_back("cuCtxPopCurrent", pop);
    }
}
