//! Memory of devices that one call gives and another takes back, and how much there is.

use crate::abi::*;
use crate::block::{Block, Kind, Region};
use crate::device;
use crate::state::{State, state};
use crate::{sys, worker};

impl State {
    /// A range of new memory on a device, for `kind`.
    pub fn allocate(
        &mut self,
        device: i32,
        size: usize,
        kind: Kind,
        handle_types: u32,
    ) -> Answer<Address> {
        if size == 0 {
            return Err(INVALID_VALUE);
        }
        let block = Block::create(device::machine(device), size, handle_types)?;
        let base = self.arena.take(size, 0)?;
        if kind == Kind::Managed {
            let prot = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_SHARED | libc::MAP_FIXED;
            // SAFETY: a range of ours that nobody uses.
            unsafe {
                sys::map(base, size, prot, flags, block.fd(), 0)?;
                sys::not_for_children(base, size);
            }
        }
        self.regions
            .insert(base, Region::new(base, size, kind, Some(block), device));
        Ok(base)
    }

    fn allocate_here(&mut self, size: usize, kind: Kind) -> Answer<Address> {
        let context = self.current()?;
        let base = self.allocate(self.current_device()?, size, kind, 0)?;
        if let Some(region) = self.regions.get_mut(&base) {
            region.context = Some(context);
        }
        Ok(base)
    }
}

api! { fn cuMemAlloc_v2(address: *mut Address, size: usize) {
    let base = state()?.allocate_here(size, Kind::Device)?;
    put(address, base)
} }
api! { fn cuMemAllocPitch_v2(address: *mut Address, pitch: *mut usize, width: usize, height: usize, _element: u32) {
    let row = width.next_multiple_of(512);
    let size = row.checked_mul(height).ok_or(INVALID_VALUE)?;
    let base = state()?.allocate_here(size, Kind::Device)?;
    put(pitch, row)?;
    put(address, base)
} }
api! { fn cuMemAllocManaged(address: *mut Address, size: usize, flags: u32) {
    if !matches!(flags, 1 | 2) {
        return Err(INVALID_VALUE);
    }
    let base = state()?.allocate_here(size, Kind::Managed)?;
    put(address, base)
} }

/// Gives memory back, once everything that was enqueued is done.
fn free(base: Address) -> Answer {
    if base == 0 {
        return Ok(());
    }
    let freeable = |s: &State| match s.regions.get(&base).map(|r| r.kind) {
        Some(Kind::Device | Kind::Managed | Kind::Pool(_) | Kind::PoolImport(_)) => Ok(()),
        _ => Err(INVALID_VALUE),
    };
    freeable(&*state()?)?;
    worker::wait_all();
    let mut s = state()?;
    freeable(&s)?;
    s.close(base);
    Ok(())
}

impl State {
    /// One holder less of the range; with the last one it is gone, and nobody can open it again.
    pub fn close(&mut self, base: Address) {
        let Some(region) = self.regions.get_mut(&base) else {
            return;
        };
        region.opened = region.opened.saturating_sub(1);
        if region.opened > 0 {
            return;
        }
        if matches!(region.kind, Kind::Opened | Kind::PoolImport(_)) {
            self.tally.closed += 1;
        }
        if let Some(block) = self.remove(base).and_then(|r| r.block) {
            block.retire();
        }
    }
}

api! { fn cuMemFree_v2(address: Address) { free(address) } }

api! { fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
    let device = state()?.current_device()?;
    let info = device::info(device)?;
    put(free, info.0 as usize)?;
    put(total, info.1 as usize)
} }
api! { fn cuMemGetAddressRange_v2(base: *mut Address, size: *mut usize, address: Address) {
    let s = state()?;
    s.current()?;
    let region = s.region(address).filter(|r| !r.is_host()).ok_or(NOT_FOUND)?;
    put_if(base, region.base);
    put_if(size, region.len);
    Ok(())
} }

/// `CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION`
const PREFERRED_LOCATION: i32 = 2;

api! { fn cuMemRangeGetAttribute(data: *mut i32, size: usize, attribute: i32, address: Address, len: usize) {
    let s = state()?;
    let region = s.region(address).filter(|r| r.kind == Kind::Managed).ok_or(INVALID_VALUE)?;
    if size < 4 || len == 0 || address + len as u64 > region.end() {
        return Err(INVALID_VALUE);
    }
    put(data, match attribute {
        PREFERRED_LOCATION => region.preferred,
        1 => 0,
        _ => DEVICE_INVALID,
    })
} }
api! { fn cuMemAdvise(address: Address, _len: usize, advice: i32, device: i32) {
    let mut s = state()?;
    let region = s.region_mut(address).filter(|r| r.kind == Kind::Managed).ok_or(INVALID_VALUE)?;
    match advice {
        3 => region.preferred = device,
        4 => region.preferred = DEVICE_INVALID,
        _ => {}
    }
    Ok(())
} }
api! { fn cuMemPrefetchAsync(address: Address, len: usize, _device: i32, stream: Handle) {
    let s = state()?;
    s.lane(stream)?;
    let region = s.region(address).filter(|r| r.kind == Kind::Managed).ok_or(INVALID_VALUE)?;
    if address + len as u64 > region.end() { Err(INVALID_VALUE) } else { Ok(()) }
} }

// Buffers shared with other drivers are not simulated; `CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED`
// says so.
api! { fn cuMemGetHandleForAddressRange(_handle: *mut i32, _address: Address, _size: usize, _kind: i32, _flags: u64) {
    Err(NOT_SUPPORTED)
} }

// No programs are loaded, so there are no symbols in them.
api! { fn cuModuleGetGlobal_v2(_address: *mut Address, _size: *mut usize, _module: Handle, _name: *const u8) {
    Err(NOT_FOUND)
} }
api! { fn cuLibraryGetGlobal(_address: *mut Address, _size: *mut usize, _library: Handle, _name: *const u8) {
    Err(NOT_FOUND)
} }
