//! `ucp/api/ucp_compat.h`.

use std::rc::Rc;

use crate::abi::prelude::*;
use crate::abi::ucp::convert;
use crate::abi::ucp::ucp::am as am_checks;
use crate::abi::ucp::ucp::stream;
use crate::abi::ucp::ucp::{amo, rma};
use crate::ucp::am::{self, Handler, HandlerKind, OldHandlerFn};
use crate::ucp::request::{Callback, flag};
use crate::ucp::tag::{recv, send};
use crate::ucp::worker::{Posted, ReqOptions, Worker};

/// Progresses until the operation ends: what the blocking calls do.
fn wait(worker: &Rc<Worker>, posted: Result<Posted, Error>) -> ucs_status_t {
    match posted {
        Ok(Posted::Now(result, _)) => result.into(),
        Err(error) => error.into(),
        Ok(Posted::Later(req)) => {
            while req.status() == Status::INPROGRESS {
                worker.progress();
            }
            let status = req.status();
            req.free(&worker.requests);
            status
        }
    }
}

/// A tagged send of the calls before nbx.
///
/// # Safety
/// As `ucp_tag_send_nb`.
unsafe fn tag_send(
    ep: ucp_ep_h,
    buffer: *const c_void,
    count: usize,
    datatype: ucp_datatype_t,
    tag: ucp_tag_t,
    sync: bool,
    options: &ReqOptions,
) -> Result<Posted, Error> {
    // SAFETY: forwarded to the caller.
    unsafe {
        convert::with_ep(ep, |ep| {
            let buf = convert::send_buf(buffer, count, datatype)?;
            send::post(ep, buf, tag, sync, options)
        })
    }
}

/// What the calls return whose name ends in nbi: nobody holds the request.
fn forget(worker: &Rc<Worker>, posted: Result<Posted, Error>) -> ucs_status_t {
    match posted {
        Ok(Posted::Now(result, _)) => result.into(),
        Err(error) => error.into(),
        Ok(Posted::Later(req)) => {
            req.free(&worker.requests);
            Status::INPROGRESS
        }
    }
}

/// An atomic operation without a result.
///
/// # Safety
/// As `ucp_atomic_post`.
unsafe fn post(ep: ucp_ep_h, asked: amo::Asked) -> ucs_status_t {
    // SAFETY: forwarded to the caller.
    let posted = unsafe {
        convert::with_ep(ep, |ep| {
            let posted = amo::post(ep, asked, &ReqOptions::default());
            Ok(wait(ep.worker(), posted))
        })
    };
    posted.unwrap_or_else(Status::from)
}

/// # Safety
/// As `ucp_atomic_add64`.
unsafe fn add_to(
    ep: ucp_ep_h,
    operand: u64,
    size: usize,
    remote_addr: u64,
    rkey: ucp_rkey_h,
) -> ucs_status_t {
    let asked = amo::Asked {
        opcode: UCP_ATOMIC_OP_ADD,
        operand,
        size,
        remote_addr,
        rkey,
        reply: core::ptr::null_mut(),
    };
    // SAFETY: forwarded to the caller.
    unsafe { post(ep, asked) }
}

/// An atomic operation with a result, waited for.
///
/// # Safety
/// As `ucp_atomic_fadd64`.
unsafe fn fetch(ep: ucp_ep_h, asked: amo::Asked) -> ucs_status_t {
    if asked.reply.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: forwarded to the caller.
    unsafe { post(ep, asked) }
}

/// Operations of `ucp_atomic_post`.
pub type ucp_atomic_post_op_t = u32;
pub const UCP_ATOMIC_POST_OP_ADD: ucp_atomic_post_op_t = 0;
pub const UCP_ATOMIC_POST_OP_AND: ucp_atomic_post_op_t = 1;
pub const UCP_ATOMIC_POST_OP_OR: ucp_atomic_post_op_t = 2;
pub const UCP_ATOMIC_POST_OP_XOR: ucp_atomic_post_op_t = 3;
pub const UCP_ATOMIC_POST_OP_LAST: ucp_atomic_post_op_t = 4;

