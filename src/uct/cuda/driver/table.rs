//! The driver's functions that we use: found by name, called by type.

use super::Missing;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::fmt;

/// `CUdeviceptr`
pub type Address = u64;
/// `CUcontext`, `CUstream`, `CUevent`: opaque pointers of the driver.
pub type Opaque = *mut c_void;
/// `CUipcMemHandle`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Token(pub [u8; 64]);

/// `CUmemAccessDesc`: who may use memory, and how.
#[repr(C)]
pub struct Access {
    location_type: c_int,
    location: c_int,
    flags: c_int,
}

impl Access {
    /// Reading and writing by a device.
    pub const fn of(device: c_int) -> Access {
        const DEVICE: c_int = 1;
        const READ_WRITE: c_int = 3;
        Access {
            location_type: DEVICE,
            location: device,
            flags: READ_WRITE,
        }
    }
}

/// Declares the table: a field for each function, under the name that the driver exports.
macro_rules! table {
    ($($field:ident = $name:literal ($($arg:ty),* $(,)?);)*) => {
        /// Every function is there: a driver that lacks one is not used.
        #[allow(clippy::type_complexity)]
        pub struct Table {
            $(pub $field: unsafe extern "C" fn($($arg),*) -> c_int,)*
        }

        impl Table {
            fn find(library: *mut c_void) -> Result<Self, Missing> {
                Ok(Self {
                    $($field: {
                        let at = symbol(library, concat!($name, "\0"))
                            .ok_or(Missing::Function($name))?;
                        // SAFETY: the driver documents this type for the function.
                        unsafe {
                            core::mem::transmute::<
                                *mut c_void,
                                unsafe extern "C" fn($($arg),*) -> c_int,
                            >(at)
                        }
                    },)*
                })
            }
        }
    };
}

table! {
    init = "cuInit" (u32);
    error_string = "cuGetErrorString" (c_int, *mut *const c_char);
    device_count = "cuDeviceGetCount" (*mut c_int);
    device_attribute = "cuDeviceGetAttribute" (*mut c_int, c_int, c_int);
    device_uuid = "cuDeviceGetUuid" (*mut [u8; 16], c_int);
    device_total = "cuDeviceTotalMem_v2" (*mut usize, c_int);
    device_peer = "cuDeviceCanAccessPeer" (*mut c_int, c_int, c_int);
    primary_state = "cuDevicePrimaryCtxGetState" (c_int, *mut u32, *mut c_int);
    primary_retain = "cuDevicePrimaryCtxRetain" (*mut Opaque, c_int);
    primary_release = "cuDevicePrimaryCtxRelease_v2" (c_int);
    context_push = "cuCtxPushCurrent_v2" (Opaque);
    context_pop = "cuCtxPopCurrent_v2" (*mut Opaque);
    context_current = "cuCtxGetCurrent" (*mut Opaque);
    context_device = "cuCtxGetDevice" (*mut c_int);
    context_id = "cuCtxGetId" (Opaque, *mut u64);
    context_flags = "cuCtxGetFlags" (*mut u32);
    memory_info = "cuMemGetInfo_v2" (*mut usize, *mut usize);
    alloc = "cuMemAlloc_v2" (*mut Address, usize);
    alloc_managed = "cuMemAllocManaged" (*mut Address, usize, u32);
    free = "cuMemFree_v2" (Address);
    range = "cuMemGetAddressRange_v2" (*mut Address, *mut usize, Address);
    attributes = "cuPointerGetAttributes" (u32, *mut c_int, *mut *mut c_void, Address);
    attribute = "cuPointerGetAttribute" (*mut c_void, c_int, Address);
    set_attribute = "cuPointerSetAttribute" (*const u32, c_int, Address);
    register = "cuMemHostRegister_v2" (*mut c_void, usize, u32);
    unregister = "cuMemHostUnregister" (*mut c_void);
    copy_async = "cuMemcpyAsync" (Address, Address, usize, Opaque);
    stream_create = "cuStreamCreate" (*mut Opaque, u32);
    stream_destroy = "cuStreamDestroy_v2" (Opaque);
    stream_synchronize = "cuStreamSynchronize" (Opaque);
    event_create = "cuEventCreate" (*mut Opaque, u32);
    event_destroy = "cuEventDestroy_v2" (Opaque);
    event_record = "cuEventRecord" (Opaque, Opaque);
    event_query = "cuEventQuery" (Opaque);
    ipc_get = "cuIpcGetMemHandle" (*mut Token, Address);
    ipc_open = "cuIpcOpenMemHandle_v2" (*mut Address, Token, u32);
    ipc_close = "cuIpcCloseMemHandle" (Address);
    retain_handle = "cuMemRetainAllocationHandle" (*mut u64, *mut c_void);
    release_handle = "cuMemRelease" (u64);
    export = "cuMemExportToShareableHandle" (*mut c_void, u64, c_int, u64);
    import = "cuMemImportFromShareableHandle" (*mut u64, *mut c_void, c_int);
    reserve = "cuMemAddressReserve" (*mut Address, usize, usize, Address, u64);
    address_free = "cuMemAddressFree" (Address, usize);
    map = "cuMemMap" (Address, usize, usize, u64, u64);
    unmap = "cuMemUnmap" (Address, usize);
    set_access = "cuMemSetAccess" (Address, usize, *const Access, usize);
    pool_export = "cuMemPoolExportToShareableHandle" (*mut c_void, Opaque, c_int, u64);
    pool_import = "cuMemPoolImportFromShareableHandle" (*mut Opaque, *mut c_void, c_int, u64);
    pool_export_pointer = "cuMemPoolExportPointer" (*mut [u8; 64], Address);
    pool_import_pointer = "cuMemPoolImportPointer" (*mut Address, Opaque, *mut [u8; 64]);
    pool_set_access = "cuMemPoolSetAccess" (Opaque, *const Access, usize);
    pool_destroy = "cuMemPoolDestroy" (Opaque);
}

