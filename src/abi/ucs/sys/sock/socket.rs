//! Entry points of `ucs/sys/sock.h`: sockets.

use super::address::{family_of, known, length_of, sockaddr_of};
use crate::abi::prelude::*;
use crate::abi::ucs::text;
use crate::ucs::sockaddr as addr_text;

/// Closes a descriptor, which becomes -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_close_fd(fd_p: *mut c_int) {
    if fd_p.is_null() {
        return;
    }
    // SAFETY: not NULL; the caller owns the descriptor that it names.
    unsafe {
        if *fd_p == -1 {
            return;
        }
        if libc::close(*fd_p) < 0 {
            crate::ucs_warn!("failed to close fd {}: {}", *fd_p, errno());
            return;
        }
        *fd_p = -1;
    }
}

/// Creates a socket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_create(
    domain: c_int,
    type_: c_int,
    protocol: c_int,
    fd_p: *mut c_int,
) -> ucs_status_t {
    if fd_p.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: no pointers are passed.
    let fd = unsafe { libc::socket(domain, type_, protocol) };
    if fd < 0 {
        report(format_args!("socket create failed"), &errno());
        return Error::IoError.into();
    }
    // SAFETY: not NULL.
    unsafe { fd_p.write(fd) };
    Status::OK
}

/// Sets an option of a socket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_setopt(
    fd: c_int,
    level: c_int,
    optname: c_int,
    optval: *const c_void,
    optlen: socklen_t,
) -> ucs_status_t {
    // SAFETY: the caller passes a value of the length it says.
    if unsafe { libc::setsockopt(fd, level, optname, optval, optlen) } < 0 {
        let error = errno();
        crate::ucs_error!("failed to set option {optname} of level {level} on fd {fd}: {error}");
        return Error::IoError.into();
    }
    Status::OK
}

/// Value of an option of a socket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_getopt(
    fd: c_int,
    level: c_int,
    optname: c_int,
    optval: *mut c_void,
    optlen: socklen_t,
) -> ucs_status_t {
    let mut length = optlen;
    // SAFETY: the caller passes room of the length it says.
    if unsafe { libc::getsockopt(fd, level, optname, optval, &mut length) } < 0 {
        let error = errno();
        crate::ucs_error!("failed to get option {optname} of level {level} on fd {fd}: {error}");
        return Error::IoError.into();
    }
    if length != optlen {
        crate::ucs_error!("option {optname} has length {length}, not {optlen}");
        return Error::IoError.into();
    }
    Status::OK
}

/// Connects a socket; `UCS_INPROGRESS` if that goes on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_connect(fd: c_int, dest_addr: *const sockaddr) -> ucs_status_t {
    // SAFETY: the caller passes an address.
    let addr = match unsafe { known(dest_addr) } {
        Ok(addr) => addr,
        Err(error) => return error.into(),
    };
    loop {
        // SAFETY: the address is as long as its family says.
        if unsafe { libc::connect(fd, dest_addr, length_of(&addr)) } == 0 {
            return Status::OK;
        }
        let error = errno();
        match error.raw_os_error() {
            Some(libc::EINPROGRESS) => return Status::INPROGRESS,
            Some(libc::EISCONN) => return Error::AlreadyExists.into(),
            Some(libc::EINTR) => {}
            _ => {
                crate::ucs_error!(
                    "connect(fd={fd}, {}) failed: {error}",
                    addr_text::format(&addr)
                );
                return Error::Unreachable.into();
            }
        }
    }
}

/// Accepts a connection.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_accept(
    fd: c_int,
    addr: *mut sockaddr,
    length_ptr: *mut socklen_t,
    accept_fd: *mut c_int,
) -> ucs_status_t {
    if accept_fd.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: the caller passes room for an address and its length, or NULL for both.
    let new = unsafe { libc::accept(fd, addr, length_ptr) };
    // SAFETY: not NULL.
    unsafe { accept_fd.write(new) };
    if new < 0 {
        let error = errno();
        let status = io_status(&error);
        if status != Error::NoProgress {
            report(format_args!("accept failed"), &error);
        }
        return status.into();
    }
    Status::OK
}

/// Address of the peer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_getpeername(
    fd: c_int,
    peer_addr: *mut sockaddr_storage,
    peer_addr_len: *mut socklen_t,
) -> ucs_status_t {
    if peer_addr.is_null() || peer_addr_len.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: both are not NULL, and a sockaddr_storage has the length written.
    let failed = unsafe {
        peer_addr_len.write(size_of::<sockaddr_storage>() as socklen_t);
        libc::getpeername(fd, peer_addr.cast(), peer_addr_len) < 0
    };
    if !failed {
        return Status::OK;
    }
    let error = errno();
    if matches!(
        error.raw_os_error(),
        Some(libc::ENOTCONN | libc::ECONNRESET)
    ) {
        return Error::NotConnected.into();
    }
    crate::ucs_error!("getpeername(fd={fd}) failed: {error}");
    Error::IoError.into()
}

