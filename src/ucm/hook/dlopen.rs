//! `dlopen`, followed by a look at what it has loaded.
//!
//! The loader searches the RPATH of whoever calls it, which would be us; so the caller's is
//! searched here first.

use core::arch::naked_asm;
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::ffi::CString;

use super::{definitions, reloc};

type Dlopen = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;

static ORIGINAL: AtomicUsize = AtomicUsize::new(0);
static RPATH: AtomicBool = AtomicBool::new(true);

/// Looks up the original. False if there is none.
pub(super) fn prepare(rpath: bool) -> bool {
    RPATH.store(rpath, Relaxed);
    if let Some(at) = definitions(c"dlopen")
        .first()
        .filter(|_| ORIGINAL.load(Relaxed) == 0)
    {
        ORIGINAL.store(*at, Relaxed);
    }
    ORIGINAL.load(Relaxed) != 0
}

/// In the place of `dlopen`: passes on where it was called from.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn hook(_: *const c_char, _: c_int) -> *mut c_void {
    #[cfg(target_arch = "x86_64")]
    naked_asm!("mov rdx, [rsp]", "jmp {from}", from = sym open_from);
    #[cfg(target_arch = "aarch64")]
    naked_asm!("mov x2, x30", "b {from}", from = sym open_from);
}

/// # Safety
/// As for `dlopen`; `caller` is an address of whoever called it.
unsafe extern "C" fn open_from(
    name: *const c_char,
    flags: c_int,
    caller: *const c_void,
) -> *mut c_void {
    // SAFETY: looked up as `dlopen`; the caller's own arguments.
    unsafe {
        let original = core::mem::transmute::<usize, Dlopen>(ORIGINAL.load(Relaxed));
        let mut handle = core::ptr::null_mut();
        if RPATH.load(Relaxed)
            && !name.is_null()
            && !CStr::from_ptr(name).to_bytes().contains(&b'/')
        {
            // What is there already wins, as it does in the loader.
            handle = original(name, flags | libc::RTLD_NOLOAD);
            if handle.is_null() {
                handle = search(original, CStr::from_ptr(name), flags, caller);
            }
        }
        if handle.is_null() {
            handle = original(name, flags);
        }
        if !handle.is_null() {
            reloc::refresh();
        }
        handle
    }
}

#[repr(C)]
struct SearchPath {
    name: *const c_char,
    flags: c_uint,
}

#[repr(C)]
struct SearchInfo {
    size: usize,
    count: c_uint,
    paths: [SearchPath; 0],
}

const RTLD_DL_LINKMAP: c_int = 2;
const RTLD_DI_SERINFO: c_int = 4;
const RTLD_DI_SERINFOSIZE: c_int = 5;

unsafe extern "C" {
    fn dladdr1(
        address: *const c_void,
        info: *mut libc::Dl_info,
        extra: *mut *const libc::Elf64_Sym,
        flags: c_int,
    ) -> c_int;
    fn dlinfo(handle: *mut c_void, request: c_int, info: *mut c_void) -> c_int;
}

/// Opens a library in the folders that the loader would search for the caller.
///
/// # Safety
/// As for `dlopen`.
unsafe fn search(
    original: Dlopen,
    name: &CStr,
    flags: c_int,
    caller: *const c_void,
) -> *mut c_void {
    // SAFETY: plain data for which zero is a value; the loader fills in the rest; a map of an
    // object is its handle, and the caller's object stays loaded while it calls.
    unsafe {
        let mut info: libc::Dl_info = core::mem::zeroed();
        let mut object: *mut c_void = core::ptr::null_mut();
        let mut head: SearchInfo = core::mem::zeroed();
        if dladdr1(caller, &mut info, (&raw mut object).cast(), RTLD_DL_LINKMAP) == 0
            || object.is_null()
            || dlinfo(object, RTLD_DI_SERINFOSIZE, (&raw mut head).cast()) != 0
        {
            return core::ptr::null_mut();
        }
        let mut room = vec![0u64; head.size.div_ceil(8) + 2];
        let full: *mut SearchInfo = room.as_mut_ptr().cast();
        (*full).size = head.size;
        (*full).count = head.count;
        if dlinfo(object, RTLD_DI_SERINFO, full.cast()) != 0 {
            return core::ptr::null_mut();
        }
        let first = (&raw const (*full).paths).cast::<SearchPath>();
        for path in core::slice::from_raw_parts(first, (*full).count as usize) {
            let folder = CStr::from_ptr(path.name).to_bytes();
            let file = [folder, b"/", name.to_bytes()].concat();
            let Ok(file) = CString::new(file) else {
                continue;
            };
            if libc::access(file.as_ptr(), libc::R_OK) != 0 {
                continue;
            }
            let handle = original(file.as_ptr(), flags);
            if !handle.is_null() {
                return handle;
            }
        }
        core::ptr::null_mut()
    }
}
