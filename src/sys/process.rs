//! The process and its host: pages, processors, identity.

/// Size of a page in bytes.
pub fn page_size() -> usize {
    // SAFETY: no pointers are passed.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// Number of configured processors, or -1.
pub fn num_cpus() -> i64 {
    // SAFETY: no pointers are passed.
    unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) }
}

/// Random bits from the kernel; of lower quality (time and process) where it gives none.
pub fn random() -> u64 {
    let mut bytes = [0u8; 8];
    // SAFETY: pointer and length describe a local array.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if got == bytes.len() as isize {
        return u64::from_ne_bytes(bytes);
    }
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    (now.as_nanos() as u64).rotate_left(17)
        ^ u64::from(std::process::id()).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
