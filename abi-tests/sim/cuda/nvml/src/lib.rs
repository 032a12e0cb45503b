//! The part of NVIDIA's management library that tells how devices are linked: `libnvidia-ml.so.1`
//! for the machine that the environment describes to the simulated driver.

#![allow(non_snake_case)]
#![allow(clippy::missing_safety_doc)]

#[path = "../../driver/src/config.rs"]
mod config;

use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

const UNINITIALIZED: c_int = 1;
const INVALID_ARGUMENT: c_int = 2;
const NOT_SUPPORTED: c_int = 3;

/// `NVML_FI_DEV_NVLINK_LINK_COUNT`
const NVLINK_COUNT: u32 = 91;
/// `NVML_VALUE_TYPE_UNSIGNED_INT`
const UNSIGNED_INT: c_int = 1;
/// `NVML_GPU_FABRIC_STATE_COMPLETED`
const FABRIC_COMPLETED: u8 = 3;

static USERS: AtomicUsize = AtomicUsize::new(0);

/// `nvmlPciInfo_t`
#[repr(C)]
pub struct PciInfo {
    bus_id_legacy: [u8; 16],
    domain: u32,
    bus: u32,
    device: u32,
    pci_device_id: u32,
    pci_subsystem_id: u32,
    bus_id: [u8; 32],
}

/// `nvmlFieldValue_t`
#[repr(C)]
pub struct FieldValue {
    field: u32,
    scope: u32,
    timestamp: i64,
    latency: i64,
    value_type: c_int,
    result: c_int,
    value: u64,
}

/// `nvmlGpuFabricInfo_t`
#[repr(C)]
pub struct FabricInfo {
    cluster: [u8; 16],
    status: c_int,
    clique: u32,
    state: u8,
}

/// `nvmlGpuFabricInfoV_t`, version 2
#[repr(C)]
pub struct FabricInfoV {
    version: u32,
    cluster: [u8; 16],
    status: c_int,
    clique: u32,
    state: u8,
    health: u32,
}

const CLUSTER: [u8; 16] = *b"simulated fabric";

/// Handles of devices are their numbers on the machine plus one. The library sees all of them,
/// whatever `CUDA_VISIBLE_DEVICES` says.
fn device(handle: usize) -> Result<u32, c_int> {
    if USERS.load(SeqCst) == 0 {
        return Err(UNINITIALIZED);
    }
    let count = config::get().memory.len();
    if handle == 0 || handle > count {
        Err(INVALID_ARGUMENT)
    } else {
        Ok(handle as u32 - 1)
    }
}

fn code(answer: Result<(), c_int>) -> c_int {
    answer.err().unwrap_or(0)
}

