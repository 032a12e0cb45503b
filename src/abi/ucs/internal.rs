//! Entry points and types of headers that UCX does not install, and that its own tools
//! (`ucx_info`, `ucx_perftest`) import all the same. No header is generated from this module.

use std::ffi::CString;
use std::sync::OnceLock;

use crate::abi::prelude::*;
use crate::abi::support::cstr;
use crate::sys::dl::Mode;
use crate::sys::process;
use crate::ucs::arch::{self, Clock};
use crate::ucs::modules;

/// Storage of an asynchronous context: 80 bytes, owned by the caller, private to this library.
#[repr(C)]
pub struct ucs_async_context_storage {
    pub opaque: [u64; 10],
}

/// Vendor of the processor, as UCX 1.13 numbers them.
#[unsafe(no_mangle)]
pub extern "C" fn ucs_arch_get_cpu_vendor() -> c_int {
    arch::vendor() as c_int
}

/// Model of the processor, as UCX 1.13 numbers them.
#[unsafe(no_mangle)]
pub extern "C" fn ucs_arch_get_cpu_model() -> c_int {
    arch::model_1_13() as c_int
}

/// Name of the processor's vendor.
#[unsafe(no_mangle)]
pub extern "C" fn ucs_cpu_vendor_name() -> *const c_char {
    static NAME: OnceLock<CString> = OnceLock::new();
    name(&NAME, arch::vendor_name())
}

/// Name of the processor's model.
#[unsafe(no_mangle)]
pub extern "C" fn ucs_cpu_model_name() -> *const c_char {
    static NAME: OnceLock<CString> = OnceLock::new();
    name(&NAME, arch::model_name())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_async_context_init(
    async_: *mut ucs_async_context_storage,
    mode: ucs_async_mode_t,
) -> ucs_status_t {
    if async_.is_null() {
        return Error::InvalidParam.into();
    }
    if mode > UCS_ASYNC_MODE_POLL {
        crate::ucs_error!("unknown mode {mode} of an asynchronous context");
        return Error::InvalidParam.into();
    }
    // SAFETY: not NULL, so storage of the caller's.
    unsafe { super::r#async::context::init(async_, mode) };
    Status::OK
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_async_context_cleanup(async_: *mut ucs_async_context_storage) {
    if !async_.is_null() {
        // SAFETY: initialised, and not used any more.
        unsafe { super::r#async::context::clean_up(async_) };
    }
}

/// Bytes from the C heap; `name` is for memory tracking, which isn't done here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_malloc(size: usize, name: *const c_char) -> *mut c_void {
    let _ = name;
    // SAFETY: malloc accepts any size.
    unsafe { libc::malloc(size) }
}

/// Frees what [`ucs_malloc`] gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_free(ptr: *mut c_void) {
    // SAFETY: the caller passes NULL or a pointer from `ucs_malloc`.
    unsafe { libc::free(ptr) }
}

#[unsafe(no_mangle)]
pub extern "C" fn ucs_generate_uuid(seed: u64) -> u64 {
    crate::sys::event::random_u64().wrapping_add(seed)
}

#[unsafe(no_mangle)]
pub extern "C" fn ucs_get_cpu_clocks_per_sec() -> f64 {
    let clock = arch::clock();
    // Inline functions of the tools ask this variable how they shall take the time.
    let rdtsc = if matches!(clock, Clock::Tsc(_)) {
        UCS_YES
    } else {
        UCS_NO
    };
    // SAFETY: an exported object of ours, or a copy of it in the executable, four bytes long.
    unsafe { ucs_arch_x86_enable_rdtsc.get().write(rdtsc) };
    clock.per_second()
}

/// Prepares the conversion of the time stamp counter to seconds.
#[unsafe(no_mangle)]
pub extern "C" fn ucs_x86_init_tsc_freq() {
    ucs_get_cpu_clocks_per_sec();
}

#[unsafe(no_mangle)]
pub extern "C" fn ucs_get_page_size() -> usize {
    process::page_size()
}

#[unsafe(no_mangle)]
pub extern "C" fn ucs_sys_get_num_cpus() -> c_long {
    process::num_cpus()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sys_getaffinity(cpuset: *mut cpu_set_t) -> c_int {
    if cpuset.is_null() {
        return -1;
    }
    // SAFETY: not NULL, so room for a set.
    unsafe { libc::sched_getaffinity(0, size_of::<cpu_set_t>(), cpuset) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sys_setaffinity(cpuset: *mut cpu_set_t) -> c_int {
    if cpuset.is_null() {
        return -1;
    }
    // SAFETY: not NULL, so a set.
    unsafe { libc::sched_setaffinity(0, size_of::<cpu_set_t>(), cpuset) }
}

#[unsafe(no_mangle)]
pub extern "C" fn ucs_sys_dmi_product_name() -> *const c_char {
    static NAME: OnceLock<CString> = OnceLock::new();
    match NAME.get() {
        Some(known) => known.as_ptr(),
        None => name(&NAME, &arch::product_name()),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn ucs_sys_get_lib_path() -> *const c_char {
    static NAME: OnceLock<CString> = OnceLock::new();
    let path = crate::sys::image::own_path();
    name(
        &NAME,
        &path.map_or_else(String::new, |path| path.to_string_lossy().into_owned()),
    )
}

/// Modules are never unloaded; their symbols serve what is loaded later.
const UCS_MODULE_LOAD_FLAG_NODELETE: c_uint = 1 << 0;
const UCS_MODULE_LOAD_FLAG_GLOBAL: c_uint = 1 << 1;

/// Loads the modules of a framework, once for each `init_once`. `modules` names those that are
/// expected, each after a colon. Transports are no modules here: all are built in.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_load_modules(
    framework: *const c_char,
    modules: *const c_char,
    init_once: *mut ucs_init_once_t,
    flags: c_uint,
) {
    // SAFETY: NULL or terminated strings, by the API.
    let (framework, expected) = unsafe { (cstr::text(framework), cstr::text(modules)) };
    let (Some(framework), false) = (framework, init_once.is_null()) else {
        return;
    };
    let mode = Mode {
        global: flags & UCS_MODULE_LOAD_FLAG_GLOBAL != 0,
        forever: flags & UCS_MODULE_LOAD_FLAG_NODELETE != 0,
    };
    // SAFETY: initialised by the program, with a lock that guards the mark.
    unsafe {
        libc::pthread_mutex_lock(&raw mut (*init_once).lock);
        if (*init_once).initialized == 0 {
            modules::load(&framework, expected.as_deref().unwrap_or(""), mode);
            (*init_once).initialized = 1;
        }
        libc::pthread_mutex_unlock(&raw mut (*init_once).lock);
    }
}

/// A C string that lives as long as the process.
fn name(slot: &'static OnceLock<CString>, text: &str) -> *const c_char {
    slot.get_or_init(|| CString::new(text).unwrap_or_default())
        .as_ptr()
}