/// 1 if a socket is connected.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_is_connected(fd: c_int) -> c_int {
    // SAFETY: zero is a value of this plain struct.
    let mut storage: sockaddr_storage = unsafe { core::mem::zeroed() };
    let mut length = 0;
    // SAFETY: both are writable.
    let status = unsafe { ucs_socket_getpeername(fd, &mut storage, &mut length) };
    c_int::from(status == Status::OK)
}

/// Sets the buffers of a socket, in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_set_buffer_size(
    fd: c_int,
    sockopt_sndbuf: usize,
    sockopt_rcvbuf: usize,
) -> ucs_status_t {
    for (option, size) in [
        (libc::SO_SNDBUF, sockopt_sndbuf),
        (libc::SO_RCVBUF, sockopt_rcvbuf),
    ] {
        if size == crate::ucs::config::SIZE_AUTO {
            continue;
        }
        let size = c_int::try_from(size).unwrap_or(c_int::MAX);
        let (value, length) = ((&raw const size).cast(), size_of::<c_int>() as socklen_t);
        // SAFETY: value and length describe an int.
        let status = unsafe { ucs_socket_setopt(fd, libc::SOL_SOCKET, option, value, length) };
        if status != Status::OK {
            return status;
        }
    }
    Status::OK
}

/// Creates a socket that listens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_server_init(
    saddr: *const sockaddr,
    socklen: socklen_t,
    backlog: c_int,
    silent_bind: c_int,
    reuse_addr: c_int,
    listen_fd: *mut c_int,
) -> ucs_status_t {
    // SAFETY: the caller passes an address or NULL.
    let Some(family) = (unsafe { family_of(saddr) }).filter(|_| !listen_fd.is_null()) else {
        return Error::InvalidParam.into();
    };
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    let mut fd = -1;
    // SAFETY: `fd` is writable.
    let status = unsafe { ucs_socket_create(c_int::from(family), kind, 0, &mut fd) };
    if status != Status::OK {
        return status;
    }
    let one: c_int = 1;
    // SAFETY: value and length describe an int; the caller's address has the length it says.
    let error = unsafe {
        let length = size_of::<c_int>() as socklen_t;
        if reuse_addr != 0 {
            ucs_socket_setopt(
                fd,
                libc::SOL_SOCKET,
                libc::SO_REUSEADDR,
                (&raw const one).cast(),
                length,
            );
        }
        if libc::bind(fd, saddr, socklen) == 0 && libc::listen(fd, backlog) == 0 {
            listen_fd.write(fd);
            return Status::OK;
        }
        errno()
    };
    let in_use = error.raw_os_error() == Some(libc::EADDRINUSE);
    let silent = in_use && silent_bind != 0;
    let level = if silent {
        crate::ucs::log::Level::Debug
    } else {
        crate::ucs::log::Level::Error
    };
    // SAFETY: the caller passes an address.
    let name = unsafe { sockaddr_of(saddr) }
        .map(|a| addr_text::format(&a))
        .unwrap_or_default();
    crate::ucs_log!(level, "can't listen on {name}: {error}");
    // SAFETY: ours.
    unsafe { ucs_close_fd(&mut fd) };
    if in_use {
        Error::Busy.into()
    } else {
        Error::IoError.into()
    }
}

/// The longest queue of connections.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_max_conn() -> c_int {
    let text = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap_or_default();
    text.trim().parse().unwrap_or(libc::SOMAXCONN)
}

/// Sends without blocking; `*length_p` becomes what was sent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_send_nb(
    fd: c_int,
    data: *const c_void,
    length_p: *mut usize,
) -> ucs_status_t {
    // SAFETY: the caller passes data of the length behind `length_p`.
    unsafe { once(length_p, |n| libc::send(fd, data, n, libc::MSG_NOSIGNAL)) }
}

/// Receives without blocking; `*length_p` becomes what was received.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_recv_nb(
    fd: c_int,
    data: *mut c_void,
    flags: c_int,
    length_p: *mut usize,
) -> ucs_status_t {
    // SAFETY: the caller passes room of the length behind `length_p`.
    unsafe {
        once(length_p, |n| {
            libc::recv(fd, data, n, libc::MSG_NOSIGNAL | flags)
        })
    }
}

