//! Everything but the transfer of data: what all transports have.

use super::super::ep::Endpoint;
use super::super::iface::Interface;
use super::super::query;
use super::super::reach::Reach;
use crate::abi::prelude::*;
use crate::abi::support::transport::create;
use crate::uct::Arm;

pub fn fill<R: Reach>(ops: &mut uct_iface_ops_t) {
    ops.ep_pending_add = Some(pending_add);
    ops.ep_pending_purge = Some(pending_purge);
    ops.ep_flush = Some(ep_flush::<R>);
    ops.ep_fence = Some(ep_fence);
    ops.ep_check = Some(ep_check);
    ops.ep_create = Some(create::ep);
    ops.ep_destroy = Some(ep_destroy);
    ops.ep_get_address = Some(ep_get_address);
    ops.ep_connect_to_ep = Some(create::connect_to_ep);
    ops.iface_flush = Some(iface_flush::<R>);
    ops.iface_fence = Some(iface_fence);
    ops.iface_progress_enable = Some(progress_enable);
    ops.iface_progress_disable = Some(progress_disable);
    ops.iface_progress = Some(progress::<R>);
    ops.iface_event_fd_get = Some(event_fd_get);
    ops.iface_event_arm = Some(event_arm);
    ops.iface_close = Some(close);
    ops.iface_query = Some(iface_query);
    ops.iface_get_device_address = Some(get_device_address);
    ops.iface_get_address = Some(get_address);
    ops.iface_is_reachable = Some(is_reachable);
}

unsafe extern "C" fn pending_add(
    ep: uct_ep_h,
    request: *mut uct_pending_req_t,
    flags: c_uint,
) -> ucs_status_t {
    let _ = flags;
    if request.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: an endpoint of ours, the caller's request.
    unsafe { Endpoint::from(ep).add_pending(request) }.into()
}

unsafe extern "C" fn pending_purge(
    ep: uct_ep_h,
    cb: uct_pending_purge_callback_t,
    arg: *mut c_void,
) {
    // SAFETY: an endpoint of ours; the caller's function with its argument and request.
    unsafe {
        Endpoint::from(ep).purge(|request| {
            if let Some(cb) = cb {
                cb(request, arg);
            }
        });
    }
}

unsafe extern "C" fn ep_flush<R: Reach>(
    ep: uct_ep_h,
    flags: c_uint,
    comp: *mut uct_completion_t,
) -> ucs_status_t {
    // SAFETY: an endpoint of ours.
    let ep = unsafe { Endpoint::from(ep) };
    if u64::from(flags) & UCT_FLUSH_FLAG_CANCEL != 0 {
        ep.cancel_all();
    }
    ep.flush::<R>(comp)
}

unsafe extern "C" fn ep_fence(_: uct_ep_h, _: c_uint) -> ucs_status_t {
    fence()
}

unsafe extern "C" fn iface_fence(_: uct_iface_h, _: c_uint) -> ucs_status_t {
    fence()
}

/// Connections keep the order of what is posted, and so does memory after this.
fn fence() -> ucs_status_t {
    core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
    Status::OK
}

unsafe extern "C" fn ep_check(
    ep: uct_ep_h,
    flags: c_uint,
    comp: *mut uct_completion_t,
) -> ucs_status_t {
    let _ = flags;
    // SAFETY: an endpoint of ours.
    let ep = unsafe { Endpoint::from(ep) };
    if !comp.is_null() {
        return Error::Unsupported.into();
    }
    match ep.connected() {
        Ok(tl) => {
            if let Err(error) = tl.check_host() {
                ep.fail_soon(error);
            }
            Status::OK
        }
        Err(error) => error.into(),
    }
}

unsafe extern "C" fn ep_destroy(ep: uct_ep_h) {
    // SAFETY: an endpoint of ours, which is not used again.
    unsafe { Endpoint::destroy(ep) };
}

unsafe extern "C" fn ep_get_address(ep: uct_ep_h, addr: *mut uct_ep_addr_t) -> ucs_status_t {
    // SAFETY: an endpoint of ours.
    let interface = unsafe { Endpoint::from(ep) }.interface();
    if addr.is_null() {
        return Error::InvalidParam.into();
    }
    if !query::connects_to_ep(interface) {
        return Error::Unsupported.into();
    }
    // What tells endpoints apart is the order in which they connect.
    // SAFETY: room for an address.
    unsafe { write(addr.cast(), |out| interface.tl.iface_address(out)) };
    Status::OK
}

/// # Safety
/// `to` has room for what is made.
unsafe fn write(to: *mut u8, make: impl FnOnce(&mut Vec<u8>)) {
    let mut out = Vec::new();
    make(&mut out);
    // SAFETY: as the caller says.
    unsafe { core::ptr::copy_nonoverlapping(out.as_ptr(), to, out.len()) };
}