/// # Safety
/// `place` is null or good for a write.
unsafe fn put<T>(place: *mut T, value: T) -> Result<(), c_int> {
    if place.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    // SAFETY: the caller's promise.
    unsafe { place.write_unaligned(value) };
    Ok(())
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> c_int {
    USERS.fetch_add(1, SeqCst);
    0
}

/// No flag changes anything here.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlInitWithFlags(_flags: u32) -> c_int {
    nvmlInit_v2()
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> c_int {
    let less = USERS.fetch_update(SeqCst, SeqCst, |n| n.checked_sub(1));
    if less.is_ok() { 0 } else { UNINITIALIZED }
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(result: c_int) -> *const c_char {
    match result {
        0 => c"Success",
        UNINITIALIZED => c"Uninitialized",
        INVALID_ARGUMENT => c"Invalid argument",
        NOT_SUPPORTED => c"Not supported",
        _ => c"Unknown error",
    }
    .as_ptr()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount_v2(count: *mut u32) -> c_int {
    if USERS.load(SeqCst) == 0 {
        return UNINITIALIZED;
    }
    // SAFETY: the caller's pointer.
    code(unsafe { put(count, config::get().memory.len() as u32) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: u32, handle: *mut usize) -> c_int {
    let known = device(index as usize + 1);
    // SAFETY: the caller's pointer.
    code(known.and_then(|_| unsafe { put(handle, index as usize + 1) }))
}

/// `nvmlMemory_t`
#[repr(C)]
pub struct MemoryInfo {
    total: u64,
    free: u64,
    used: u64,
}

/// What is free the driver knows alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMemoryInfo(handle: usize, info: *mut MemoryInfo) -> c_int {
    let known = device(handle);
    let total = known.map(|d| config::get().memory.get(d as usize).copied());
    let value = total.map(|total| MemoryInfo {
        total: total.unwrap_or(0),
        free: total.unwrap_or(0),
        used: 0,
    });
    // SAFETY: the caller's pointer.
    code(value.and_then(|value| unsafe { put(info, value) }))
}

/// There is no window through which the processor sees a device's memory.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetBAR1MemoryInfo(handle: usize, _info: *mut MemoryInfo) -> c_int {
    code(device(handle).and(Err(NOT_SUPPORTED)))
}

/// No device is divided.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetMigMode(handle: usize, _now: *mut u32, _next: *mut u32) -> c_int {
    code(device(handle).and(Err(NOT_SUPPORTED)))
}

fn pci(bus: u32) -> PciInfo {
    let mut info = PciInfo {
        bus_id_legacy: [0; 16],
        domain: 0,
        bus,
        device: 0,
        pci_device_id: 0x0000_10de,
        pci_subsystem_id: 0,
        bus_id: [0; 32],
    };
    let short = format!("0000:{bus:02X}:00.0");
    let long = format!("00000000:{bus:02X}:00.0");
    info.bus_id_legacy[..short.len()].copy_from_slice(short.as_bytes());
    info.bus_id[..long.len()].copy_from_slice(long.as_bytes());
    info
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPciInfo_v3(handle: usize, info: *mut PciInfo) -> c_int {
    // SAFETY: the caller's pointer.
    code(device(handle).and_then(|d| unsafe { put(info, pci(0x10 + d)) }))
}

/// All links go to one switch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetNvLinkRemotePciInfo_v2(
    handle: usize,
    link: u32,
    info: *mut PciInfo,
) -> c_int {
    let known = device(handle);
    let there = known.and_then(|_| {
        if link < config::get().nvlinks {
            Ok(())
        } else {
            Err(INVALID_ARGUMENT)
        }
    });
    // SAFETY: the caller's pointer.
    code(there.and_then(|()| unsafe { put(info, pci(0x08)) }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetFieldValues(
    handle: usize,
    count: c_int,
    values: *mut FieldValue,
) -> c_int {
    if let Err(error) = device(handle) {
        return error;
    }
    if values.is_null() || count < 1 {
        return INVALID_ARGUMENT;
    }
    // SAFETY: the caller gives so many.
    for value in unsafe { std::slice::from_raw_parts_mut(values, count as usize) } {
        value.timestamp = 0;
        value.latency = 0;
        value.value_type = UNSIGNED_INT;
        value.value = 0;
        value.result = NOT_SUPPORTED;
        if value.field == NVLINK_COUNT {
            value.value = u64::from(config::get().nvlinks);
            value.result = 0;
        }
    }
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetGpuFabricInfo(handle: usize, info: *mut FabricInfo) -> c_int {
    let fabric = config::get().fabric;
    let value = FabricInfo {
        cluster: if fabric { CLUSTER } else { [0; 16] },
        status: 0,
        clique: 0,
        state: if fabric { FABRIC_COMPLETED } else { 0 },
    };
    // SAFETY: the caller's pointer.
    code(device(handle).and_then(|_| unsafe { put(info, value) }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetGpuFabricInfoV(
    handle: usize,
    info: *mut FabricInfoV,
) -> c_int {
    if let Err(error) = device(handle) {
        return error;
    }
    // SAFETY: the caller's pointer.
    let Some(info) = (unsafe { info.as_mut() }) else {
        return INVALID_ARGUMENT;
    };
    let fabric = config::get().fabric;
    info.cluster = if fabric { CLUSTER } else { [0; 16] };
    info.status = 0;
    info.clique = 0;
    info.state = if fabric { FABRIC_COMPLETED } else { 0 };
    info.health = 0;
    0
}
