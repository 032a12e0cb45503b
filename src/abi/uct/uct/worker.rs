//! Entry points of `uct/api/uct.h`: worker.

use crate::abi::prelude::*;

/// Creates a worker, on which interfaces are opened. Its asynchronous context must live longer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_worker_create(
    async_: *mut ucs_async_context_t,
    thread_mode: ucs_thread_mode_t,
    worker_p: *mut uct_worker_h,
) -> ucs_status_t {
    let _ = (async_, thread_mode, worker_p);
    NOT_IMPLEMENTED
}

/// Destroys a worker. Its interfaces must have been closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_worker_destroy(worker: uct_worker_h) {
    let _ = worker;
}
