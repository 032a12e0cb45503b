//! Streams, events, and copies, which belong to a stream.

use super::table::{Address, Opaque};
use super::{Driver, error};
use crate::ucs::status::Error;

/// A queue of copies of the context that was current when it was made.
#[derive(Debug)]
pub struct Stream<'a> {
    driver: &'a Driver,
    raw: Opaque,
}

/// A mark in a stream, to see when all before it is done.
#[derive(Debug)]
pub struct Event<'a> {
    driver: &'a Driver,
    raw: Opaque,
}

// SAFETY: the driver's calls may be made in any thread.
unsafe impl Send for Stream<'_> {}
// SAFETY: as above.
unsafe impl Send for Event<'_> {}

/// `CU_STREAM_NON_BLOCKING`: not ordered with the context's own stream.
const NON_BLOCKING: u32 = 1;
/// `CU_EVENT_DISABLE_TIMING`
const DISABLE_TIMING: u32 = 2;

impl Driver {
    pub fn stream(&self) -> Result<Stream<'_>, Error> {
        let mut raw = core::ptr::null_mut();
        // SAFETY: room for the handle.
        let code = unsafe { (self.table.stream_create)(&mut raw, NON_BLOCKING) };
        self.check("cuStreamCreate", code)?;
        Ok(Stream { driver: self, raw })
    }

    pub fn event(&self) -> Result<Event<'_>, Error> {
        let mut raw = core::ptr::null_mut();
        // SAFETY: room for the handle.
        let code = unsafe { (self.table.event_create)(&mut raw, DISABLE_TIMING) };
        self.check("cuEventCreate", code)?;
        Ok(Event { driver: self, raw })
    }
}

impl Stream<'_> {
    /// Starts a copy between any two kinds of memory.
    ///
    /// # Safety
    /// Both ranges stay, host memory among them unused by others, until the copy is done.
    pub unsafe fn copy(&self, to: Address, from: Address, len: usize) -> Result<(), Error> {
        // SAFETY: the caller's promise; the driver checks ranges that it knows.
        let code = unsafe { (self.driver.table.copy_async)(to, from, len, self.raw) };
        let copied = self.driver.check("cuMemcpyAsync", code);
        // Nothing else tells which buffer was wrong.
        copied.inspect_err(|error| {
            crate::ucs_error!("can't copy {len} bytes from {from:#x} to {to:#x}: {error}");
        })
    }

    /// Waits until all is done.
    pub fn synchronize(&self) -> Result<(), Error> {
        // SAFETY: a handle that we hold.
        let code = unsafe { (self.driver.table.stream_synchronize)(self.raw) };
        self.driver.check("cuStreamSynchronize", code)
    }
}

impl Stream<'_> {
    /// Waits until all is done, if the driver can be brought to: memory that a failed call leaves
    /// in use must not be given back. The first failure is told all the same.
    pub fn settle(&self) -> Result<(), Error> {
        let first = self.synchronize();
        if first.is_err() {
            let _ = (0..3).find(|_| self.synchronize().is_ok());
        }
        first
    }
}

impl Event<'_> {
    /// Puts the mark behind what is in the stream now; an earlier one is forgotten.
    pub fn record(&self, stream: &Stream<'_>) -> Result<(), Error> {
        // SAFETY: handles that we hold.
        let code = unsafe { (self.driver.table.event_record)(self.raw, stream.raw) };
        self.driver.check("cuEventRecord", code)
    }

    /// Whether all before the mark is done.
    pub fn is_done(&self) -> Result<bool, Error> {
        // SAFETY: a handle that we hold.
        match unsafe { (self.driver.table.event_query)(self.raw) } {
            error::NOT_READY => Ok(false),
            code => self.driver.check("cuEventQuery", code).map(|()| true),
        }
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        // SAFETY: made by us, used by nobody else.
        let destroy = || unsafe { (self.driver.table.stream_destroy)(self.raw) };
        self.driver.give_back("cuStreamDestroy", destroy);
    }
}

impl Drop for Event<'_> {
    fn drop(&mut self) {
        // SAFETY: made by us, used by nobody else.
        let destroy = || unsafe { (self.driver.table.event_destroy)(self.raw) };
        self.driver.give_back("cuEventDestroy", destroy);
    }
}
