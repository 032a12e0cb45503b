//! Entry points of `ucp/api/ucp.h`: worker.

use std::borrow::Cow;
use std::rc::Rc;

use crate::abi::prelude::*;
use crate::abi::support::{cfile, cstr};
use crate::abi::ucp::convert::{self, Kind};
use crate::set_field;
use crate::ucp::address;
use crate::ucp::am::{Handler, HandlerFn, HandlerKind};
use crate::ucp::context::Features;
use crate::ucp::print;
use crate::ucp::worker::{ThreadMode, Worker, WorkerParams};

/// Widest alignment of active message data that may be asked for.
const MAX_AM_ALIGNMENT: usize = 1 << 20;

/// # Safety
/// As `ucp_worker_create`.
unsafe fn create(
    context: ucp_context_h,
    params: *const ucp_worker_params_t,
) -> Result<Rc<Worker>, Error> {
    // SAFETY: forwarded to the caller.
    let (context, p) = unsafe { (convert::context(context)?, Params::new(params)?) };
    let mode = crate::field!(p, UCP_WORKER_PARAM_FIELD_THREAD_MODE, thread_mode);
    let thread_mode = match mode.unwrap_or(UCS_THREAD_MODE_SINGLE) {
        UCS_THREAD_MODE_SINGLE => ThreadMode::Single,
        UCS_THREAD_MODE_SERIALIZED => ThreadMode::Serialized,
        UCS_THREAD_MODE_MULTI => ThreadMode::Multi,
        other => {
            crate::ucs_error!("ucp_worker_create: {other} is not a thread mode");
            return Err(Error::InvalidParam);
        }
    };
    let name = crate::field!(p, UCP_WORKER_PARAM_FIELD_NAME, name);
    let user_data = crate::field!(p, UCP_WORKER_PARAM_FIELD_USER_DATA, user_data);
    let alignment = crate::field!(p, UCP_WORKER_PARAM_FIELD_AM_ALIGNMENT, am_alignment);
    let am_alignment = alignment.unwrap_or(1);
    if !am_alignment.is_power_of_two() || am_alignment > MAX_AM_ALIGNMENT {
        crate::ucs_error!("ucp_worker_create: no alignment of data by {am_alignment} bytes");
        return Err(Error::InvalidParam);
    }
    let event_fd = crate::field!(p, UCP_WORKER_PARAM_FIELD_EVENT_FD, event_fd);
    let worker = Worker::new(
        context,
        WorkerParams {
            thread_mode,
            user_data: user_data.unwrap_or(core::ptr::null_mut()),
            // SAFETY: a terminated string or NULL, by the API.
            name: name.and_then(|name| unsafe { cstr::text(name) }.map(Cow::into_owned)),
            client_id: crate::field!(p, UCP_WORKER_PARAM_FIELD_CLIENT_ID, client_id).unwrap_or(0),
            am_alignment,
        },
    )?;
    if let Some(fd) = event_fd {
        worker.report_events_to(fd)?;
    }
    Ok(worker)
}

/// A copy of the worker's address for the caller, freed by `ucp_worker_release_address`; null
/// when memory is out.
pub(in crate::abi::ucp) fn give_address(
    worker: &Worker,
    net_only: bool,
) -> (*mut ucp_address_t, usize) {
    let packed = match net_only {
        true => worker.pack_address(true).into(),
        false => worker.address(),
    };
    if packed.is_empty() {
        return (core::ptr::null_mut(), 0);
    }
    // SAFETY: `malloc` of a size above 0; the copy stays inside it.
    unsafe {
        let to = libc::malloc(packed.len());
        if !to.is_null() {
            core::ptr::copy_nonoverlapping(packed.as_ptr(), to.cast(), packed.len());
        }
        (to.cast(), packed.len())
    }
}