/// Operations of `ucp_atomic_fetch_nb`.
pub type ucp_atomic_fetch_op_t = u32;
pub const UCP_ATOMIC_FETCH_OP_FADD: ucp_atomic_fetch_op_t = 0;
pub const UCP_ATOMIC_FETCH_OP_SWAP: ucp_atomic_fetch_op_t = 1;
pub const UCP_ATOMIC_FETCH_OP_CSWAP: ucp_atomic_fetch_op_t = 2;
pub const UCP_ATOMIC_FETCH_OP_FAND: ucp_atomic_fetch_op_t = 3;
pub const UCP_ATOMIC_FETCH_OP_FOR: ucp_atomic_fetch_op_t = 4;
pub const UCP_ATOMIC_FETCH_OP_FXOR: ucp_atomic_fetch_op_t = 5;
pub const UCP_ATOMIC_FETCH_OP_LAST: ucp_atomic_fetch_op_t = 6;

/// Modes of `ucp_ep_close_nb`.
pub type ucp_ep_close_mode = u64;
/// Without waiting for the peer; what was posted is cancelled.
pub const UCP_EP_CLOSE_MODE_FORCE: ucp_ep_close_mode = 0;
/// After what was posted is complete.
pub const UCP_EP_CLOSE_MODE_FLUSH: ucp_ep_close_mode = 1;

pub type ucp_listener_accept_handler_t = ucp_listener_accept_handler;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucp_listener_accept_handler {
    pub cb: ucp_listener_accept_callback_t,
    pub arg: *mut c_void,
}

/// 1 if the operation has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_request_is_completed(request: *mut c_void) -> c_int {
    // SAFETY: a live request.
    let status = unsafe { convert::request(request) }.map(|req| req.status());
    c_int::from(status.is_some_and(|status| status != Status::INPROGRESS))
}

/// Frees a request; of one that is in progress, when it ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_request_release(request: *mut c_void) {
    // SAFETY: a live request; its worker lives as long as its requests.
    unsafe {
        if let Some(req) = convert::request(request)
            && let Some(worker) = req.worker_ptr().as_ref()
        {
            let _guard = worker.enter();
            req.release(&worker.requests);
        }
    }
}

/// Blocking form of `ucp_ep_close_nbx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_destroy(ep: ucp_ep_h) {
    // SAFETY: a live endpoint.
    let closed = unsafe {
        convert::with_ep(ep, |ep| {
            let worker = ep.worker().clone();
            let posted = super::ucp::ep::close(ep, &ReqOptions::default(), false)?;
            Ok(wait(&worker, Ok(posted)))
        })
    };
    if let Err(error) = closed {
        crate::ucs_warn!("disconnect failed: {error}");
    }
}

/// Oldest form of `ucp_ep_close_nbx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_disconnect_nb(ep: ucp_ep_h) -> ucs_status_ptr_t {
    // SAFETY: forwarded to the caller.
    unsafe { ucp_ep_close_nb(ep, UCP_EP_CLOSE_MODE_FLUSH as c_uint) }
}

/// A request for the calls whose name ends in nbr. To be freed by `ucp_request_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_request_alloc(worker: ucp_worker_h) -> *mut c_void {
    // SAFETY: a live worker.
    unsafe {
        let Ok(worker) = convert::worker(worker) else {
            return core::ptr::null_mut();
        };
        let _guard = worker.enter();
        worker
            .new_request(&ReqOptions::default())
            .map_or(core::ptr::null_mut(), |req| req.area())
    }
}

/// Like `ucp_tag_recv_request_test`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_request_test(
    request: *mut c_void,
    info: *mut ucp_tag_recv_info_t,
) -> ucs_status_t {
    // SAFETY: forwarded to the caller.
    unsafe {
        match convert::request(request) {
            Some(req) if req.has_flags(flag::RECV) => ucp_tag_recv_request_test(request, info),
            _ => ucp_request_check_status(request),
        }
    }
}

