//! NVIDIA's management library: whether devices are linked. Loaded when asked for; a machine without
//! it is one of which nothing is known.

use core::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

type Handle = *mut c_void;

/// `nvmlFieldValue_t`
#[repr(C)]
struct Field {
    id: u32,
    scope: u32,
    timestamp: i64,
    latency: i64,
    value_type: c_int,
    result: c_int,
    value: u64,
}

/// `NVML_FI_DEV_NVLINK_LINK_COUNT`
const LINK_COUNT: u32 = 91;
/// `NVML_VALUE_TYPE_UNSIGNED_INT`
const UNSIGNED_INT: c_int = 1;
/// Room for `nvmlPciInfo_t`, in words.
const PCI_INFO: usize = 32;

struct Library(*mut c_void);

impl Library {
    fn load() -> Option<Library> {
        let flags = libc::RTLD_NOW | libc::RTLD_LOCAL;
        // SAFETY: a terminated string; the library's own constructors run.
        let library = unsafe { libc::dlopen(c"libnvidia-ml.so.1".as_ptr(), flags) };
        (!library.is_null()).then_some(Library(library))
    }

    fn find(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: a library that stays loaded, and a terminated string.
        let at = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!at.is_null()).then_some(at)
    }

    /// Links of the first device, if each of them leads to something.
    fn links(&self) -> Option<u32> {
        type Plain = unsafe extern "C" fn() -> c_int;
        type ByIndex = unsafe extern "C" fn(u32, *mut Handle) -> c_int;
        type Fields = unsafe extern "C" fn(Handle, c_int, *mut Field) -> c_int;
        type Remote = unsafe extern "C" fn(Handle, u32, *mut [u32; PCI_INFO]) -> c_int;
        // SAFETY: the library documents these types for the functions.
        let (init, shutdown, by_index, fields, remote) = unsafe {
            (
                core::mem::transmute::<*mut c_void, Plain>(self.find(c"nvmlInit_v2")?),
                core::mem::transmute::<*mut c_void, Plain>(self.find(c"nvmlShutdown")?),
                core::mem::transmute::<*mut c_void, ByIndex>(
                    self.find(c"nvmlDeviceGetHandleByIndex_v2")?,
                ),
                core::mem::transmute::<*mut c_void, Fields>(
                    self.find(c"nvmlDeviceGetFieldValues")?,
                ),
                core::mem::transmute::<*mut c_void, Remote>(
                    self.find(c"nvmlDeviceGetNvLinkRemotePciInfo_v2")?,
                ),
            )
        };
        // SAFETY: no pointers.
        if unsafe { init() } != 0 {
            return None;
        }
        let count = || {
            let mut device = core::ptr::null_mut();
            // SAFETY: room for the handle.
            if unsafe { by_index(0, &mut device) } != 0 {
                return None;
            }
            let mut field = Field {
                id: LINK_COUNT,
                scope: 0,
                timestamp: 0,
                latency: 0,
                value_type: 0,
                result: -1,
                value: 0,
            };
            // SAFETY: one field, and room for its value.
            let known = unsafe { fields(device, 1, &mut field) } == 0 && field.result == 0;
            if !known || field.value_type != UNSIGNED_INT {
                return None;
            }
            let count = field.value as u32;
            let leads = |link: &u32| {
                let mut there = [0; PCI_INFO];
                // SAFETY: room for what is told.
                unsafe { remote(device, *link, &mut there) == 0 }
            };
            (0..count).all(|link| leads(&link)).then_some(count)
        };
        let found = count();
        // SAFETY: no pointers; ends what `init` began.
        unsafe { shutdown() };
        found
    }
}

/// Whether devices are joined by NVLink: asked once, of the first device, as all are taken to be alike.
pub fn has_links() -> bool {
    static LINKS: OnceLock<bool> = OnceLock::new();
    *LINKS.get_or_init(|| {
        let links = Library::load().and_then(|library| library.links());
        links.is_some_and(|links| links > 0)
    })
}
