//! Entry points that UCX doesn't have, for the programs of this package. No header declares them.

use std::ffi::CString;

use crate::abi::prelude::*;
use crate::abi::ucp::convert;
use crate::abi::ucs::text;
use crate::ucp::address;
use crate::ucp::context::why::{self, Unused};
use crate::ucp::ep::{self, EpOptions, ErrorMode};
use crate::ucs::config::{self, Config, Print};

/// Receives a transport, a device (empty: any) and a reason, terminated strings that live for the
/// call.
pub type ucx_rs_why_cb_t =
    Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char, *const c_char)>;

/// Tells which transports and devices the context of `worker` leaves out, and which of the others
/// an endpoint to `address` would have no lane on; `address` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucx_rs_why(
    worker: ucp_worker_h,
    address: *const ucp_address_t,
    err_mode: ucp_err_handling_mode_t,
    line: ucx_rs_why_cb_t,
    arg: *mut c_void,
) -> ucs_status_t {
    let Some(line) = line else {
        return Error::InvalidParam.into();
    };
    // SAFETY: a live worker, and NULL or an address of any content, by the API.
    let found = unsafe { unused(worker, address, err_mode) };
    let text = |text: String| CString::new(text).unwrap_or_default();
    let found = match found {
        Ok(found) => found,
        Err(error) => return error.into(),
    };
    for unused in found {
        let strings = [unused.tl_name, unused.dev_name, unused.reason].map(text);
        let [tl, dev, reason] = strings.each_ref().map(|text| text.as_ptr());
        // SAFETY: the caller's function, with the argument that belongs to it.
        unsafe { line(arg, tl, dev, reason) };
    }
    Status::OK
}

/// # Safety
/// As [`ucx_rs_why`].
unsafe fn unused(
    worker: ucp_worker_h,
    address: *const ucp_address_t,
    err_mode: ucp_err_handling_mode_t,
) -> Result<Vec<Unused>, Error> {
    let options = EpOptions {
        mode: match err_mode {
            UCP_ERR_HANDLING_MODE_NONE => ErrorMode::None,
            UCP_ERR_HANDLING_MODE_PEER => ErrorMode::Peer,
            UCP_ERR_HANDLING_MODE_FAILOVER => ErrorMode::Failover,
            _ => return Err(Error::InvalidParam),
        },
        ..EpOptions::default()
    };
    // SAFETY: forwarded to the caller.
    unsafe {
        convert::with_worker(worker, |worker| {
            let context = worker.context();
            let mut found = why::unused(context);
            if address.is_null() {
                return Ok(found);
            }
            let packed = convert::foreign_address(address)?;
            let address = address::decode(&packed).map_err(|e| convert::bad_address(&e))?;
            for (index, reason) in ep::why_unused(worker, &address, &options)? {
                if let Some(rsc) = context.resources.get(usize::from(index)) {
                    found.push(Unused {
                        tl_name: rsc.tl_name().to_owned(),
                        dev_name: rsc.dev_name().to_owned(),
                        reason,
                    });
                }
            }
            Ok(found)
        })
    }
}

/// What [`ucs_config_parser_print_all_opts`] does, for callers that are known to pass all of this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucx_rs_print_config(
    stream: *mut FILE,
    prefix: *const c_char,
    flags: ucs_config_print_flags_t,
    filter: *const c_char,
) {
    if stream.is_null() {
        return;
    }
    // SAFETY: C strings or NULL.
    let (prefix, filter) = unsafe { (text::read(prefix), text::bytes(filter)) };
    let filter = filter.map(String::from_utf8_lossy);
    let settings = Config::read(None).unwrap_or_else(|_| Config::global().clone());
    let listing = config::print_all(&settings, &prefix, Print(flags), filter.as_deref());
    // SAFETY: the caller's open stream.
    unsafe { crate::sys::stdio::write_stream(stream, listing.as_bytes()) };
}