/// Packs the key of registered memory to be sent to peers: `*size_p` bytes. To be released by
/// `ucp_rkey_buffer_release`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_rkey_pack(
    context: ucp_context_h,
    memh: ucp_mem_h,
    rkey_buffer_p: *mut *mut c_void,
    size_p: *mut usize,
) -> ucs_status_t {
    let _ = context;
    // SAFETY: a live handle, and places for the results.
    unsafe { super::ucp::rkey::pack(memh, false, rkey_buffer_p, size_p) }.into()
}

/// Releases what `ucp_rkey_pack` gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_rkey_buffer_release(rkey_buffer: *mut c_void) {
    // SAFETY: from `ucp_rkey_pack`, or NULL, and not used again.
    unsafe { super::ucp::rkey::release(rkey_buffer) };
}

/// Blocking form of `ucp_ep_flush_nbx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_flush(ep: ucp_ep_h) -> ucs_status_t {
    // SAFETY: a live endpoint.
    let flushed = unsafe {
        convert::with_ep(ep, |ep| {
            let posted = ep.flush(&ReqOptions::default(), false);
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

/// Blocking form of `ucp_put_nbx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_put(
    ep: ucp_ep_h,
    buffer: *const c_void,
    length: usize,
    remote_addr: u64,
    rkey: ucp_rkey_h,
) -> ucs_status_t {
    let options = convert::old_options(Callback::None);
    // SAFETY: the caller's, as the API describes them.
    let done = unsafe {
        convert::with_ep(ep, |ep| {
            let posted = rma::post_put(
                ep,
                buffer,
                length,
                convert::DT_BYTE,
                remote_addr,
                rkey,
                &options,
            );
            Ok(wait(ep.worker(), posted))
        })
    };
    done.unwrap_or_else(Status::from)
}

/// Blocking form of `ucp_get_nbx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_get(
    ep: ucp_ep_h,
    buffer: *mut c_void,
    length: usize,
    remote_addr: u64,
    rkey: ucp_rkey_h,
) -> ucs_status_t {
    let options = convert::old_options(Callback::None);
    // SAFETY: the caller's, as the API describes them.
    let done = unsafe {
        convert::with_ep(ep, |ep| {
            let posted = rma::post_get(
                ep,
                buffer,
                length,
                convert::DT_BYTE,
                remote_addr,
                rkey,
                &options,
            );
            Ok(wait(ep.worker(), posted))
        })
    };
    done.unwrap_or_else(Status::from)
}

/// Adds to 4 bytes of remote memory. Blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_atomic_add32(
    ep: ucp_ep_h,
    add: u32,
    remote_addr: u64,
    rkey: ucp_rkey_h,
) -> ucs_status_t {
    // SAFETY: the caller's, as the API describes them.
    unsafe { add_to(ep, add.into(), 4, remote_addr, rkey) }
}

/// Adds to 8 bytes of remote memory. Blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_atomic_add64(
    ep: ucp_ep_h,
    add: u64,
    remote_addr: u64,
    rkey: ucp_rkey_h,
) -> ucs_status_t {
    // SAFETY: the caller's, as the API describes them.
    unsafe { add_to(ep, add, 8, remote_addr, rkey) }
}

/// Adds to 4 bytes of remote memory; `*result` becomes the value before. Blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_atomic_fadd32(
    ep: ucp_ep_h,
    add: u32,
    remote_addr: u64,
    rkey: ucp_rkey_h,
    result: *mut u32,
) -> ucs_status_t {
    // SAFETY: the caller's, as the API describes them.
    unsafe {
        fetch(
            ep,
            amo::Asked {
                opcode: UCP_ATOMIC_OP_ADD,
                operand: add.into(),
                size: 4,
                remote_addr,
                rkey,
                reply: result.cast(),
            },
        )
    }
}

