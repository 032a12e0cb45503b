//! Memory of other processes by legacy handles.

use super::Driver;
use super::table::{Address, Token};
use crate::ucs::status::Error;
use core::fmt;

/// Names an allocation for other processes.
#[derive(Clone, Copy)]
pub struct MemHandle(Token);

/// Memory of another process, open in the context in which it was opened.
///
/// The memory of the other process is not free before every such value is closed, so a value that
/// is dropped unclosed would be a leak there: dropping closes it too, but only [`Opened::close`]
/// tells whether that went well.
#[derive(Debug)]
pub struct Opened<'a> {
    driver: &'a Driver,
    at: Address,
    open: bool,
}

/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`
const LAZY_PEER_ACCESS: u32 = 1;

impl MemHandle {
    pub const fn from_bytes(bytes: [u8; 64]) -> Self {
        Self(Token(bytes))
    }

    pub const fn to_bytes(self) -> [u8; 64] {
        self.0.0
    }
}

impl fmt::Debug for MemHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemHandle")
    }
}

impl Driver {
    /// A handle to the allocation that the address lies in.
    pub fn handle(&self, at: Address) -> Result<MemHandle, Error> {
        let mut token = Token([0; 64]);
        // SAFETY: room for the handle.
        let code = unsafe { (self.table.ipc_get)(&mut token, at) };
        self.check("cuIpcGetMemHandle", code)?;
        Ok(MemHandle(token))
    }

    /// Opens another process's memory in the current context. `AlreadyExists`: it is open in
    /// another context of the device, or its address range is still taken.
    pub fn open(&self, handle: MemHandle) -> Result<Opened<'_>, Error> {
        let mut at = 0;
        // SAFETY: room for the address; the driver checks the handle.
        let code = unsafe { (self.table.ipc_open)(&mut at, handle.0, LAZY_PEER_ACCESS) };
        self.check("cuIpcOpenMemHandle", code)?;
        Ok(Opened {
            driver: self,
            at,
            open: true,
        })
    }
}

impl Opened<'_> {
    pub const fn address(&self) -> Address {
        self.at
    }

    /// The context that it was opened in is gone, and it with that.
    pub fn gone(&mut self) {
        self.open = false;
    }

    /// Closes it. The context in which it was opened must be current.
    pub fn close(mut self) -> Result<(), Error> {
        self.end()
    }

    /// As [`Opened::close`]; after a failure it is still open.
    pub fn end(&mut self) -> Result<(), Error> {
        if !self.open {
            return Ok(());
        }
        // SAFETY: opened once by this value.
        let code = unsafe { (self.driver.table.ipc_close)(self.at) };
        self.driver.check("cuIpcCloseMemHandle", code)?;
        self.open = false;
        Ok(())
    }
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