/// Creates a worker: what progresses communication, receives, and has an address. It is to be
/// destroyed by `ucp_worker_destroy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_create(
    context: ucp_context_h,
    params: *const ucp_worker_params_t,
    worker_p: *mut ucp_worker_h,
) -> ucs_status_t {
    // SAFETY: a live context, parameters as their mask describes them, and a place for the handle.
    unsafe {
        let Some(worker_p) = worker_p.as_mut() else {
            return Error::InvalidParam.into();
        };
        match create(context, params) {
            Ok(worker) => {
                *worker_p = Rc::into_raw(worker).cast_mut().cast();
                Status::OK
            }
            Err(error) => error.into(),
        }
    }
}

/// Destroys a worker. Endpoints that are still open are closed without waiting.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_destroy(worker: ucp_worker_h) {
    if !worker.is_null() {
        // SAFETY: the reference that `ucp_worker_create` gave away comes back, once.
        let worker = unsafe { Rc::from_raw(worker.cast::<Worker>().cast_const()) };
        worker.destroy();
    }
}

/// Writes those attributes of a worker into `attr` that its mask asks for. An address that was
/// asked for is to be released by `ucp_worker_release_address`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_query(
    worker: ucp_worker_h,
    attr: *mut ucp_worker_attr_t,
) -> ucs_status_t {
    // SAFETY: a live worker, and an attribute struct as its mask describes it.
    unsafe {
        let (worker, mut attrs) = match (convert::worker(worker), Attrs::new(attr)) {
            (Ok(worker), Ok(attrs)) => (worker, attrs),
            _ => return Error::InvalidParam.into(),
        };
        let _guard = worker.enter();
        crate::set_field!(
            attrs,
            UCP_WORKER_ATTR_FIELD_THREAD_MODE,
            thread_mode,
            match worker.thread_mode() {
                ThreadMode::Single => UCS_THREAD_MODE_SINGLE,
                ThreadMode::Serialized => UCS_THREAD_MODE_SERIALIZED,
                ThreadMode::Multi => UCS_THREAD_MODE_MULTI,
            }
        );
        if attrs.wants(UCP_WORKER_ATTR_FIELD_ADDRESS) {
            let flags = match attrs.wants(UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS) {
                true => (*attr).address_flags,
                false => 0,
            };
            let (address, len) =
                give_address(worker, flags & UCP_WORKER_ADDRESS_FLAG_NET_ONLY != 0);
            if address.is_null() {
                return Error::NoMemory.into();
            }
            crate::set_field!(attrs, UCP_WORKER_ATTR_FIELD_ADDRESS, address, address);
            crate::set_field!(attrs, UCP_WORKER_ATTR_FIELD_ADDRESS, address_length, len);
        }
        crate::set_field!(
            attrs,
            UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER,
            max_am_header,
            worker.am.max_header()
        );
        crate::set_field!(
            attrs,
            UCP_WORKER_ATTR_FIELD_NAME,
            name,
            cstr::array(worker.name())
        );
        crate::set_field!(
            attrs,
            UCP_WORKER_ATTR_FIELD_MAX_INFO_STRING,
            max_debug_string,
            256
        );
        Status::OK
    }
}

/// Writes what a worker uses as text to `stream`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_print_info(worker: ucp_worker_h, stream: *mut FILE) {
    // SAFETY: a live worker, by the API.
    let Ok(worker) = (unsafe { convert::worker(worker) }) else {
        return;
    };
    let text = {
        let _guard = worker.enter();
        let address = worker.address();
        let len = Some(address.len()).filter(|len| *len != 0);
        let context = worker.context();
        let wanted = context.has_feature(Features::AMO32 | Features::AMO64);
        let atomics = wanted.then(|| context.direct_resources());
        print::worker_info(context, worker.name(), len, atomics.as_deref())
    };
    // SAFETY: NULL or an open stream, by the API.
    unsafe { cfile::print(stream, &text) };
}

/// Releases an address that the worker gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_release_address(
    worker: ucp_worker_h,
    address: *mut ucp_address_t,
) {
    let _ = worker;
    // SAFETY: from `give_address`, or NULL.
    unsafe { libc::free(address.cast()) };
}