/// Adds to 8 bytes of remote memory; `*result` becomes the value before. Blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_atomic_fadd64(
    ep: ucp_ep_h,
    add: u64,
    remote_addr: u64,
    rkey: ucp_rkey_h,
    result: *mut u64,
) -> ucs_status_t {
    // SAFETY: the caller's, as the API describes them.
    unsafe {
        fetch(
            ep,
            amo::Asked {
                opcode: UCP_ATOMIC_OP_ADD,
                operand: add,
                size: 8,
                remote_addr,
                rkey,
                reply: result.cast(),
            },
        )
    }
}

/// Replaces 4 bytes of remote memory; `*result` becomes the value before. Blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_atomic_swap32(
    ep: ucp_ep_h,
    swap: u32,
    remote_addr: u64,
    rkey: ucp_rkey_h,
    result: *mut u32,
) -> ucs_status_t {
    // SAFETY: the caller's, as the API describes them.
    unsafe {
        fetch(
            ep,
            amo::Asked {
                opcode: UCP_ATOMIC_OP_SWAP,
                operand: swap.into(),
                size: 4,
                remote_addr,
                rkey,
                reply: result.cast(),
            },
        )
    }
}

/// Replaces 8 bytes of remote memory; `*result` becomes the value before. Blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_atomic_swap64(
    ep: ucp_ep_h,
    swap: u64,
    remote_addr: u64,
    rkey: ucp_rkey_h,
    result: *mut u64,
) -> ucs_status_t {
    // SAFETY: the caller's, as the API describes them.
    unsafe {
        fetch(
            ep,
            amo::Asked {
                opcode: UCP_ATOMIC_OP_SWAP,
                operand: swap,
                size: 8,
                remote_addr,
                rkey,
                reply: result.cast(),
            },
        )
    }
}

/// Replaces 4 bytes of remote memory if they are `compare`; `*result` becomes the value before.
/// Blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_atomic_cswap32(
    ep: ucp_ep_h,
    compare: u32,
    swap: u32,
    remote_addr: u64,
    rkey: ucp_rkey_h,
    result: *mut u32,
) -> ucs_status_t {
    // SAFETY: the caller's, as the API describes them; the result's place holds the new value
    // first.
    unsafe {
        if result.is_null() {
            return Error::InvalidParam.into();
        }
        result.write_unaligned(swap);
        fetch(
            ep,
            amo::Asked {
                opcode: UCP_ATOMIC_OP_CSWAP,
                operand: compare.into(),
                size: 4,
                remote_addr,
                rkey,
                reply: result.cast(),
            },
        )
    }
}

/// Replaces 8 bytes of remote memory if they are `compare`; `*result` becomes the value before.
/// Blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_atomic_cswap64(
    ep: ucp_ep_h,
    compare: u64,
    swap: u64,
    remote_addr: u64,
    rkey: ucp_rkey_h,
    result: *mut u64,
) -> ucs_status_t {
    // SAFETY: the caller's, as the API describes them; the result's place holds the new value
    // first.
    unsafe {
        if result.is_null() {
            return Error::InvalidParam.into();
        }
        result.write_unaligned(swap);
        fetch(
            ep,
            amo::Asked {
                opcode: UCP_ATOMIC_OP_CSWAP,
                operand: compare,
                size: 8,
                remote_addr,
                rkey,
                reply: result.cast(),
            },
        )
    }
}

/// Changes parameters of an endpoint. No longer of use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_modify_nb(
    ep: ucp_ep_h,
    params: *const ucp_ep_params_t,
) -> ucs_status_ptr_t {
    let _ = (ep, params);
    NOT_IMPLEMENTED_PTR
}

/// The address of a worker, which another process passes to `ucp_ep_create`, and its length in
/// bytes. To be released by `ucp_worker_release_address`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_get_address(
    worker: ucp_worker_h,
    address_p: *mut *mut ucp_address_t,
    address_length_p: *mut usize,
) -> ucs_status_t {
    // SAFETY: a live worker, and places for the results.
    unsafe {
        let (Ok(worker), Some(to), Some(len)) = (
            convert::worker(worker),
            address_p.as_mut(),
            address_length_p.as_mut(),
        ) else {
            return Error::InvalidParam.into();
        };
        let _guard = worker.enter();
        (*to, *len) = super::ucp::worker::give_address(worker, false);
        if to.is_null() {
            Error::NoMemory.into()
        } else {
            Status::OK
        }
    }
}

