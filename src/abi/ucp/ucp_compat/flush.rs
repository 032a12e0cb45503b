//! Entry points of `ucp/api/ucp_compat.h`: blocking flush.

use super::wait;
use crate::abi::prelude::*;
use crate::abi::ucp::convert;
use crate::ucp::worker::ReqOptions;

/// Blocking form of `ucp_ep_flush_nbx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_flush(ep: ucp_ep_h) -> ucs_status_t {
    // SAFETY: a live endpoint.
    let flushed = unsafe {
        convert::with_ep(ep, |ep| {
            let posted = ep.flush(&ReqOptions::default());
            Ok(wait(ep.worker(), posted))
        })
    };
    flushed.unwrap_or_else(Status::from)
}

/// Blocking form of `ucp_worker_flush_nbx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_flush(worker: ucp_worker_h) -> ucs_status_t {
    // SAFETY: a live worker.
    let flushed = unsafe {
        convert::with_worker(worker, |worker| {
            let posted = worker.flush(&ReqOptions::default());
            Ok(wait(worker, posted))
        })
    };
    flushed.unwrap_or_else(Status::from)
}
