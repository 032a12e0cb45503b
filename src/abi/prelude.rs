//! Every public name of the C API, with the C types that the modules of the boundary use.

pub use core::ffi::{
    c_char, c_double, c_float, c_int, c_long, c_longlong, c_short, c_uchar, c_uint, c_ulong,
    c_ulonglong, c_ushort, c_void,
};
pub use libc::{
    FILE, cpu_set_t, dirent, ifaddrs, ifreq, iovec, key_t, mode_t, off_t, pid_t, pthread_mutex_t,
    pthread_once_t, pthread_spinlock_t, pthread_t, sa_family_t, sighandler_t, sigset_t, sockaddr,
    sockaddr_storage, socklen_t, ssize_t, timespec, timeval,
};

pub use super::mirror::Mirror;
pub use super::ucm::*;
pub use super::ucp::*;
pub use super::ucs::*;
pub use super::uct::*;
pub use super::view::{Attrs, Masked, Params};
pub use crate::ucs::status::{Error, Status};

/// A `va_list` argument: on x86_64 an array that decays to a pointer.
pub type va_list = *mut c_void;

/// What an entry point returns whose work isn't there yet.
pub const NOT_IMPLEMENTED: Status = Status(Error::NotImplemented as i8);

/// [`NOT_IMPLEMENTED`] in the form of a call that returns a request or a status.
pub const NOT_IMPLEMENTED_PTR: *mut c_void = status_ptr(NOT_IMPLEMENTED);

/// A status as C calls return it in place of a request: the value itself, as a pointer.
pub const fn status_ptr(status: Status) -> *mut c_void {
    core::ptr::without_provenance_mut(status.0 as isize as usize)
}
