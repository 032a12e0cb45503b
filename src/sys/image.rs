//! The object file that this code was loaded from.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Path of the shared object (or program) that contains the library.
pub fn own_path() -> Option<PathBuf> {
    let here = own_path as fn() -> Option<PathBuf>;
    // SAFETY: Dl_info is plain data for which zero is a value.
    let mut info: libc::Dl_info = unsafe { core::mem::zeroed() };
    // SAFETY: any address may be asked for; `info` is writable.
    let found = unsafe { libc::dladdr(here as *const libc::c_void, &mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr filled in a string that lives as long as the object is loaded, which it is
    // while its own code runs.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}
