//! Entry points of `ucp/api/ucp_compat.h`: active messages.

use crate::abi::prelude::*;
use crate::abi::ucp::convert;
use crate::abi::ucp::ucp::am as am_checks;
use crate::ucp::am::{self, Handler, HandlerKind, OldHandlerFn};
use crate::ucp::request::Callback;
use crate::ucs::memory::MemoryType;

/// Older form of `ucp_worker_set_am_recv_handler`, for messages without a header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_set_am_handler(
    worker: ucp_worker_h,
    id: u16,
    cb: ucp_am_callback_t,
    arg: *mut c_void,
    flags: u32,
) -> ucs_status_t {
    // SAFETY: a live worker.
    unsafe {
        let Ok(worker) = convert::worker(worker) else {
            return Error::InvalidParam.into();
        };
        let _guard = worker.enter();
        if let Err(error) = am_checks::check_handler(worker, flags) {
            return error.into();
        }
        let handler = cb.map(|cb| Handler {
            // The two types differ in the name of one pointed-to type only.
            kind: HandlerKind::Old(core::mem::transmute::<
                unsafe extern "C" fn(*mut c_void, *mut c_void, usize, ucp_ep_h, c_uint) -> Status,
                OldHandlerFn,
            >(cb)),
            arg,
            persistent: u64::from(flags) & UCP_AM_FLAG_PERSISTENT_DATA != 0,
        });
        worker.am.set_handler(id, handler);
        Status::OK
    }
}

/// Older form of `ucp_am_send_nbx`, without a header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_am_send_nb(
    ep: ucp_ep_h,
    id: u16,
    buffer: *const c_void,
    count: usize,
    datatype: ucp_datatype_t,
    cb: ucp_send_callback_t,
    flags: c_uint,
) -> ucs_status_ptr_t {
    let callback = cb.map_or(Callback::None, Callback::Send);
    // SAFETY: the caller's, as the API describes them.
    unsafe {
        convert::status_ptr_of(convert::with_ep(ep, |ep| {
            let buf = convert::send_buf(buffer, count, datatype, MemoryType::UNKNOWN)?;
            let reply = u64::from(flags) & UCP_AM_SEND_FLAG_REPLY != 0;
            // The old handlers know no rendezvous.
            let flags = am::send::Flags {
                reply,
                force_eager: true,
                force_rndv: false,
            };
            am::send::post(ep, id, &[], buf, flags, &convert::old_options(callback))
        }))
    }
}
