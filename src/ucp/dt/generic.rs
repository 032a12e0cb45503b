//! Generic datatypes: the user packs and unpacks.
use core::ffi::c_void;

use crate::ucs::status::{Error, Result, Status};

/// `ucp_generic_dt_ops_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct GenericOps {
    pub start_pack: Option<unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void>,
    pub start_unpack: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> *mut c_void>,
    pub packed_size: Option<unsafe extern "C" fn(*mut c_void) -> usize>,
    pub pack: Option<unsafe extern "C" fn(*mut c_void, usize, *mut c_void, usize) -> usize>,
    pub unpack: Option<unsafe extern "C" fn(*mut c_void, usize, *const c_void, usize) -> Status>,
    pub finish: Option<unsafe extern "C" fn(*mut c_void)>,
}

/// What a generic `ucp_datatype_t` points to. Aligned so that the class bits are free.
#[repr(align(16))]
pub struct GenericDt {
    pub ops: GenericOps,
    pub context: *mut c_void,
}

// The user's pointers are only passed on to the user's functions.
#[allow(clippy::not_unsafe_ptr_arg_deref)]
impl GenericDt {
    /// Starts packing `count` elements at `buffer`.
    pub fn start_pack(&self, buffer: *const c_void, count: usize) -> Result<PackState> {
        let start = self.ops.start_pack.ok_or(Error::InvalidParam)?;
        // SAFETY: the user gave the function for exactly this call.
        let state = unsafe { start(self.context, buffer, count) };
        let state = DtState {
            ops: self.ops,
            state,
        };
        Ok(PackState {
            len: state.packed_size()?,
            state,
        })
    }

    /// Starts unpacking into `count` elements at `buffer`.
    pub fn start_unpack(&self, buffer: *mut c_void, count: usize) -> Result<UnpackState> {
        let start = self.ops.start_unpack.ok_or(Error::InvalidParam)?;
        // SAFETY: the user gave the function for exactly this call.
        let state = unsafe { start(self.context, buffer, count) };
        let state = DtState {
            ops: self.ops,
            state,
        };
        Ok(UnpackState {
            len: state.packed_size()?,
            state,
        })
    }
}

/// A state between start and finish; `finish` is called when it is dropped.
struct DtState {
    ops: GenericOps,
    state: *mut c_void,
}

impl DtState {
    fn packed_size(&self) -> Result<usize> {
        let size = self.ops.packed_size.ok_or(Error::InvalidParam)?;
        // SAFETY: `state` came from a start function and has not been finished.
        Ok(unsafe { size(self.state) })
    }
}

impl Drop for DtState {
    fn drop(&mut self) {
        if let Some(finish) = self.ops.finish {
            // SAFETY: `state` came from a start function; this is its only finish.
            unsafe { finish(self.state) };
        }
    }
}

/// Packing of one message.
pub struct PackState {
    state: DtState,
    len: usize,
}

impl PackState {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Packs bytes from `offset` on; returns how many, never more than `dst` holds.
    pub fn pack(&self, offset: usize, dst: &mut [u8]) -> usize {
        let want = dst.len().min(self.len - offset.min(self.len));
        match self.state.ops.pack {
            Some(pack) if want != 0 => {
                // SAFETY: the state is live, and `dst` has room for `want` bytes.
                unsafe { pack(self.state.state, offset, dst.as_mut_ptr().cast(), want) }.min(want)
            }
            _ => 0,
        }
    }
}

/// Unpacking of one message.
pub struct UnpackState {
    state: DtState,
    len: usize,
}

impl UnpackState {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Hands `src`, which begins at `offset` of the message, to the user.
    pub fn unpack(&self, offset: usize, src: &[u8]) -> Result<()> {
        let Some(unpack) = self.state.ops.unpack else {
            return Err(Error::InvalidParam);
        };
        // SAFETY: the state is live, `src` is readable for its length.
        let status = unsafe { unpack(self.state.state, offset, src.as_ptr().cast(), src.len()) };
        if status.is_err() {
            return Err(Error::from_code(status.0).unwrap_or(Error::IoError));
        }
        Ok(())
    }
}
