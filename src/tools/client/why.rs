//! Why transports and devices are not used. Only the libraries of this package tell.

use core::ffi::{c_char, c_void};
use core::mem::transmute;
use core::ptr::null;

use super::ucp::{Address, Worker};
use super::{check, text};
use crate::abi::prelude::*;
use crate::tools::library;

/// A transport and a device (empty: any) that are not used, and the reason.
pub type Line = [String; 3];

type Why = unsafe extern "C" fn(
    ucp_worker_h,
    *const ucp_address_t,
    ucp_err_handling_mode_t,
    ucx_rs_why_cb_t,
    *mut c_void,
) -> ucs_status_t;

unsafe extern "C" fn push(
    to: *mut c_void,
    tl: *const c_char,
    dev: *const c_char,
    reason: *const c_char,
) {
    // SAFETY: the list that `ask` passed, and terminated strings.
    unsafe { (*to.cast::<Vec<Line>>()).push([text(tl), text(dev), text(reason)]) };
}

/// What the worker's context leaves out, and where an endpoint to `peer` has no lane.
///
/// # Errors
/// `Unsupported` when the libraries that were found can't tell, else theirs.
pub fn ask(
    worker: &Worker,
    peer: Option<&Address<'_>>,
    err_mode: ucp_err_handling_mode_t,
) -> Result<Vec<Line>, Error> {
    const _: Why = ucx_rs_why;
    let function = library::find(c"ucx_rs_why").ok_or(Error::Unsupported)?;
    let mut found: Vec<Line> = Vec::new();
    let address = peer.map_or(null(), |address| address.at.cast_const());
    // SAFETY: exported under this name with this type; live handles; the list outlives the call.
    unsafe {
        let function = transmute::<*mut c_void, Why>(function);
        let to = (&raw mut found).cast();
        check(function(worker.0, address, err_mode, Some(push), to))?;
    }
    Ok(found)
}