/// Older form of `ucp_ep_close_nbx`; `mode` is one of `ucp_ep_close_mode`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_close_nb(ep: ucp_ep_h, mode: c_uint) -> ucs_status_ptr_t {
    // SAFETY: a live endpoint.
    unsafe {
        convert::status_ptr_of(convert::with_ep(ep, |ep| {
            let force = mode == UCP_EP_CLOSE_MODE_FORCE as c_uint;
            super::ucp::ep::close(ep, &ReqOptions::default(), force)
        }))
    }
}

/// Older form of `ucp_ep_flush_nbx`. `flags` must be 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_ep_flush_nb(
    ep: ucp_ep_h,
    flags: c_uint,
    cb: ucp_send_callback_t,
) -> ucs_status_ptr_t {
    let _ = flags;
    let callback = cb.map_or(Callback::None, Callback::Send);
    // SAFETY: a live endpoint.
    unsafe {
        convert::status_ptr_of(convert::with_ep(ep, |ep| {
            ep.flush(&convert::old_options(callback), false)
        }))
    }
}

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
            let buf = convert::send_buf(buffer, count, datatype)?;
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

/// Older form of `ucp_stream_send_nbx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_stream_send_nb(
    ep: ucp_ep_h,
    buffer: *const c_void,
    count: usize,
    datatype: ucp_datatype_t,
    cb: ucp_send_callback_t,
    flags: c_uint,
) -> ucs_status_ptr_t {
    let _ = flags;
    let options = convert::old_options(cb.map_or(Callback::None, Callback::Send));
    // SAFETY: handle and memory are the caller's, as the API describes them.
    unsafe {
        convert::status_ptr_of(convert::with_ep(ep, |ep| {
            let buf = convert::send_buf(buffer, count, datatype)?;
            crate::ucp::stream::send::post(ep, buf, &options)
        }))
    }
}

/// Older form of `ucp_stream_recv_nbx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_stream_recv_nb(
    ep: ucp_ep_h,
    buffer: *mut c_void,
    count: usize,
    datatype: ucp_datatype_t,
    cb: ucp_stream_recv_callback_t,
    length: *mut usize,
    flags: c_uint,
) -> ucs_status_ptr_t {
    let options = convert::old_options(cb.map_or(Callback::None, Callback::StreamRecv));
    // SAFETY: handle and memory are the caller's, as the API describes them.
    unsafe { stream::receive(ep, buffer, count, datatype, length, flags, &options) }
}

/// Older form of `ucp_tag_send_nbx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_tag_send_nb(
    ep: ucp_ep_h,
    buffer: *const c_void,
    count: usize,
    datatype: ucp_datatype_t,
    tag: ucp_tag_t,
    cb: ucp_send_callback_t,
) -> ucs_status_ptr_t {
    let callback = cb.map_or(Callback::None, Callback::Send);
    // SAFETY: the caller's, as the API describes them.
    unsafe {
        let options = convert::old_options(callback);
        convert::status_ptr_of(tag_send(ep, buffer, count, datatype, tag, false, &options))
    }
}

/// Sends with a tag; `req` is memory of the caller that lies behind the request's own size.
///
/// Returns `UCS_OK`, `UCS_INPROGRESS`, or an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_tag_send_nbr(
    ep: ucp_ep_h,
    buffer: *const c_void,
    count: usize,
    datatype: ucp_datatype_t,
    tag: ucp_tag_t,
    req: *mut c_void,
) -> ucs_status_t {
    let mut options = convert::old_options(Callback::None);
    options.request = req;
    options.fast_completion = true;
    // SAFETY: the caller's, as the API describes them.
    match unsafe { tag_send(ep, buffer, count, datatype, tag, false, &options) } {
        Ok(Posted::Now(result, _)) => result.into(),
        Ok(Posted::Later(_)) => Status::INPROGRESS,
        Err(error) => error.into(),
    }
}

