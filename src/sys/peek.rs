//! Reading memory that may not be there.

/// Copies `dst.len()` bytes from `src`; false if they can't all be read. Where the system call
/// is forbidden (a container's filter), the bytes are read directly, as any C library would.
pub fn read(src: *const u8, dst: &mut [u8]) -> bool {
    let local = libc::iovec {
        iov_base: dst.as_mut_ptr().cast(),
        iov_len: dst.len(),
    };
    let remote = libc::iovec {
        iov_base: src.cast_mut().cast(),
        iov_len: dst.len(),
    };
    // SAFETY: `local` is `dst`; the kernel checks `remote`.
    let n = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    if n >= 0 {
        return n as usize == dst.len();
    }
    if std::io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT) {
        return false;
    }
    // SAFETY: the C caller claims that the bytes are there.
    unsafe { core::ptr::copy_nonoverlapping(src, dst.as_mut_ptr(), dst.len()) };
    true
}
