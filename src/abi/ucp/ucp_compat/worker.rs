//! Entry points of `ucp/api/ucp_compat.h`: workers.

use crate::abi::prelude::*;
use crate::abi::ucp::convert;
use crate::ucp::request::Callback;

/// Older form of `ucp_worker_flush_nbx`. `flags` must be 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_flush_nb(
    worker: ucp_worker_h,
    flags: c_uint,
    cb: ucp_send_callback_t,
) -> ucs_status_ptr_t {
    let _ = flags;
    let callback = cb.map_or(Callback::None, Callback::Send);
    // SAFETY: a live worker.
    unsafe {
        convert::status_ptr_of(convert::with_worker(worker, |worker| {
            worker.flush(&convert::old_options(callback))
        }))
    }
}
