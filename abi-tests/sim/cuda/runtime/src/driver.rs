//! The functions of `libcuda.so.1` that the runtime is made of, found when first needed.

use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

/// `cudaErrorInsufficientDriver`
const NO_DRIVER: c_int = 35;

fn library() -> *mut c_void {
    static LIBRARY: OnceLock<usize> = OnceLock::new();
    // SAFETY: a string; the library stays.
    let open = || unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) as usize };
    *LIBRARY.get_or_init(open) as *mut c_void
}

pub fn find(name: &CStr) -> Result<*mut c_void, c_int> {
    if library().is_null() {
        return Err(NO_DRIVER);
    }
    // SAFETY: a handle and a string.
    let found = unsafe { libc::dlsym(library(), name.as_ptr()) };
    if found.is_null() {
        Err(NO_DRIVER)
    } else {
        Ok(found)
    }
}

/// Calls a driver function: `cu!(cuMemFree_v2(at: u64))`. The answer is a runtime error, whose
/// numbers are the driver's for all that the simulated driver gives.
macro_rules! cu {
    ($name:ident($($value:expr => $ty:ty),* $(,)?)) => {{
        static ADDRESS: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
        let name = std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes());
        let address = match ADDRESS.get() {
            Some(address) => Ok(*address),
            None => crate::driver::find(name.unwrap_or_default())
                .map(|a| *ADDRESS.get_or_init(|| a as usize)),
        };
        address.and_then(|address| {
            // SAFETY: the driver's function of that name has these arguments.
            let function: unsafe extern "C" fn($($ty),*) -> std::ffi::c_int =
                unsafe { std::mem::transmute(address) };
            // SAFETY: as above; pointers are the caller's.
            match unsafe { function($($value),*) } {
                0 => Ok(()),
                code => Err(code),
            }
        })
    }};
}