/// Older form of `ucp_tag_send_sync_nbx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_tag_send_sync_nb(
    ep: ucp_ep_h,
    buffer: *const c_void,
    count: usize,
    datatype: ucp_datatype_t,
    tag: ucp_tag_t,
    cb: ucp_send_callback_t,
) -> ucs_status_ptr_t {
    let callback = cb.map_or(Callback::None, Callback::Send);
    // SAFETY: the caller's, as the API describes them.
    unsafe {
        let options = convert::old_options(callback);
        convert::status_ptr_of(tag_send(ep, buffer, count, datatype, tag, true, &options))
    }
}

/// Older form of `ucp_tag_recv_nbx`. Always returns a request, or an error as a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_tag_recv_nb(
    worker: ucp_worker_h,
    buffer: *mut c_void,
    count: usize,
    datatype: ucp_datatype_t,
    tag: ucp_tag_t,
    tag_mask: ucp_tag_t,
    cb: ucp_tag_recv_callback_t,
) -> ucs_status_ptr_t {
    let mut options = convert::old_options(convert::tag_recv_cb(cb));
    options.must_have_request = true;
    // SAFETY: the caller's, as the API describes them.
    convert::status_ptr_of((|| unsafe {
        let worker = convert::worker(worker)?;
        let _guard = worker.enter();
        let buf = convert::recv_buf(buffer, count, datatype)?;
        recv::post(worker, buf, tag, tag_mask, &options)
    })())
}

/// Receives with a tag; `req` is memory of the caller that lies behind the request's own size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_tag_recv_nbr(
    worker: ucp_worker_h,
    buffer: *mut c_void,
    count: usize,
    datatype: ucp_datatype_t,
    tag: ucp_tag_t,
    tag_mask: ucp_tag_t,
    req: *mut c_void,
) -> ucs_status_t {
    let mut options = convert::old_options(Callback::None);
    options.must_have_request = true;
    options.request = req;
    // SAFETY: the caller's, as the API describes them.
    let posted = (|| unsafe {
        let worker = convert::worker(worker)?;
        let _guard = worker.enter();
        let buf = convert::recv_buf(buffer, count, datatype)?;
        recv::post(worker, buf, tag, tag_mask, &options)
    })();
    posted.map(|_| ()).into()
}

/// Older form of `ucp_tag_msg_recv_nbx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_tag_msg_recv_nb(
    worker: ucp_worker_h,
    buffer: *mut c_void,
    count: usize,
    datatype: ucp_datatype_t,
    message: ucp_tag_message_h,
    cb: ucp_tag_recv_callback_t,
) -> ucs_status_ptr_t {
    let mut options = convert::old_options(convert::tag_recv_cb(cb));
    options.must_have_request = true;
    // SAFETY: the caller's, as the API describes them.
    convert::status_ptr_of((|| unsafe {
        let worker = convert::worker(worker)?;
        let _guard = worker.enter();
        let buf = convert::recv_buf(buffer, count, datatype)?;
        recv::post_claimed(worker, buf, message.addr() as u64, &options)
    })())
}

/// Older form of `ucp_put_nbx`: without a request, completed by a flush.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_put_nbi(
    ep: ucp_ep_h,
    buffer: *const c_void,
    length: usize,
    remote_addr: u64,
    rkey: ucp_rkey_h,
) -> ucs_status_t {
    let options = convert::old_options(Callback::None);
    // SAFETY: the caller's, as the API describes them.
    let posted = unsafe {
        convert::with_ep(ep, |ep| {
            let posted = rma::post_put(
                ep,
                buffer,
                length,
                convert::DT_BYTE,
                remote_addr,
                rkey,
                &options,
            );
            Ok(forget(ep.worker(), posted))
        })
    };
    posted.unwrap_or_else(Status::from)
}

