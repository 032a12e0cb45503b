//! `ucs/sys/uid.h`.

/// A number that tells this host from others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_get_system_id() -> u64 {
    crate::ucs::host::system_id()
}