/// Writes what a worker address says about its worker into `attr`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_address_query(
    address: *mut ucp_address_t,
    attr: *mut ucp_worker_address_attr_t,
) -> ucs_status_t {
    // SAFETY: the caller passes a struct as its mask describes it, or NULL.
    let mut attr = match unsafe { Attrs::new(attr) } {
        Ok(attr) => attr,
        Err(error) => return error.into(),
    };
    // SAFETY: an address of any content, by the API.
    let bytes = match unsafe { convert::foreign_address(address) } {
        Ok(bytes) => bytes,
        Err(error) => return error.into(),
    };
    match address::decode(&bytes) {
        Ok(decoded) => {
            let uid = decoded.uuid;
            set_field!(attr, UCP_WORKER_ADDRESS_ATTR_FIELD_UID, worker_uid, uid);
            Status::OK
        }
        Err(error) => convert::bad_address(&error).into(),
    }
}

/// Progresses all communication of a worker, and calls callbacks. Never blocks.
///
/// Returns the number of events that were handled; 0 also when called from within a callback.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_progress(worker: ucp_worker_h) -> c_uint {
    // SAFETY: a live worker.
    match unsafe { convert::worker(worker) } {
        Ok(worker) => {
            let _guard = worker.enter();
            worker.progress() as c_uint
        }
        Err(_) => 0,
    }
}

/// Lists endpoints that have stream data to be received: at most `max_eps` are written to
/// `poll_eps`.
///
/// Returns their number, or a negative status code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_stream_worker_poll(
    worker: ucp_worker_h,
    poll_eps: *mut ucp_stream_poll_ep_t,
    max_eps: usize,
    flags: c_uint,
) -> ssize_t {
    let _ = flags;
    // SAFETY: a live worker, and room for `max_eps` entries.
    unsafe {
        if poll_eps.is_null() && max_eps != 0 {
            return Status::from(Error::InvalidParam).0 as ssize_t;
        }
        let listed = convert::with_worker(worker, |worker| {
            let found = worker.poll_streams(max_eps);
            for (index, ep) in found.iter().enumerate() {
                let entry = ucp_stream_poll_ep_t {
                    ep: convert::ep_handle(ep),
                    user_data: ep.options().user_data,
                    flags: 0,
                    reserved: [0; 16],
                };
                poll_eps.add(index).write(entry);
            }
            Ok(found.len() as ssize_t)
        });
        listed.unwrap_or_else(|error| Status::from(error).0 as ssize_t)
    }
}

/// File descriptor that becomes readable when the worker has something to do, for `poll` or
/// `epoll`. It belongs to the worker. Call `ucp_worker_arm` before each wait.
///
/// Returns `UCS_OK`, or `UCS_ERR_UNSUPPORTED` without `UCP_FEATURE_WAKEUP` and for a worker that was
/// made with `UCP_WORKER_PARAM_FIELD_EVENT_FD`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_get_efd(worker: ucp_worker_h, fd: *mut c_int) -> ucs_status_t {
    // SAFETY: a live worker, and a place for the descriptor.
    unsafe {
        let (Ok(worker), Some(fd)) = (convert::worker(worker), fd.as_mut()) else {
            return Error::InvalidParam.into();
        };
        let _guard = worker.enter();
        worker.event_fd().map(|value| *fd = value).into()
    }
}

/// Blocks until the worker has something to do. Meant for use between calls of
/// `ucp_worker_progress`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_wait(worker: ucp_worker_h) -> ucs_status_t {
    // SAFETY: a live worker.
    let worker = match unsafe { convert::worker(worker) } {
        Ok(worker) => worker,
        Err(error) => return error.into(),
    };
    let armed = {
        let _guard = worker.enter();
        worker.arm()
    };
    match armed {
        Err(Error::Busy) => Status::OK,
        Err(error) => error.into(),
        // Not under the lock: other threads of the worker go on meanwhile.
        Ok(()) => {
            let slept = worker.sleep();
            let _guard = worker.enter();
            worker.woken();
            slept.into()
        }
    }
}

