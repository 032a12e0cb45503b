//! Types, numbers and structures of the driver API, as its documentation gives them.

use std::ffi::c_void;

/// Result of a call: `Err` holds the `CUresult`.
pub type Answer<T = ()> = Result<T, i32>;

/// Address in the unified address space.
pub type Address = u64;
/// Handle of a context, stream, event, pool or allocation: a number, never a pointer.
pub type Handle = u64;

pub const INVALID_VALUE: i32 = 1;
pub const OUT_OF_MEMORY: i32 = 2;
pub const NOT_INITIALIZED: i32 = 3;
pub const INVALID_DEVICE: i32 = 101;
pub const INVALID_CONTEXT: i32 = 201;
pub const ALREADY_MAPPED: i32 = 208;
pub const PEER_ACCESS_UNSUPPORTED: i32 = 217;
pub const OPERATING_SYSTEM: i32 = 304;
pub const INVALID_HANDLE: i32 = 400;
pub const NOT_FOUND: i32 = 500;
pub const NOT_READY: i32 = 600;
pub const PEER_ACCESS_ALREADY_ENABLED: i32 = 704;
pub const PEER_ACCESS_NOT_ENABLED: i32 = 705;
pub const CONTEXT_IS_DESTROYED: i32 = 709;
pub const HOST_MEMORY_ALREADY_REGISTERED: i32 = 712;
pub const HOST_MEMORY_NOT_REGISTERED: i32 = 713;
pub const NOT_PERMITTED: i32 = 800;
pub const NOT_SUPPORTED: i32 = 801;

/// Every result that has a name here, for `cuGetErrorName` and `cuGetErrorString`.
pub const RESULTS: &[(i32, &str, &str)] = &[
    (0, "CUDA_SUCCESS", "no error"),
    (1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"),
    (2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"),
    (3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"),
    (4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"),
    (
        100,
        "CUDA_ERROR_NO_DEVICE",
        "no CUDA-capable device is detected",
    ),
    (101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"),
    (201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"),
    (
        205,
        "CUDA_ERROR_MAP_FAILED",
        "mapping of buffer object failed",
    ),
    (208, "CUDA_ERROR_ALREADY_MAPPED", "resource already mapped"),
    (
        217,
        "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
        "peer access is not supported between these two devices",
    ),
    (
        304,
        "CUDA_ERROR_OPERATING_SYSTEM",
        "OS call failed or operation not supported on this OS",
    ),
    (400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"),
    (500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"),
    (600, "CUDA_ERROR_NOT_READY", "device not ready"),
    (
        700,
        "CUDA_ERROR_ILLEGAL_ADDRESS",
        "an illegal memory access was encountered",
    ),
    (
        704,
        "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
        "peer access is already enabled",
    ),
    (
        705,
        "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED",
        "peer access has not been enabled",
    ),
    (
        709,
        "CUDA_ERROR_CONTEXT_IS_DESTROYED",
        "context is destroyed",
    ),
    (
        712,
        "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
        "part or all of the requested memory range is already mapped",
    ),
    (
        713,
        "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
        "pointer does not correspond to a registered memory region",
    ),
    (800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"),
    (801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"),
    (999, "CUDA_ERROR_UNKNOWN", "unknown error"),
];

pub const DEVICE_INVALID: i32 = -2;

pub const HANDLE_TYPE_POSIX_FD: u32 = 1;
pub const HANDLE_TYPE_FABRIC: u32 = 8;

pub const LOCATION_DEVICE: i32 = 1;
pub const ALLOCATION_PINNED: i32 = 1;

pub const MEMORYTYPE_HOST: u32 = 1;
pub const MEMORYTYPE_DEVICE: u32 = 2;

/// Bytes that every handle which travels between processes has.
pub const TOKEN_SIZE: usize = 64;

/// `CUipcMemHandle`, `CUipcEventHandle`, `CUmemFabricHandle` and `CUmemPoolPtrExportData`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Token {
    pub bytes: [u8; TOKEN_SIZE],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Uuid {
    pub bytes: [u8; 16],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Location {
    pub kind: i32,
    pub id: i32,
}

/// `CUmemAllocationProp`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AllocationProp {
    pub kind: i32,
    pub handle_types: u32,
    pub location: Location,
    pub win32: *mut c_void,
    pub compression: u8,
    pub rdma: u8,
    pub usage: u16,
    pub reserved: [u8; 4],
}

/// `CUmemAccessDesc`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AccessDesc {
    pub location: Location,
    pub flags: i32,
}

/// `CUmemPoolProps`.
#[repr(C)]
pub struct PoolProps {
    pub kind: i32,
    pub handle_types: u32,
    pub location: Location,
    pub win32: *mut c_void,
    pub max_size: usize,
    pub usage: u16,
    pub reserved: [u8; 54],
}

impl Token {
    /// A token that holds `name`, which must be shorter than the token.
    pub fn named(name: &str) -> Answer<Self> {
        let mut bytes = [0; TOKEN_SIZE];
        if name.len() >= TOKEN_SIZE {
            return Err(OPERATING_SYSTEM);
        }
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        Ok(Self { bytes })
    }

    /// The name in it, unless it is no name of ours.
    pub fn name(&self) -> Answer<&str> {
        let end = self
            .bytes
            .iter()
            .position(|b| *b == 0)
            .ok_or(INVALID_HANDLE)?;
        let name = std::str::from_utf8(&self.bytes[..end]).map_err(|_| INVALID_HANDLE)?;
        let sound = |b: u8| b.is_ascii_alphanumeric() || b == b'.' || b == b'-';
        if end == 0 || !name.bytes().all(sound) {
            return Err(INVALID_HANDLE);
        }
        Ok(name)
    }
}

/// Stores `value` where `place` points; a null pointer is an invalid argument.
///
/// # Safety
/// `place` is null or good for a write of `T`.
pub unsafe fn put<T>(place: *mut T, value: T) -> Answer {
    if place.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: not null, so the caller's promise holds.
    unsafe { place.write_unaligned(value) };
    Ok(())
}

/// The same for results that the caller may not want.
///
/// # Safety
/// `place` is null or good for a write of `T`.
pub unsafe fn put_if<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: not null, so the caller's promise holds.
        unsafe { place.write_unaligned(value) };
    }
}
