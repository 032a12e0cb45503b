//! Reading memory that may not be there.

/// Copies `dst.len()` bytes from `src`; false if they can't all be read. Where the system call
/// is forbidden (a container's filter), the bytes are read directly, as any C library would.
// The C caller gave the pointer as readable; that it may lie is what this is for.
#[allow(clippy::not_unsafe_ptr_arg_deref)]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_read() {
        let bytes = [1, 2, 3, 4];
        let mut out = [0; 4];
        assert!(read(bytes.as_ptr(), &mut out));
        assert_eq!(out, bytes);
    }

    #[test]
    fn an_unmapped_page_is_survived() {
        // SAFETY: a fresh mapping, half of it unmapped; nothing else uses it.
        let map = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let map = libc::mmap(core::ptr::null_mut(), 8192, protection, flags, -1, 0);
            assert_ne!(map, libc::MAP_FAILED);
            assert_eq!(libc::munmap(map.byte_add(4096), 4096), 0);
            map
        };
        let mut out = [0xff; 16];
        assert!(read(map.cast::<u8>().wrapping_add(4080), &mut out));
        assert_eq!(out, [0; 16]);
        assert!(!read(map.cast::<u8>().wrapping_add(4081), &mut out));
        assert!(!read(core::ptr::null(), &mut out));
        // SAFETY: the half that is still mapped.
        assert_eq!(unsafe { libc::munmap(map, 4096) }, 0);
    }
}