/// Waits a little until the memory at `address` changes, or something else wakes the processor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_wait_mem(worker: ucp_worker_h, address: *mut c_void) {
    let _ = (worker, address);
}

/// Prepares the worker's file descriptor for a wait.
///
/// Returns `UCS_OK` if the caller may wait now, `UCS_ERR_BUSY` if there are events: progress first,
/// then arm again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_arm(worker: ucp_worker_h) -> ucs_status_t {
    // SAFETY: a live worker.
    unsafe { convert::worker(worker) }
        .and_then(|worker| {
            let _guard = worker.enter();
            worker.arm()
        })
        .into()
}

/// Wakes a thread that waits for this worker. May be called from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_signal(worker: ucp_worker_h) -> ucs_status_t {
    // SAFETY: a live worker.
    unsafe { convert::worker(worker) }
        .and_then(|worker| worker.signal())
        .into()
}

/// Sets the function that receives the active messages of one id. With a NULL callback, messages of
/// this id are dropped.
///
/// Returns `UCS_OK`, or `UCS_ERR_INVALID_PARAM`: id or callback are not given, the id is above 65535,
/// a flag is unknown, or the context has no `UCP_FEATURE_AM`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_set_am_recv_handler(
    worker: ucp_worker_h,
    param: *const ucp_am_handler_param_t,
) -> ucs_status_t {
    // SAFETY: a live worker, and parameters as their mask describes them.
    unsafe {
        let (Ok(worker), Ok(p)) = (convert::worker(worker), Params::new(param)) else {
            return Error::InvalidParam.into();
        };
        let _guard = worker.enter();
        let id = crate::field!(p, UCP_AM_HANDLER_PARAM_FIELD_ID, id);
        let cb = crate::field!(p, UCP_AM_HANDLER_PARAM_FIELD_CB, cb);
        let (Some(id), Some(cb)) = (id, cb) else {
            crate::ucs_error!("an active message handler needs an id and a callback");
            return Error::InvalidParam.into();
        };
        let Ok(id) = u16::try_from(id) else {
            crate::ucs_error!("{id} is no id of active messages: they end at {}", u16::MAX);
            return Error::InvalidParam.into();
        };
        let flags = crate::field!(p, UCP_AM_HANDLER_PARAM_FIELD_FLAGS, flags).unwrap_or(0);
        if let Err(error) = super::am::check_handler(worker, flags) {
            return error.into();
        }
        let arg = crate::field!(p, UCP_AM_HANDLER_PARAM_FIELD_ARG, arg);
        let handler = cb.map(|cb| Handler {
            // The two types differ in the names of pointed-to types only.
            kind: HandlerKind::New(core::mem::transmute::<
                unsafe extern "C" fn(
                    *mut c_void,
                    *const c_void,
                    usize,
                    *mut c_void,
                    usize,
                    *const ucp_am_recv_param_t,
                ) -> Status,
                HandlerFn,
            >(cb)),
            arg: arg.unwrap_or(core::ptr::null_mut()),
            persistent: u64::from(flags) & UCP_AM_FLAG_PERSISTENT_DATA != 0,
        });
        worker.am.set_handler(id, handler);
        Status::OK
    }
}

/// Orders memory access: operations of this worker that follow take effect after those before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_fence(worker: ucp_worker_h) -> ucs_status_t {
    // SAFETY: a live worker.
    unsafe { convert::worker(worker) }
        .map(|worker| {
            let _guard = worker.enter();
            worker.fence();
        })
        .into()
}

/// Completes when all operations of the worker that were posted before are complete, here and at
/// the peers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_flush_nbx(
    worker: ucp_worker_h,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    // SAFETY: a live worker, and parameters as their mask describes them.
    unsafe {
        convert::status_ptr_of(convert::with_worker(worker, |worker| {
            let (options, _) = convert::options(param, Kind::Send)?;
            worker.flush(&options)
        }))
    }
}
