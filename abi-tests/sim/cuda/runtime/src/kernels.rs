//! Device programs: registered by the code that the compiler adds to objects, never carried out.

use crate::done;
use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void};

/// `dim3`
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Dim3 {
    x: u32,
    y: u32,
    z: u32,
}

/// `cudaErrorInvalidSymbol`
const INVALID_SYMBOL: c_int = 13;
/// `cudaErrorNotSupported`
const NOT_SUPPORTED: c_int = 801;
/// `cudaErrorMissingConfiguration`
const MISSING_CONFIGURATION: c_int = 52;

type Configuration = (Dim3, Dim3, usize, u64);

thread_local! {
    static CONFIGURATIONS: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinary(_binary: *mut c_void) -> *mut *mut c_void {
    static mut NOTHING: *mut c_void = std::ptr::null_mut();
    &raw mut NOTHING
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinaryEnd(_handle: *mut *mut c_void) {}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaUnregisterFatBinary(_handle: *mut *mut c_void) {}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFunction(
    _handle: *mut *mut c_void,
    _function: *const c_char,
    _name: *mut c_char,
    _device_name: *const c_char,
    _threads: c_int,
    _tid: *mut c_void,
    _bid: *mut c_void,
    _block: *mut c_void,
    _grid: *mut c_void,
    _warp: *mut c_int,
) {
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterVar(
    _handle: *mut *mut c_void,
    _variable: *mut c_char,
    _address: *mut c_char,
    _name: *const c_char,
    _outside: c_int,
    _size: usize,
    _constant: c_int,
    _global: c_int,
) {
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaPushCallConfiguration(
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: u64,
) -> u32 {
    CONFIGURATIONS.with(|c| c.borrow_mut().push((grid, block, shared, stream)));
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaPopCallConfiguration(
    grid: *mut Dim3,
    block: *mut Dim3,
    shared: *mut usize,
    stream: *mut u64,
) -> c_int {
    let Some(top) = CONFIGURATIONS.with(|c| c.borrow_mut().pop()) else {
        return done(Err(MISSING_CONFIGURATION));
    };
    // SAFETY: the compiler's code gives room for all four.
    unsafe {
        *grid = top.0;
        *block = top.1;
        *shared = top.2;
        *stream = top.3;
    }
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaLaunchKernel(
    _function: *const c_void,
    _grid: Dim3,
    _block: Dim3,
    _args: *mut *mut c_void,
    _shared: usize,
    _stream: u64,
) -> c_int {
    done(Err(NOT_SUPPORTED))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetSymbolAddress(_address: *mut u64, _symbol: *const c_void) -> c_int {
    done(Err(INVALID_SYMBOL))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetSymbolSize(_size: *mut usize, _symbol: *const c_void) -> c_int {
    done(Err(INVALID_SYMBOL))
}
