//! Events of device memory: what a CUDA driver allocates and frees.
//!
//! The driver's functions are changed so that each call passes here. They keep the cache of memory
//! types true, and cause `MEM_TYPE_ALLOC` and `MEM_TYPE_FREE`. This reaches every caller, however
//! it found the function. Where code can't be changed there are no such events, and who wants to
//! know asks the driver about every address.

#[cfg(target_arch = "x86_64")]
mod decode;
mod functions;
mod opened;
#[cfg(target_arch = "x86_64")]
mod patch;

use core::ffi::{CStr, c_void};

use parking_lot::Mutex;

pub use opened::of_size;

use crate::ucs::config::Config;
use crate::ucs::status::{Error, Result};

/// Whether the hooks are there.
static INSTALLED: Mutex<bool> = Mutex::new(false);

/// The driver's library, if it is in the process.
fn library() -> Option<*mut c_void> {
    let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
    // SAFETY: a terminated string; nothing is loaded by this.
    let handle = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), flags) };
    (!handle.is_null()).then_some(handle)
}

/// Whether the driver's library is in the process.
pub fn is_loaded() -> bool {
    let Some(handle) = library() else {
        return false;
    };
    // SAFETY: opened just now.
    unsafe { libc::dlclose(handle) };
    true
}

fn find(library: *mut c_void, name: &CStr) -> Option<usize> {
    // SAFETY: an open library and a terminated string.
    let at = unsafe { libc::dlsym(library, name.as_ptr()) };
    (!at.is_null()).then(|| at.expose_provenance())
}

/// Sees to it that the driver's allocations and releases are known.
///
/// # Errors
/// `NoDevice` without a driver in the process, `Unsupported` where its functions can't be changed
/// or `UCX_MEM_EVENTS` or `UCX_MEM_CUDA_HOOK_MODE` forbid it.
pub fn install() -> Result<()> {
    let mut installed = INSTALLED.lock();
    if *installed {
        return Ok(());
    }
    let config = Config::global();
    let modes = config.list("MEM_CUDA_HOOK_MODE");
    if !config.bool_("MEM_EVENTS") || !modes.iter().any(|mode| mode == "bistro") {
        crate::ucs_debug!("events of device memory are switched off");
        return Err(Error::Unsupported);
    }
    let library = library().ok_or(Error::NoDevice)?;
    let found: Vec<(functions::Function, usize)> = functions::all()
        .filter_map(|function| Some((function, find(library, function.name)?)))
        .collect();
    if let Some(range) = find(library, c"cuMemGetAddressRange_v2") {
        opened::RANGE.store(range, core::sync::atomic::Ordering::Relaxed);
    }
    // SAFETY: opened above. Whoever loaded it has it open still.
    unsafe { libc::dlclose(library) };
    change(&found)?;
    crate::ucs_debug!(
        "{} functions of the driver report their memory",
        found.len()
    );
    *installed = true;
    Ok(())
}

#[cfg(target_arch = "x86_64")]
fn change(found: &[(functions::Function, usize)]) -> Result<()> {
    let grace = Config::global().time("MEM_BISTRO_GRACE_DURATION");
    let grace = core::time::Duration::try_from_secs_f64(grace).unwrap_or_default();
    patch::install(found, grace.min(core::time::Duration::from_secs(10)))
}

#[cfg(not(target_arch = "x86_64"))]
fn change(_: &[(functions::Function, usize)]) -> Result<()> {
    Err(Error::Unsupported)
}