/// Sends all bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_send(
    fd: c_int,
    data: *const c_void,
    length: usize,
) -> ucs_status_t {
    // SAFETY: the caller passes data of this length, and `done` never exceeds it.
    all(length, |done, left| unsafe {
        libc::send(fd, data.byte_add(done), left, libc::MSG_NOSIGNAL)
    })
}

/// Sends a list of buffers without blocking.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_sendv_nb(
    fd: c_int,
    iov: *mut iovec,
    iov_cnt: usize,
    length_p: *mut usize,
) -> ucs_status_t {
    // SAFETY: zero is a value of this plain struct.
    let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
    message.msg_iov = iov;
    message.msg_iovlen = iov_cnt;
    // SAFETY: the caller passes a list of this many entries.
    unsafe {
        once(length_p, |_| {
            libc::sendmsg(fd, &message, libc::MSG_NOSIGNAL)
        })
    }
}

/// Receives all bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_recv(
    fd: c_int,
    data: *mut c_void,
    length: usize,
) -> ucs_status_t {
    // SAFETY: the caller passes room of this length, and `done` never exceeds it.
    all(length, |done, left| unsafe {
        libc::recv(fd, data.byte_add(done), left, libc::MSG_NOSIGNAL)
    })
}

/// Address of a socket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_getname(
    fd: c_int,
    sock_addr: *mut sockaddr_storage,
    addr_len: *mut socklen_t,
) -> ucs_status_t {
    if sock_addr.is_null() || addr_len.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: both are not NULL, and a sockaddr_storage has the length written.
    let failed = unsafe {
        addr_len.write(size_of::<sockaddr_storage>() as socklen_t);
        libc::getsockname(fd, sock_addr.cast(), addr_len) < 0
    };
    if failed {
        crate::ucs_error!("getsockname(fd={fd}) failed: {}", errno());
        return Error::IoError.into();
    }
    Status::OK
}

/// Address of a socket as text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_socket_getname_str(
    fd: c_int,
    str: *mut c_char,
    max_size: usize,
) -> *const c_char {
    // SAFETY: zero is a value of this plain struct; the caller has room for the text.
    unsafe {
        let mut storage: sockaddr_storage = core::mem::zeroed();
        let mut length = 0;
        if ucs_socket_getname(fd, &mut storage, &mut length) != Status::OK {
            text::write(str, max_size, b"-");
            return str;
        }
        ucs_sockaddr_str((&raw const storage).cast(), str, max_size)
    }
}

pub(super) fn errno() -> std::io::Error {
    std::io::Error::last_os_error()
}

/// Status of a failed input or output call; `UCS_ERR_NO_PROGRESS` when it may be tried again.
pub(super) fn io_status(error: &std::io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EINTR) => Error::NoProgress,
        Some(libc::ECONNRESET | libc::EPIPE) => Error::ConnectionReset,
        Some(libc::ECONNREFUSED) => Error::Rejected,
        Some(libc::ETIMEDOUT) => Error::TimedOut,
        _ => Error::IoError,
    }
}

pub(super) fn report(what: core::fmt::Arguments<'_>, error: &std::io::Error) {
    if error.raw_os_error() == Some(libc::EMFILE) {
        crate::ucs_error!("{what}: {error}; raise the limit of open files (ulimit -n)");
    } else {
        crate::ucs_error!("{what}: {error}");
    }
}

/// One call that moves at most the number of bytes behind `length_p`, where the number that it
/// did move is then written.
///
/// # Safety
/// `length_p` is NULL or holds a length.
unsafe fn once(length_p: *mut usize, call: impl FnOnce(usize) -> ssize_t) -> ucs_status_t {
    if length_p.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: not NULL.
    let wanted = unsafe { length_p.read() };
    let moved = call(wanted);
    let error = errno();
    // SAFETY: not NULL.
    unsafe { length_p.write(usize::try_from(moved).unwrap_or(0)) };
    match moved {
        1.. => Status::OK,
        0 if wanted == 0 => Status::OK,
        // The peer has closed its side.
        0 => Error::NotConnected.into(),
        _ => {
            let status = io_status(&error);
            if status == Error::IoError {
                crate::ucs_error!("socket transfer failed: {error}");
            }
            status.into()
        }
    }
}

/// Calls until all bytes are moved; `call` gets what is done and what is left.
fn all(length: usize, call: impl Fn(usize, usize) -> ssize_t) -> ucs_status_t {
    let mut done = 0;
    while done < length {
        let mut left = length - done;
        // SAFETY: the length is ours.
        let status = unsafe { once(&mut left, |left| call(done, left)) };
        done += left.min(length - done);
        if status != Status::OK && status != Error::NoProgress.into() {
            return status;
        }
    }
    Status::OK
}
