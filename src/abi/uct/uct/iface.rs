//! Entry points of `uct/api/uct.h`: iface.

use crate::abi::prelude::*;
use crate::abi::support::cstr;
use crate::abi::support::transport::alloc;
use crate::abi::support::transport::desc::Shape;
use crate::abi::support::transport::iface::{Interface, Open};
use crate::abi::support::transport::stub::Stub;
use crate::abi::support::transport::worker::Worker;
use crate::abi::support::transport::{config, md as domain};
use crate::field;

/// Adds a function to what a worker progresses; may be called from any thread. `*id_p` must be
/// `UCS_CALLBACKQ_ID_NULL` before, or nothing is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_worker_progress_register_safe(
    worker: uct_worker_h,
    func: ucs_callback_t,
    arg: *mut c_void,
    flags: c_uint,
    id_p: *mut uct_worker_cb_id_t,
) {
    // SAFETY: NULL or created; a writable place; the callback is the caller's.
    unsafe {
        let Ok(of) = Worker::from(worker) else { return };
        if id_p.is_null() || id_p.read() != UCS_CALLBACKQ_ID_NULL || func.is_none() {
            return;
        }
        let queue = &raw mut (*worker).progress_q;
        if flags & ONESHOT != 0 {
            of.registered(true);
            ucs_callbackq_add_oneshot(queue, arg, func, arg);
            return;
        }
        id_p.write(ucs_callbackq_add_safe(queue, func, arg));
        of.registered(true);
    }
}

/// Takes a function out of what a worker progresses; `*id_p` becomes `UCS_CALLBACKQ_ID_NULL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_worker_progress_unregister_safe(
    worker: uct_worker_h,
    id_p: *mut uct_worker_cb_id_t,
) {
    // SAFETY: NULL or created; a writable place.
    unsafe {
        let Ok(of) = Worker::from(worker) else { return };
        if id_p.is_null() || id_p.read() == UCS_CALLBACKQ_ID_NULL {
            return;
        }
        ucs_callbackq_remove_safe(&raw mut (*worker).progress_q, id_p.read());
        id_p.write(UCS_CALLBACKQ_ID_NULL);
        of.registered(false);
    }
}

/// Reads the configuration of a transport's interfaces. To be released by `uct_config_release`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_iface_config_read(
    md: uct_md_h,
    tl_name: *const c_char,
    env_prefix: *const c_char,
    filename: *const c_char,
    config_p: *mut *mut uct_iface_config_t,
) -> ucs_status_t {
    let _ = filename;
    // SAFETY: NULL or open; C strings or NULL; a writable place.
    unsafe {
        if config_p.is_null() {
            return Error::InvalidParam.into();
        }
        let domain = match domain::from(md) {
            Ok(domain) => domain,
            Err(error) => return error.into(),
        };
        let name = cstr::text(tl_name).unwrap_or_default();
        let Some(table) = domain.transport(&name) else {
            crate::ucs_error!("there is no transport '{name}' on this memory domain");
            return Error::NoDevice.into();
        };
        let read = config::read(Some(table), env_prefix);
        read.map(|config| config_p.write(config.cast())).into()
    }
}

/// Opens an interface of a transport and device, as `params` says. To be closed by
/// `uct_iface_close`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_open(
    md: uct_md_h,
    worker: uct_worker_h,
    params: *const uct_iface_params_t,
    config: *const uct_iface_config_t,
    iface_p: *mut uct_iface_h,
) -> ucs_status_t {
    // SAFETY: the caller's struct, as its mask describes it; a writable place.
    unsafe {
        let opened = match Params::new(params) {
            Ok(params) if !iface_p.is_null() => open(md, worker, &params, config),
            _ => Err(Error::InvalidParam),
        };
        opened.map(|iface| iface_p.write(iface)).into()
    }
}

/// Closes an interface. Its endpoints must have been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_close(iface: uct_iface_h) {
    // SAFETY: NULL, or an interface that is not used again.
    unsafe {
        if let Some(close) = iface.as_ref().and_then(|iface| iface.ops.iface_close) {
            close(iface);
        }
    }
}

/// Writes what an interface can do, and how fast it is, into `iface_attr`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_query(
    iface: uct_iface_h,
    iface_attr: *mut uct_iface_attr_t,
) -> ucs_status_t {
    // SAFETY: NULL, or an interface, which begins with its operations.
    unsafe {
        match iface.as_ref().and_then(|iface| iface.ops.iface_query) {
            Some(op) => op(iface, iface_attr),
            None => Error::InvalidParam.into(),
        }
    }
}