unsafe extern "C" fn iface_flush<R: Reach>(
    iface: uct_iface_h,
    flags: c_uint,
    comp: *mut uct_completion_t,
) -> ucs_status_t {
    let _ = flags;
    if !comp.is_null() {
        return Error::Unsupported.into();
    }
    // SAFETY: an interface of ours.
    let interface = match unsafe { Interface::from(iface) } {
        Ok(interface) => interface,
        Err(error) => return error.into(),
    };
    let mut status = Status::OK;
    for at in 0.. {
        let ep = interface.eps.borrow().get(at).copied();
        let Some(ep) = ep else { break };
        // SAFETY: in the list, so alive.
        match unsafe { &*ep }.flush::<R>(core::ptr::null_mut()) {
            // What has failed has nothing under way.
            Status::OK => {}
            Status::INPROGRESS => status = Status::INPROGRESS,
            other if other == Error::NoResource.into() => status = Status::INPROGRESS,
            _ => {}
        }
    }
    status
}

unsafe extern "C" fn progress_enable(iface: uct_iface_h, flags: c_uint) {
    // SAFETY: an interface of ours.
    if let Ok(interface) = unsafe { Interface::from(iface) } {
        interface.enable(flags);
    }
}

unsafe extern "C" fn progress_disable(iface: uct_iface_h, flags: c_uint) {
    // SAFETY: an interface of ours.
    if let Ok(interface) = unsafe { Interface::from(iface) } {
        interface.disable(flags);
    }
}

unsafe extern "C" fn progress<R: Reach>(iface: uct_iface_h) -> c_uint {
    // SAFETY: an interface of ours.
    unsafe { Interface::from(iface) }.map_or(0, Interface::progress::<R>)
}

unsafe extern "C" fn event_fd_get(iface: uct_iface_h, fd_p: *mut c_int) -> ucs_status_t {
    if fd_p.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: an interface of ours, a writable place.
    unsafe {
        match Interface::from(iface).and_then(|i| i.tl.event_fd().ok_or(Error::Unsupported)) {
            Ok(fd) => fd_p.write(fd),
            Err(error) => return error.into(),
        }
    }
    Status::OK
}

unsafe extern "C" fn event_arm(iface: uct_iface_h, events: c_uint) -> ucs_status_t {
    // SAFETY: an interface of ours.
    let interface = match unsafe { Interface::from(iface) } {
        Ok(interface) => interface,
        Err(error) => return error.into(),
    };
    if interface.tl.event_fd().is_none() {
        return Error::Unsupported.into();
    }
    let sends = u64::from(events) & UCT_EVENT_SEND_COMP != 0;
    match interface.tl.arm(sends && interface.waiting.get()) {
        Ok(Arm::Armed) => Status::OK,
        Ok(Arm::Busy) => Error::Busy.into(),
        Err(error) => error.into(),
    }
}

unsafe extern "C" fn close(iface: uct_iface_h) {
    // SAFETY: an interface of ours, which is not used again.
    unsafe { Interface::close(iface) };
}

unsafe extern "C" fn iface_query(iface: uct_iface_h, attr: *mut uct_iface_attr_t) -> ucs_status_t {
    if attr.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: an interface of ours; a struct of the same size in all versions.
    unsafe {
        match Interface::from(iface) {
            Ok(interface) => attr.write(query::attributes(interface)),
            Err(error) => return error.into(),
        }
    }
    Status::OK
}

unsafe extern "C" fn get_device_address(
    iface: uct_iface_h,
    addr: *mut uct_device_addr_t,
) -> ucs_status_t {
    // SAFETY: an interface of ours, room for an address.
    unsafe {
        match Interface::from(iface) {
            Ok(i) if i.tl.attr().device_addr_len == 0 => {}
            Ok(_) if addr.is_null() => return Error::InvalidParam.into(),
            Ok(i) => write(addr.cast(), |out| i.tl.device_address(out)),
            Err(error) => return error.into(),
        }
    }
    Status::OK
}

unsafe extern "C" fn get_address(iface: uct_iface_h, addr: *mut uct_iface_addr_t) -> ucs_status_t {
    if addr.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: an interface of ours, room for an address.
    unsafe {
        match Interface::from(iface) {
            Ok(i) => write(addr.cast(), |out| i.tl.iface_address(out)),
            Err(error) => return error.into(),
        }
    }
    Status::OK
}

unsafe extern "C" fn is_reachable(
    iface: uct_iface_h,
    device_addr: *const uct_device_addr_t,
    iface_addr: *const uct_iface_addr_t,
) -> c_int {
    // SAFETY: an interface of ours, addresses as long as its own.
    unsafe {
        Interface::from(iface).is_ok_and(|interface| {
            let device = create::device_addr(interface, device_addr, None);
            let address = create::iface_addr(interface, iface_addr, None);
            interface.tl.reachable(device, address).is_ok()
        })
    }
    .into()
}
