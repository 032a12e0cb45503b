//! `ucs/sys/event_set.h`.

use crate::abi::prelude::*;

pub struct ucs_sys_event_set {
    _opaque: [u8; 0],
}

pub type ucs_event_set_type_t = u32;
pub const UCS_EVENT_SET_EVREAD: ucs_event_set_type_t = 1 << 0;
pub const UCS_EVENT_SET_EVWRITE: ucs_event_set_type_t = 1 << 1;
pub const UCS_EVENT_SET_EVERR: ucs_event_set_type_t = 1 << 2;
pub const UCS_EVENT_SET_EDGE_TRIGGERED: ucs_event_set_type_t = 1 << 3;

pub type ucs_sys_event_set_t = ucs_sys_event_set;
pub type ucs_event_set_types_t = u8;
pub type ucs_event_set_handler_t = Option<
    unsafe extern "C" fn(
        callback_data: *mut c_void,
        events: ucs_event_set_types_t,
        arg: *mut c_void,
    ),
>;

/// Makes a set out of an epoll descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_event_set_create_from_fd(
    event_set_p: *mut *mut ucs_sys_event_set_t,
    event_fd: c_int,
) -> ucs_status_t {
    if event_set_p.is_null() {
        return Error::InvalidParam.into();
    }
    make(event_fd, false, event_set_p)
}

/// Makes a set of file descriptors to wait for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_event_set_create(
    event_set_p: *mut *mut ucs_sys_event_set_t,
) -> ucs_status_t {
    if event_set_p.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: takes no pointers.
    let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    if fd < 0 {
        crate::ucs_error!("epoll_create1 failed: {}", std::io::Error::last_os_error());
        return Error::IoError.into();
    }
    make(fd, true, event_set_p)
}

/// Adds a descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_event_set_add(
    event_set: *mut ucs_sys_event_set_t,
    fd: c_int,
    events: ucs_event_set_types_t,
    callback_data: *mut c_void,
) -> ucs_status_t {
    let wanted = to_epoll(events);
    // SAFETY: NULL or live.
    unsafe { control(event_set, libc::EPOLL_CTL_ADD, fd, wanted, callback_data) }
}

/// Changes the events of a descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_event_set_mod(
    event_set: *mut ucs_sys_event_set_t,
    fd: c_int,
    events: ucs_event_set_types_t,
    callback_data: *mut c_void,
) -> ucs_status_t {
    let wanted = to_epoll(events);
    // SAFETY: NULL or live.
    unsafe { control(event_set, libc::EPOLL_CTL_MOD, fd, wanted, callback_data) }
}

/// Removes a descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_event_set_del(
    event_set: *mut ucs_sys_event_set_t,
    fd: c_int,
) -> ucs_status_t {
    // SAFETY: NULL or live.
    unsafe { control(event_set, libc::EPOLL_CTL_DEL, fd, 0, core::ptr::null_mut()) }
}

/// Waits for events, and calls a function for each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_event_set_wait(
    event_set: *mut ucs_sys_event_set_t,
    num_events: *mut c_uint,
    timeout_ms: c_int,
    event_set_handler: ucs_event_set_handler_t,
    arg: *mut c_void,
) -> ucs_status_t {
    // SAFETY: NULL or live; NULL or a number.
    let (set, wanted) = unsafe { (event_set.cast::<EventSet>().as_ref(), num_events.as_mut()) };
    let (Some(set), Some(wanted), Some(handler)) = (set, wanted, event_set_handler) else {
        return Error::InvalidParam.into();
    };
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; MAX_EVENTS];
    let most = (*wanted as usize).clamp(1, MAX_EVENTS) as c_int;
    // SAFETY: the array has room for `most` events.
    let found = unsafe { libc::epoll_wait(set.fd, events.as_mut_ptr(), most, timeout_ms) };
    *wanted = 0;
    let Ok(found) = usize::try_from(found) else {
        let error = std::io::Error::last_os_error();
        if error.kind() == std::io::ErrorKind::Interrupted {
            return Status::INPROGRESS;
        }
        crate::ucs_error!("epoll_wait({}) failed: {error}", set.fd);
        return Error::IoError.into();
    };
    *wanted = found as c_uint;
    for event in events.iter().take(found) {
        let (bits, data) = (event.events, event.u64);
        // SAFETY: the caller's handler, with the pointer that came with the descriptor.
        unsafe { handler(data as *mut c_void, from_epoll(bits), arg) };
    }
    Status::OK
}

