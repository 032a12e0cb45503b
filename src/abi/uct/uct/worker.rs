//! Entry points of `uct/api/uct.h`: worker.

use crate::abi::prelude::*;
use crate::abi::support::transport::worker::Worker;

/// Creates a worker, on which interfaces are opened. Its asynchronous context must live longer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_worker_create(
    async_: *mut ucs_async_context_t,
    thread_mode: ucs_thread_mode_t,
    worker_p: *mut uct_worker_h,
) -> ucs_status_t {
    // None of our transports calls back from elsewhere than progress.
    let _ = async_;
    if worker_p.is_null() || thread_mode >= UCS_THREAD_MODE_LAST {
        return Error::InvalidParam.into();
    }
    let worker = Worker::create(thread_mode == UCS_THREAD_MODE_MULTI);
    // SAFETY: a writable place.
    worker
        .map(|worker| unsafe { worker_p.write(worker) })
        .into()
}

/// Destroys a worker. Its interfaces must have been closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_worker_destroy(worker: uct_worker_h) {
    // SAFETY: NULL or created, and not used again.
    unsafe { Worker::destroy(worker) };
}
