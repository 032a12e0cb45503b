//! Names of functions and of errors.

use crate::abi::*;
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::OnceLock;

/// Names and texts with their closing zeros, made once.
fn texts() -> &'static [(i32, CString, CString)] {
    static TEXTS: OnceLock<Vec<(i32, CString, CString)>> = OnceLock::new();
    TEXTS.get_or_init(|| {
        let text = |s: &str| CString::new(s).unwrap_or_default();
        RESULTS
            .iter()
            .map(|(code, name, words)| (*code, text(name), text(words)))
            .collect()
    })
}

fn find(code: i32) -> Option<&'static (i32, CString, CString)> {
    texts().iter().find(|t| t.0 == code)
}

api! { early fn cuGetErrorName(code: i32, name: *mut *const c_char) {
    let found = find(code);
    put(name, found.map_or(std::ptr::null(), |t| t.1.as_ptr()))?;
    found.map(drop).ok_or(INVALID_VALUE)
} }
api! { early fn cuGetErrorString(code: i32, text: *mut *const c_char) {
    let found = find(code);
    put(text, found.map_or(std::ptr::null(), |t| t.2.as_ptr()))?;
    found.map(drop).ok_or(INVALID_VALUE)
} }

/// The newest version of a function that has several is the one with the highest number.
fn look_up(name: &CStr) -> Answer<*mut c_void> {
    static SELF: OnceLock<u64> = OnceLock::new();
    // SAFETY: this library is loaded, so this only finds it; the handle is never closed.
    let me = *SELF.get_or_init(|| unsafe {
        libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) as u64
    });
    let base = name.to_str().map_err(|_| INVALID_VALUE)?;
    for suffix in ["_v4", "_v3", "_v2", ""] {
        let full = CString::new(format!("{base}{suffix}")).map_err(|_| INVALID_VALUE)?;
        // SAFETY: a handle of a library, and a string.
        let found = unsafe { libc::dlsym(me as *mut c_void, full.as_ptr()) };
        if !found.is_null() {
            return Ok(found);
        }
    }
    Err(NOT_FOUND)
}

/// `CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND`
const SYMBOL_NOT_FOUND: i32 = 1;

api! { early fn cuGetProcAddress_v2(name: *const c_char, out: *mut *mut c_void, _version: i32, _flags: u64, status: *mut i32) {
    if name.is_null() || out.is_null() {
        return Err(INVALID_VALUE);
    }
    let found = look_up(CStr::from_ptr(name));
    put_if(status, if found.is_ok() { 0 } else { SYMBOL_NOT_FOUND });
    put(out, found.unwrap_or(std::ptr::null_mut()))?;
    found.map(drop)
} }
api! { early fn cuGetProcAddress(name: *const c_char, out: *mut *mut c_void, _version: i32, _flags: u64) {
    if name.is_null() {
        return Err(INVALID_VALUE);
    }
    let found = look_up(CStr::from_ptr(name))?;
    put(out, found)
} }
// The tables that NVIDIA's own libraries ask for are not documented.
api! { early fn cuGetExportTable(table: *mut *const c_void, _id: *const Uuid) {
    put_if(table, std::ptr::null());
    Err(NOT_FOUND)
} }
