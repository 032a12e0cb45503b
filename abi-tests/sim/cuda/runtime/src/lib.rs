//! A CUDA runtime made of driver calls: what programs and genuine UCX's modules import of it.
//!
//! The real runtime asks the driver for tables that are not documented, so it does not start on a
//! simulated one. Kernels are accepted when a program registers them, and fail when launched.

#![allow(non_snake_case)]
#![allow(clippy::missing_safety_doc)]

#[macro_use]
mod driver;
mod kernels;
mod memory;

use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::sync::Once;

/// Most devices that a process is known to use.
const DEVICES: usize = 64;

thread_local! {
    static DEVICE: Cell<c_int> = const { Cell::new(0) };
    /// Whether this thread has made its device's context current.
    static CURRENT: Cell<bool> = const { Cell::new(false) };
    static LAST: Cell<c_int> = const { Cell::new(0) };
}

/// What a function returns; an error is also kept for `cudaGetLastError`.
pub(crate) fn done(answer: Result<(), c_int>) -> c_int {
    // Driver errors that the runtime numbers differently.
    let code = match answer {
        Ok(()) => return 0,
        Err(3) => 3,
        Err(other) => other,
    };
    LAST.set(code);
    code
}

pub(crate) fn init() -> Result<(), c_int> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _ = cu!(cuInit(0 => u32));
    });
    cu!(cuInit(0 => u32))
}

/// A context is current in this thread: the one that is, or the device's primary one.
pub(crate) fn ready() -> Result<(), c_int> {
    init()?;
    let mut current = 0u64;
    cu!(cuCtxGetCurrent(&mut current => *mut u64))?;
    if current != 0 && !CURRENT.get() {
        return Ok(());
    }
    let device = DEVICE.get();
    let context = primary(device)?;
    if current != context {
        cu!(cuCtxSetCurrent(context => u64))?;
    }
    CURRENT.set(true);
    Ok(())
}

/// The primary context, which the runtime retains once.
fn primary(device: c_int) -> Result<u64, c_int> {
    static RETAINED: std::sync::Mutex<[u64; DEVICES]> = std::sync::Mutex::new([0; DEVICES]);
    let mut retained = RETAINED.lock().map_err(|_| 999)?;
    let slot = usize::try_from(device)
        .ok()
        .and_then(|d| retained.get_mut(d))
        .ok_or(101)?;
    if *slot == 0 {
        cu!(cuDevicePrimaryCtxRetain(&mut *slot => *mut u64, device => c_int))?;
    }
    Ok(*slot)
}

fn set_device(device: c_int) -> Result<(), c_int> {
    init()?;
    let mut count = 0;
    cu!(cuDeviceGetCount(&mut count => *mut c_int))?;
    if device < 0 || device >= count {
        return Err(101);
    }
    DEVICE.set(device);
    CURRENT.set(true);
    ready()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaSetDevice(device: c_int) -> c_int {
    done(set_device(device))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDevice(device: *mut c_int) -> c_int {
    // SAFETY: the caller's pointer.
    unsafe { *device = DEVICE.get() };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDeviceCount(count: *mut c_int) -> c_int {
    done(init().and_then(|()| cu!(cuDeviceGetCount(count => *mut c_int))))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceSynchronize() -> c_int {
    done(ready().and_then(|()| cu!(cuCtxSynchronize())))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamCreate(stream: *mut u64) -> c_int {
    done(ready().and_then(|()| cu!(cuStreamCreate(stream => *mut u64, 0 => u32))))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamCreateWithFlags(stream: *mut u64, flags: u32) -> c_int {
    done(ready().and_then(|()| cu!(cuStreamCreate(stream => *mut u64, flags => u32))))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamSynchronize(stream: u64) -> c_int {
    done(ready().and_then(|()| cu!(cuStreamSynchronize(stream => u64))))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamDestroy(stream: u64) -> c_int {
    done(ready().and_then(|()| cu!(cuStreamDestroy_v2(stream => u64))))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetLastError() -> c_int {
    LAST.replace(0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaPeekAtLastError() -> c_int {
    LAST.get()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorString(error: c_int) -> *const c_char {
    let mut text = c"unrecognized error code".as_ptr();
    let _ = cu!(cuGetErrorString(error => c_int, &mut text => *mut *const c_char));
    if text.is_null() {
        c"unrecognized error code".as_ptr()
    } else {
        text
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorName(error: c_int) -> *const c_char {
    let mut text = c"unrecognized error code".as_ptr();
    let _ = cu!(cuGetErrorName(error => c_int, &mut text => *mut *const c_char));
    if text.is_null() {
        c"unrecognized error code".as_ptr()
    } else {
        text
    }
}
