//! Host memory that the driver allocates or knows.

use crate::abi::*;
use crate::block::{Kind, Region};
use crate::state::{State, state};
use crate::{sys, worker};

fn allocate(address: *mut Address, size: usize) -> Answer {
    if size == 0 {
        return Err(INVALID_VALUE);
    }
    let mut s = state()?;
    let context = s.current()?;
    let device = s.current_device()?;
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping where the kernel likes.
    let base = unsafe {
        sys::map(
            0,
            size,
            prot,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )?
    };
    let mut region = Region::new(base, size, Kind::Host, None, device);
    region.context = Some(context);
    s.regions.insert(base, region);
    // SAFETY: the caller's pointer, for one address.
    unsafe { put(address, base) }
}

fn free(address: Address) -> Answer {
    let is_ours = |s: &State| {
        s.regions
            .get(&address)
            .filter(|r| r.kind == Kind::Host)
            .map(|r| r.len)
    };
    let len = is_ours(&*state()?).ok_or(INVALID_VALUE)?;
    worker::wait_all();
    state()?.regions.remove(&address);
    // SAFETY: the program gives it up, and nothing enqueued uses it.
    unsafe { sys::unmap(address, len) };
    Ok(())
}

api! { fn cuMemHostAlloc(address: *mut Address, size: usize, _flags: u32) { allocate(address, size) } }
api! { fn cuMemAllocHost_v2(address: *mut Address, size: usize) { allocate(address, size) } }
api! { fn cuMemFreeHost(address: Address) { free(address) } }

api! { fn cuMemHostRegister_v2(address: Address, size: usize, _flags: u32) {
    let mut s = state()?;
    let context = s.current()?;
    let device = s.current_device()?;
    if address == 0 || size == 0 || s.arena.contains(address) {
        return Err(INVALID_VALUE);
    }
    let end = address.checked_add(size as u64).ok_or(INVALID_VALUE)?;
    if s.regions.range(..end).next_back().is_some_and(|(_, r)| r.end() > address) {
        return Err(HOST_MEMORY_ALREADY_REGISTERED);
    }
    let mut region = Region::new(address, size, Kind::Registered, None, device);
    region.context = Some(context);
    s.regions.insert(address, region);
    Ok(())
} }
api! { fn cuMemHostUnregister(address: Address) {
    let known = |s: &State| {
        let registered = s.regions.get(&address).is_some_and(|r| r.kind == Kind::Registered);
        registered.then_some(()).ok_or(HOST_MEMORY_NOT_REGISTERED)
    };
    known(&*state()?)?;
    worker::wait_all();
    state()?.regions.remove(&address);
    Ok(())
} }
api! { fn cuMemHostGetDevicePointer_v2(device: *mut Address, address: Address, _flags: u32) {
    state()?.region(address).filter(|r| r.is_host()).ok_or(INVALID_VALUE)?;
    put(device, address)
} }
api! { fn cuMemHostGetFlags(flags: *mut u32, address: Address) {
    state()?.region(address).filter(|r| r.is_host()).ok_or(INVALID_VALUE)?;
    put(flags, 3)
} }
