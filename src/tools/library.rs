//! The UCX libraries, opened at run time, and how their functions are reached.

use core::ffi::{CStr, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

/// The library that brings all others.
const LIBRARY: &CStr = c"libucp.so.0";

/// Opens the libraries, by the rules of the loader: `LD_LIBRARY_PATH`, then where the program was
/// installed, then the system.
///
/// # Errors
/// The loader's reason.
pub fn open() -> Result<(), String> {
    // SAFETY: a terminated name; what the libraries run as they are loaded is theirs.
    let handle = unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    if !handle.is_null() {
        return Ok(());
    }
    // SAFETY: the reason is a terminated string or NULL, valid until the loader's next call.
    let reason = unsafe { libc::dlerror().as_ref().map(|text| CStr::from_ptr(text)) };
    Err(reason.map_or_else(
        || format!("{LIBRARY:?} can't be opened"),
        |text| text.to_string_lossy().into_owned(),
    ))
}

/// Makes the libraries' log go to standard error, unless the user has said where: for output that
/// another program reads. To be called before [`open`], while the process has one thread.
pub fn log_to_stderr() {
    if std::env::var_os("UCX_LOG_FILE").is_none() {
        // SAFETY: nobody else reads the environment, since there is no other thread yet.
        unsafe { std::env::set_var("UCX_LOG_FILE", "stderr") };
    }
}

/// The address of what the libraries export under this name.
pub fn find(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a terminated name, looked for among all objects that are loaded.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

/// A function of the libraries, looked for when it is first called.
pub struct Symbol {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Symbol {
    pub const fn new(name: &'static CStr) -> Symbol {
        Symbol {
            name,
            address: AtomicPtr::new(null_mut()),
        }
    }

    /// Its address, never NULL. A library without it ends the program.
    #[inline]
    pub fn get(&self) -> *mut c_void {
        let known = self.address.load(Ordering::Relaxed);
        if known.is_null() { self.find() } else { known }
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        let Some(address) = find(self.name) else {
            eprintln!(
                "the UCX libraries that were found have no {}",
                self.name.to_string_lossy()
            );
            std::process::exit(127);
        };
        self.address.store(address, Ordering::Relaxed);
        address
    }
}

/// Declares functions of the libraries. Each must have the type that this crate gives it.
macro_rules! functions {
    ($($(#[doc = $doc:literal])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?;)*) => {$(
        $(#[doc = $doc])*
        ///
        /// # Safety
        /// As the function of that name in the C API.
        #[inline]
        pub unsafe fn $name($($arg: $ty),*) $(-> $ret)? {
            type Function = unsafe extern "C" fn($($ty),*) $(-> $ret)?;
            const _: Function = $crate::abi::prelude::$name;
            static SYMBOL: $crate::tools::library::Symbol = $crate::tools::library::Symbol::new(
                match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => unreachable!(),
                },
            );
            // SAFETY: what is exported under this name has this type, by the C API.
            let function = unsafe { core::mem::transmute::<*mut c_void, Function>(SYMBOL.get()) };
            // SAFETY: the caller's.
            unsafe { function($($arg),*) }
        }
    )*};
}
pub(super) use functions;