/// Writes the address of the interface's device, of as many bytes as its attributes say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_get_device_address(
    iface: uct_iface_h,
    addr: *mut uct_device_addr_t,
) -> ucs_status_t {
    // SAFETY: NULL, or an interface, which begins with its operations.
    unsafe {
        match iface
            .as_ref()
            .and_then(|iface| iface.ops.iface_get_device_address)
        {
            Some(op) => op(iface, addr),
            None => Error::InvalidParam.into(),
        }
    }
}

/// Writes the address of the interface, of as many bytes as its attributes say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_get_address(
    iface: uct_iface_h,
    addr: *mut uct_iface_addr_t,
) -> ucs_status_t {
    // SAFETY: NULL, or an interface, which begins with its operations.
    unsafe {
        match iface.as_ref().and_then(|iface| iface.ops.iface_get_address) {
            Some(op) => op(iface, addr),
            None => Error::InvalidParam.into(),
        }
    }
}

/// 1 if an interface can reach another one of these addresses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_is_reachable(
    iface: uct_iface_h,
    dev_addr: *const uct_device_addr_t,
    iface_addr: *const uct_iface_addr_t,
) -> c_int {
    // SAFETY: NULL, or an interface, which begins with its operations.
    unsafe {
        match iface
            .as_ref()
            .and_then(|iface| iface.ops.iface_is_reachable)
        {
            Some(op) => op(iface, dev_addr, iface_addr),
            None => 0,
        }
    }
}

/// File descriptor that becomes readable when the interface has something to do.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_event_fd_get(
    iface: uct_iface_h,
    fd_p: *mut c_int,
) -> ucs_status_t {
    // SAFETY: NULL, or an interface, which begins with its operations.
    unsafe {
        match iface
            .as_ref()
            .and_then(|iface| iface.ops.iface_event_fd_get)
        {
            Some(op) => op(iface, fd_p),
            None => Error::InvalidParam.into(),
        }
    }
}

/// Prepares that descriptor for a wait.
///
/// Returns `UCS_OK`, or `UCS_ERR_BUSY` if there are events: progress first, then arm again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_event_arm(iface: uct_iface_h, events: c_uint) -> ucs_status_t {
    // SAFETY: NULL, or an interface, which begins with its operations.
    unsafe {
        match iface.as_ref().and_then(|iface| iface.ops.iface_event_arm) {
            Some(op) => op(iface, events),
            None => Error::InvalidParam.into(),
        }
    }
}

/// Allocates memory that the interface can send from, at least `length` bytes. To be freed by
/// `uct_iface_mem_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_mem_alloc(
    iface: uct_iface_h,
    length: usize,
    flags: c_uint,
    name: *const c_char,
    mem: *mut uct_allocated_memory_t,
) -> ucs_status_t {
    let _ = name;
    if mem.is_null() || length == 0 {
        return Error::InvalidParam.into();
    }
    // SAFETY: NULL or open, room for the result.
    unsafe {
        match Interface::from(iface).and_then(|iface| alloc::for_interface(iface, length, flags)) {
            Ok(made) => made.write(mem),
            Err(error) => return error.into(),
        }
    }
    Status::OK
}

/// Frees what `uct_iface_mem_alloc` gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_mem_free(mem: *const uct_allocated_memory_t) {
    // SAFETY: NULL or what an allocation wrote, and not used again.
    unsafe {
        if mem.is_null() {
            return;
        }
        let memh = (&raw const (*mem).memh).read();
        let method = (&raw const (*mem).method).read();
        if method != UCT_ALLOC_METHOD_MD && !memh.is_null() {
            let _ = uct_md_mem_dereg((&raw const (*mem).md).read(), memh);
        }
        let _ = uct_mem_free(mem);
    }
}

/// Sets the function that receives active messages of one id, below `UCT_AM_ID_MAX`. NULL drops
/// them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_set_am_handler(
    iface: uct_iface_h,
    id: u8,
    cb: uct_am_callback_t,
    arg: *mut c_void,
    flags: u32,
) -> ucs_status_t {
    if u64::from(id) >= UCT_AM_ID_MAX {
        crate::ucs_error!("active message id {id} is not below {UCT_AM_ID_MAX}");
        return Error::InvalidParam.into();
    }
    if u64::from(flags) & !UCT_CB_FLAG_ASYNC != 0 {
        crate::ucs_error!("flags {flags:#x} are none of a callback");
        return Error::InvalidParam.into();
    }
    // SAFETY: NULL or open.
    match unsafe { Interface::from(iface) } {
        Ok(interface) => interface.set_handler(id, cb, arg),
        Err(error) => return error.into(),
    }
    Status::OK
}

