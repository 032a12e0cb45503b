//! Code that may be written for a while.

use core::ffi::{c_int, c_void};

use crate::sys::process::{page_size, without_signals};
use crate::ucs::status::{Error, Result};

/// Has `change` run while the code at these addresses may be written; it is told whether its thread
/// is the only one. Nothing that it does may call what is being changed, and no signal handler runs
/// that may. The code is read-only again in any case.
///
/// # Errors
/// `Unsupported` if the protection of a page can't be changed.
pub fn while_writable(
    addresses: impl Iterator<Item = usize>,
    change: impl FnOnce(bool),
) -> Result<()> {
    let mut pages: Vec<usize> = addresses.map(|at| at & !(page_size() - 1)).collect();
    pages.sort_unstable();
    pages.dedup();
    let threads = std::fs::read_dir("/proc/self/task").map_or(2, Iterator::count);
    let writable = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    let done = protect(&pages, writable).map(|()| without_signals(|| change(threads == 1)));
    let restored = protect(&pages, libc::PROT_READ | libc::PROT_EXEC);
    done.and(restored)
}

fn protect(pages: &[usize], protection: c_int) -> Result<()> {
    for page in pages {
        let at: *mut c_void = core::ptr::with_exposed_provenance_mut(*page);
        // SAFETY: code stays readable and executable, whatever else is allowed.
        if unsafe { libc::mprotect(at, page_size(), protection) } != 0 {
            return Err(Error::Unsupported);
        }
    }
    Ok(())
}