/// Frees a set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_event_set_cleanup(event_set: *mut ucs_sys_event_set_t) {
    if event_set.is_null() {
        return;
    }
    // SAFETY: not NULL, so from a create call, and not used any more.
    unsafe {
        let set = Box::from_raw(event_set.cast::<EventSet>());
        if set.owned {
            libc::close(set.fd);
        }
    }
}

/// The epoll descriptor of a set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_event_set_fd_get(
    event_set: *mut ucs_sys_event_set_t,
    event_fd_p: *mut c_int,
) -> ucs_status_t {
    // SAFETY: NULL or live; NULL or writable.
    unsafe {
        match (event_set.cast::<EventSet>().as_ref(), event_fd_p.as_mut()) {
            (Some(set), Some(fd)) => {
                *fd = set.fd;
                Status::OK
            }
            _ => Error::InvalidParam.into(),
        }
    }
}

/// What a handle points to: an epoll descriptor.
///
/// cbindgen:ignore
struct EventSet {
    fd: c_int,
    /// Whether the descriptor is ours to close.
    owned: bool,
}

/// Most events of one wait.
const MAX_EVENTS: usize = 16;

fn make(fd: c_int, owned: bool, event_set_p: *mut *mut ucs_sys_event_set_t) -> ucs_status_t {
    let set = Box::into_raw(Box::new(EventSet { fd, owned }));
    // SAFETY: callers have checked that it is not NULL.
    unsafe { event_set_p.write(set.cast()) };
    Status::OK
}

pub(crate) fn to_epoll(events: ucs_event_set_types_t) -> u32 {
    let events = u32::from(events);
    let pairs = [
        (UCS_EVENT_SET_EVREAD, libc::EPOLLIN),
        (UCS_EVENT_SET_EVWRITE, libc::EPOLLOUT),
        (UCS_EVENT_SET_EVERR, libc::EPOLLERR),
        (UCS_EVENT_SET_EDGE_TRIGGERED, libc::EPOLLET),
    ];
    pairs
        .iter()
        .filter(|(bit, _)| events & bit != 0)
        .fold(0, |set, (_, bit)| set | *bit as u32)
}

pub(crate) fn from_epoll(events: u32) -> ucs_event_set_types_t {
    let pairs = [
        (UCS_EVENT_SET_EVREAD, libc::EPOLLIN),
        (UCS_EVENT_SET_EVWRITE, libc::EPOLLOUT),
        (UCS_EVENT_SET_EVERR, libc::EPOLLERR),
        (UCS_EVENT_SET_EDGE_TRIGGERED, libc::EPOLLET),
    ];
    let set = pairs.iter().filter(|(_, bit)| events & *bit as u32 != 0);
    set.fold(0, |set, (bit, _)| set | *bit) as ucs_event_set_types_t
}

/// Adds, changes or removes a descriptor.
///
/// # Safety
/// `event_set` is NULL or live.
unsafe fn control(
    event_set: *mut ucs_sys_event_set_t,
    operation: c_int,
    fd: c_int,
    events: u32,
    data: *mut c_void,
) -> ucs_status_t {
    // SAFETY: as the caller promises.
    let Some(set) = (unsafe { event_set.cast::<EventSet>().as_ref() }) else {
        return Error::InvalidParam.into();
    };
    let mut event = libc::epoll_event {
        events,
        u64: data as u64,
    };
    // SAFETY: `event` lives for the call.
    if unsafe { libc::epoll_ctl(set.fd, operation, fd, &mut event) } < 0 {
        let error = std::io::Error::last_os_error();
        crate::ucs_error!("epoll_ctl({}, {operation}, {fd}) failed: {error}", set.fd);
        return Error::IoError.into();
    }
    Status::OK
}