/// Sets a function that describes active messages for the log.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_set_am_tracer(
    iface: uct_iface_h,
    tracer: uct_am_tracer_t,
    arg: *mut c_void,
) -> ucs_status_t {
    // SAFETY: NULL or open.
    match unsafe { Interface::from(iface) } {
        Ok(interface) => interface.set_tracer(tracer, arg),
        Err(error) => return error.into(),
    }
    Status::OK
}

/// Accepts a connection request of an interface that listens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_accept(
    iface: uct_iface_h,
    conn_request: uct_conn_request_h,
) -> ucs_status_t {
    // SAFETY: NULL, or an interface, which begins with its operations.
    unsafe {
        match iface.as_ref().and_then(|iface| iface.ops.iface_accept) {
            Some(op) => op(iface, conn_request),
            None => Error::InvalidParam.into(),
        }
    }
}

/// Refuses a connection request of an interface that listens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_reject(
    iface: uct_iface_h,
    conn_request: uct_conn_request_h,
) -> ucs_status_t {
    // SAFETY: NULL, or an interface, which begins with its operations.
    unsafe {
        match iface.as_ref().and_then(|iface| iface.ops.iface_reject) {
            Some(op) => op(iface, conn_request),
            None => Error::InvalidParam.into(),
        }
    }
}

/// `UCS_CALLBACKQ_FLAG_ONESHOT` of callers of before 1.22.
///
/// cbindgen:ignore
const ONESHOT: c_uint = 1 << 1;

/// # Safety
/// As for `uct_iface_open`.
unsafe fn open(
    md: uct_md_h,
    worker: uct_worker_h,
    params: &Params<'_, uct_iface_params_t>,
    config: *const uct_iface_config_t,
) -> Result<uct_iface_h, Error> {
    let mode = field!(params, UCT_IFACE_PARAM_FIELD_OPEN_MODE, open_mode);
    match mode {
        Some(mode) if mode & UCT_IFACE_OPEN_MODE_DEVICE != 0 => {}
        // No transport listens or connects by itself: connection managers do.
        Some(mode)
            if mode
                & (UCT_IFACE_OPEN_MODE_SOCKADDR_SERVER | UCT_IFACE_OPEN_MODE_SOCKADDR_CLIENT)
                != 0 =>
        {
            return Err(Error::NoDevice);
        }
        Some(mode) if mode & UCT_IFACE_OPEN_MODE_STUB != 0 => {
            let stub = field!(params, UCT_IFACE_PARAM_FIELD_OPEN_MODE, mode.stub);
            return Stub::open(stub.ok_or(Error::InvalidParam)?.status);
        }
        _ => {
            crate::ucs_error!("an interface can't be opened in mode {mode:x?}");
            return Err(Error::InvalidParam);
        }
    }
    // Callers of before 1.22 don't set the bit of the device.
    let device = field!(params, UCT_IFACE_PARAM_FIELD_OPEN_MODE, mode.device);
    let device = device.ok_or(Error::InvalidParam)?;
    let handler = field!(params, UCT_IFACE_PARAM_FIELD_ERR_HANDLER, err_handler);
    let arg = field!(
        params,
        UCT_IFACE_PARAM_FIELD_ERR_HANDLER_ARG,
        err_handler_arg
    );
    // SAFETY: C strings, a configuration or NULL, open domain and worker.
    unsafe {
        let tl_name = cstr::text(device.tl_name).ok_or(Error::InvalidParam)?;
        let dev_name = cstr::text(device.dev_name).ok_or(Error::InvalidParam)?;
        Interface::open(Open {
            md,
            worker,
            tl_name: &tl_name,
            dev_name: &dev_name,
            config: config::values(config.cast())?,
            errors: (handler.flatten(), arg.unwrap_or(core::ptr::null_mut())),
            kept: shape(params)?,
        })
    }
}

/// How received messages are to be handed over.
fn shape(params: &Params<'_, uct_iface_params_t>) -> Result<Option<Shape>, Error> {
    let headroom = field!(params, UCT_IFACE_PARAM_FIELD_RX_HEADROOM, rx_headroom);
    let align = field!(params, UCT_IFACE_PARAM_FIELD_AM_ALIGNMENT, am_alignment);
    let offset = field!(
        params,
        UCT_IFACE_PARAM_FIELD_AM_ALIGN_OFFSET,
        am_align_offset
    );
    if align.is_none() && offset.is_some() {
        crate::ucs_error!("an offset of messages to be aligned needs an alignment");
        return Err(Error::InvalidParam);
    }
    Ok(Shape::new(
        headroom.unwrap_or(0),
        align.unwrap_or(0),
        offset.unwrap_or(0),
    ))
}
