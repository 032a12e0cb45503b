//! Interfaces that belong to no transport: programs put operations of their own into the header,
//! and what isn't reached through it fails with one status.

use super::iface::Kind;
use super::ops::UNSUPPORTED;
use crate::abi::prelude::*;

/// What the `uct_iface_h` of such an interface points to.
#[repr(C)]
pub struct Stub {
    c: uct_iface,
    kind: Kind,
    status: Error,
}

impl Stub {
    /// # Errors
    /// `InvalidParam` for a status that isn't one of a failure.
    pub fn open(status: ucs_status_t) -> Result<uct_iface_h, Error> {
        let Some(status) = Error::from_code(status.0) else {
            crate::ucs_error!("a stub can only fail, which {} doesn't", status.0);
            return Err(Error::InvalidParam);
        };
        let mut ops = UNSUPPORTED;
        ops.iface_close = Some(close);
        let stub = Stub {
            c: uct_iface { ops },
            kind: Kind::Stub,
            status,
        };
        Ok(Box::into_raw(Box::new(stub)).cast())
    }

    /// What its operations fail with.
    ///
    /// # Safety
    /// `handle` is from [`Stub::open`], and open.
    pub unsafe fn status(handle: uct_iface_h) -> Error {
        // SAFETY: as the caller says.
        unsafe { (&raw const (*handle.cast::<Stub>()).status).read() }
    }
}

unsafe extern "C" fn close(handle: uct_iface_h) {
    // SAFETY: only the headers of stubs have this operation; it is not used again.
    drop(unsafe { Box::from_raw(handle.cast::<Stub>()) });
}
