//! Memory and copies.

use crate::{done, ready};
use std::ffi::c_int;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMalloc(address: *mut u64, size: usize) -> c_int {
    done(ready().and_then(|()| cu!(cuMemAlloc_v2(address => *mut u64, size => usize))))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMallocManaged(address: *mut u64, size: usize, flags: u32) -> c_int {
    done(
        ready().and_then(
            |()| cu!(cuMemAllocManaged(address => *mut u64, size => usize, flags => u32)),
        ),
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMallocPitch(
    address: *mut u64,
    pitch: *mut usize,
    width: usize,
    height: usize,
) -> c_int {
    done(ready().and_then(|()| {
        cu!(cuMemAllocPitch_v2(
            address => *mut u64, pitch => *mut usize, width => usize, height => usize, 4 => u32
        ))
    }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMallocAsync(address: *mut u64, size: usize, stream: u64) -> c_int {
    done(
        ready()
            .and_then(|()| cu!(cuMemAllocAsync(address => *mut u64, size => usize, stream => u64))),
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMallocFromPoolAsync(
    address: *mut u64,
    size: usize,
    pool: u64,
    stream: u64,
) -> c_int {
    done(ready().and_then(|()| {
        cu!(cuMemAllocFromPoolAsync(
            address => *mut u64, size => usize, pool => u64, stream => u64
        ))
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFree(address: u64) -> c_int {
    done(ready().and_then(|()| {
        if address == 0 {
            Ok(())
        } else {
            cu!(cuMemFree_v2(address => u64))
        }
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFreeAsync(address: u64, stream: u64) -> c_int {
    done(ready().and_then(|()| cu!(cuMemFreeAsync(address => u64, stream => u64))))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaHostAlloc(address: *mut u64, size: usize, flags: u32) -> c_int {
    done(
        ready()
            .and_then(|()| cu!(cuMemHostAlloc(address => *mut u64, size => usize, flags => u32))),
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMallocHost(address: *mut u64, size: usize) -> c_int {
    // SAFETY: as this function.
    unsafe { cudaHostAlloc(address, size, 0) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFreeHost(address: u64) -> c_int {
    done(ready().and_then(|()| {
        if address == 0 {
            Ok(())
        } else {
            cu!(cuMemFreeHost(address => u64))
        }
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaHostRegister(address: u64, size: usize, flags: u32) -> c_int {
    done(
        ready()
            .and_then(|()| cu!(cuMemHostRegister_v2(address => u64, size => usize, flags => u32))),
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaHostUnregister(address: u64) -> c_int {
    done(ready().and_then(|()| cu!(cuMemHostUnregister(address => u64))))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaHostGetDevicePointer(
    device: *mut u64,
    host: u64,
    flags: u32,
) -> c_int {
    done(ready().and_then(
        |()| cu!(cuMemHostGetDevicePointer_v2(device => *mut u64, host => u64, flags => u32)),
    ))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpy(to: u64, from: u64, size: usize, _kind: c_int) -> c_int {
    done(ready().and_then(|()| cu!(cuMemcpy(to => u64, from => u64, size => usize))))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyAsync(
    to: u64,
    from: u64,
    size: usize,
    _kind: c_int,
    stream: u64,
) -> c_int {
    done(
        ready().and_then(
            |()| cu!(cuMemcpyAsync(to => u64, from => u64, size => usize, stream => u64)),
        ),
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemset(at: u64, value: c_int, size: usize) -> c_int {
    done(ready().and_then(|()| cu!(cuMemsetD8_v2(at => u64, value as u8 => u8, size => usize))))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemGetInfo(free: *mut usize, total: *mut usize) -> c_int {
    done(ready().and_then(|()| cu!(cuMemGetInfo_v2(free => *mut usize, total => *mut usize))))
}

/// `cudaPointerAttributes`
#[repr(C)]
pub struct PointerAttributes {
    kind: c_int,
    device: c_int,
    on_device: u64,
    on_host: u64,
}

/// `CU_POINTER_ATTRIBUTE_` memory type, managed, device ordinal
const WANTED: [c_int; 3] = [2, 8, 9];

fn attributes(at: u64) -> Result<PointerAttributes, c_int> {
    ready()?;
    let (mut kind, mut managed, mut device) = (0u32, 0u32, 0 as c_int);
    let places: [*mut u8; 3] = [
        (&raw mut kind).cast(),
        (&raw mut managed).cast(),
        (&raw mut device).cast(),
    ];
    cu!(cuPointerGetAttributes(
        3 => u32, WANTED.as_ptr() => *const c_int, places.as_ptr() => *const *mut u8, at => u64
    ))?;
    // 0 unregistered, 1 host, 2 device, 3 managed
    let kind = if managed != 0 { 3 } else { kind as c_int };
    let known = |yes: bool| if yes { at } else { 0 };
    Ok(PointerAttributes {
        kind,
        device,
        on_device: known(kind != 0),
        on_host: known(kind != 2),
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaPointerGetAttributes(out: *mut PointerAttributes, at: u64) -> c_int {
    // SAFETY: the caller's pointer.
    done(attributes(at).map(|a| unsafe { out.write(a) }))
}

/// `cudaIpcMemHandle_t`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct IpcHandle([u8; 64]);

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaIpcGetMemHandle(handle: *mut IpcHandle, at: u64) -> c_int {
    done(ready().and_then(|()| cu!(cuIpcGetMemHandle(handle => *mut IpcHandle, at => u64))))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaIpcOpenMemHandle(
    at: *mut u64,
    handle: IpcHandle,
    flags: u32,
) -> c_int {
    done(ready().and_then(
        |()| cu!(cuIpcOpenMemHandle_v2(at => *mut u64, handle => IpcHandle, flags => u32)),
    ))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaIpcCloseMemHandle(at: u64) -> c_int {
    done(ready().and_then(|()| cu!(cuIpcCloseMemHandle(at => u64))))
}