/// Older form of `ucp_put_nbx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_put_nb(
    ep: ucp_ep_h,
    buffer: *const c_void,
    length: usize,
    remote_addr: u64,
    rkey: ucp_rkey_h,
    cb: ucp_send_callback_t,
) -> ucs_status_ptr_t {
    let options = convert::old_options(cb.map_or(Callback::None, Callback::Send));
    // SAFETY: the caller's, as the API describes them.
    unsafe {
        convert::status_ptr_of(convert::with_ep(ep, |ep| {
            rma::post_put(
                ep,
                buffer,
                length,
                convert::DT_BYTE,
                remote_addr,
                rkey,
                &options,
            )
        }))
    }
}

/// Older form of `ucp_get_nbx`: without a request, completed by a flush.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_get_nbi(
    ep: ucp_ep_h,
    buffer: *mut c_void,
    length: usize,
    remote_addr: u64,
    rkey: ucp_rkey_h,
) -> ucs_status_t {
    let options = convert::old_options(Callback::None);
    // SAFETY: the caller's, as the API describes them.
    let posted = unsafe {
        convert::with_ep(ep, |ep| {
            let posted = rma::post_get(
                ep,
                buffer,
                length,
                convert::DT_BYTE,
                remote_addr,
                rkey,
                &options,
            );
            Ok(forget(ep.worker(), posted))
        })
    };
    posted.unwrap_or_else(Status::from)
}

/// Older form of `ucp_get_nbx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_get_nb(
    ep: ucp_ep_h,
    buffer: *mut c_void,
    length: usize,
    remote_addr: u64,
    rkey: ucp_rkey_h,
    cb: ucp_send_callback_t,
) -> ucs_status_ptr_t {
    let options = convert::old_options(cb.map_or(Callback::None, Callback::Send));
    // SAFETY: the caller's, as the API describes them.
    unsafe {
        convert::status_ptr_of(convert::with_ep(ep, |ep| {
            rma::post_get(
                ep,
                buffer,
                length,
                convert::DT_BYTE,
                remote_addr,
                rkey,
                &options,
            )
        }))
    }
}

/// Older form of `ucp_atomic_op_nbx`, without a result. `op_size` is 4 or 8 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_atomic_post(
    ep: ucp_ep_h,
    opcode: ucp_atomic_post_op_t,
    value: u64,
    op_size: usize,
    remote_addr: u64,
    rkey: ucp_rkey_h,
) -> ucs_status_t {
    let opcode = match opcode {
        UCP_ATOMIC_POST_OP_ADD => UCP_ATOMIC_OP_ADD,
        UCP_ATOMIC_POST_OP_AND => UCP_ATOMIC_OP_AND,
        UCP_ATOMIC_POST_OP_OR => UCP_ATOMIC_OP_OR,
        UCP_ATOMIC_POST_OP_XOR => UCP_ATOMIC_OP_XOR,
        other => {
            crate::ucs_error!("ucp_atomic_post: {other} is not an operation");
            return Error::InvalidParam.into();
        }
    };
    let asked = amo::Asked {
        opcode,
        operand: value,
        size: op_size,
        remote_addr,
        rkey,
        reply: core::ptr::null_mut(),
    };
    // SAFETY: the caller's, as the API describes them.
    unsafe { post(ep, asked) }
}

/// Older form of `ucp_atomic_op_nbx`, with a result. `op_size` is 4 or 8 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_atomic_fetch_nb(
    ep: ucp_ep_h,
    opcode: ucp_atomic_fetch_op_t,
    value: u64,
    result: *mut c_void,
    op_size: usize,
    remote_addr: u64,
    rkey: ucp_rkey_h,
    cb: ucp_send_callback_t,
) -> ucs_status_ptr_t {
    // The numbers of the operations are those of `ucp_atomic_op_t`.
    let asked = amo::Asked {
        opcode,
        operand: value,
        size: op_size,
        remote_addr,
        rkey,
        reply: result,
    };
    let options = convert::old_options(cb.map_or(Callback::None, Callback::Send));
    // SAFETY: the caller's, as the API describes them.
    unsafe {
        convert::status_ptr_of(convert::with_ep(ep, |ep| {
            if result.is_null() {
                return Err(Error::InvalidParam);
            }
            amo::post(ep, asked, &options)
        }))
    }
}

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