/// `cuCtxSetFlags`, which drivers have since CUDA 12.1.
pub type SetFlags = unsafe extern "C" fn(u32) -> c_int;

/// The function, if the driver has it, which is loaded.
pub fn set_flags() -> Option<SetFlags> {
    let flags = libc::RTLD_NOW | libc::RTLD_NOLOAD;
    // SAFETY: a terminated string; the driver stays loaded, whoever else gives it back.
    let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), flags) };
    if library.is_null() {
        return None;
    }
    let at = symbol(library, "cuCtxSetFlags\0")?;
    // SAFETY: the driver documents this type for the function.
    Some(unsafe { core::mem::transmute::<*mut c_void, SetFlags>(at) })
}

fn symbol(library: *mut c_void, name: &str) -> Option<*mut c_void> {
    let name = CStr::from_bytes_with_nul(name.as_bytes()).ok()?;
    // SAFETY: a library that stays loaded, and a terminated string.
    let at = unsafe { libc::dlsym(library, name.as_ptr()) };
    if at.is_null() { None } else { Some(at) }
}

impl Table {
    /// Loads the driver's library for the rest of the process's life.
    pub fn load() -> Result<Self, Missing> {
        let flags = libc::RTLD_NOW | libc::RTLD_LOCAL;
        // SAFETY: a terminated string; the driver's own constructors run.
        let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), flags) };
        if library.is_null() {
            return Err(Missing::Library);
        }
        Self::find(library)
    }

    /// The driver's words for one of its codes.
    pub fn error_text(&self, code: c_int) -> String {
        let mut text = core::ptr::null();
        // SAFETY: room for the pointer.
        let found = unsafe { (self.error_string)(code, &mut text) };
        if found != 0 || text.is_null() {
            return "unknown error".to_owned();
        }
        // SAFETY: a terminated string that lives as long as the driver.
        unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned()
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Table")
    }
}
