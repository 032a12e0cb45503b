//! Shared objects that are opened while the program runs.

use core::ffi::{CStr, c_void};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// How an object is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mode {
    /// Its symbols serve objects that are loaded later.
    pub global: bool,
    /// It is never unloaded.
    pub forever: bool,
}

/// An object that was opened; it is closed when this goes.
pub struct Object(*mut c_void);

impl Object {
    /// Opens a file.
    ///
    /// # Errors
    /// The loader's reason.
    pub fn open(path: &Path, mode: Mode) -> Result<Object, String> {
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
        let mut flags = libc::RTLD_LAZY;
        flags |= if mode.global {
            libc::RTLD_GLOBAL
        } else {
            libc::RTLD_LOCAL
        };
        if mode.forever {
            flags |= libc::RTLD_NODELETE;
        }
        // SAFETY: a terminated name; what the object runs as it is loaded is its own.
        let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
        if !handle.is_null() {
            return Ok(Object(handle));
        }
        // SAFETY: NULL or a terminated string, valid until this thread's next such call.
        let reason = unsafe {
            let text = libc::dlerror();
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        };
        Err(reason.unwrap_or_else(|| "it can't be opened".to_owned()))
    }

    /// Calls a function without arguments that returns a status, if the object has it itself:
    /// those of objects that it needs don't count.
    pub fn call_own(&self, name: &CStr) -> Option<i8> {
        // SAFETY: an open object and a terminated name; the structures are written by the loader.
        // The function has this type by the interface of modules.
        unsafe {
            let address = libc::dlsym(self.0, name.as_ptr());
            if address.is_null() {
                return None;
            }
            let mut info: libc::Dl_info = core::mem::zeroed();
            let mut map: *mut LinkMap = core::ptr::null_mut();
            let known = libc::dladdr(address, &mut info) != 0
                && dlinfo(self.0, RTLD_DI_LINKMAP, (&raw mut map).cast()) == 0;
            if !known || map.is_null() || (*map).base != info.dli_fbase as usize {
                return None;
            }
            let function = core::mem::transmute::<*mut c_void, extern "C" fn() -> i8>(address);
            Some(function())
        }
    }

    /// It stays open for the life of the process.
    pub fn keep(self) {
        core::mem::forget(self);
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: opened, and closed once.
        unsafe { libc::dlclose(self.0) };
    }
}

/// The beginning of `struct link_map`.
#[repr(C)]
struct LinkMap {
    base: usize,
}

const RTLD_DI_LINKMAP: i32 = 2;

unsafe extern "C" {
    fn dlinfo(handle: *mut c_void, request: i32, info: *mut c_void) -> i32;
}
