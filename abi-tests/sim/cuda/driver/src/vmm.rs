//! Memory and addresses apart: allocations with handles, reserved ranges, mappings, and handles
//! that travel to other processes.

use crate::abi::*;
use crate::arena::ALIGN;
use crate::block::{Block, Kind, Region};
use crate::state::{State, state};
use crate::{config, device};
use std::ffi::c_void;
use std::sync::Arc;

/// Whether memory may be made that is exported that way.
pub fn check_types(types: u32) -> Answer {
    if types & !(HANDLE_TYPE_POSIX_FD | HANDLE_TYPE_FABRIC) != 0 {
        return Err(NOT_SUPPORTED);
    }
    if types & HANDLE_TYPE_FABRIC != 0 && !config::get().fabric {
        return Err(NOT_PERMITTED);
    }
    Ok(())
}

/// # Safety
/// `prop` is null or points to properties.
unsafe fn check(prop: *const AllocationProp) -> Answer<AllocationProp> {
    // SAFETY: the caller's promise.
    let prop = unsafe { prop.as_ref() }.ok_or(INVALID_VALUE)?;
    if prop.kind != ALLOCATION_PINNED {
        return Err(INVALID_VALUE);
    }
    if prop.location.kind != LOCATION_DEVICE {
        return Err(NOT_SUPPORTED);
    }
    device::check(prop.location.id)?;
    check_types(prop.handle_types)?;
    Ok(*prop)
}

impl State {
    /// A handle to the block: the one that is there, held once more, or a new one.
    fn hold(&mut self, block: Arc<Block>) -> Handle {
        if let Some((handle, held)) = self
            .allocations
            .iter_mut()
            .find(|(_, (b, _))| Arc::ptr_eq(b, &block))
        {
            held.1 += 1;
            return *handle;
        }
        let handle = self.handle();
        self.allocations.insert(handle, (block, 1));
        handle
    }

    fn allocation(&self, handle: Handle) -> Answer<&Arc<Block>> {
        self.allocations
            .get(&handle)
            .map(|(b, _)| b)
            .ok_or(INVALID_VALUE)
    }

    /// Bases of the mappings that lie in the range, which must not cut one.
    fn mappings(&self, at: Address, size: usize) -> Answer<Vec<Address>> {
        let end = at.checked_add(size as u64).ok_or(INVALID_VALUE)?;
        let inside: Vec<&Region> = self.regions.range(at..end).map(|(_, r)| r).collect();
        if inside
            .iter()
            .any(|r| r.kind != Kind::Mapped || r.end() > end)
            || self.cut(at)
        {
            return Err(INVALID_VALUE);
        }
        Ok(inside.iter().map(|r| r.base).collect())
    }

    fn cut(&self, at: Address) -> bool {
        self.region(at).is_some_and(|r| r.base != at)
    }
}

api! { fn cuMemGetAllocationGranularity(bytes: *mut usize, prop: *const AllocationProp, _option: i32) {
    check(prop)?;
    put(bytes, ALIGN)
} }
api! { fn cuMemCreate(handle: *mut Handle, size: usize, prop: *const AllocationProp, flags: u64) {
    let prop = check(prop)?;
    if flags != 0 || size == 0 || !size.is_multiple_of(ALIGN) {
        return Err(INVALID_VALUE);
    }
    let block = Block::create(device::machine(prop.location.id), size, prop.handle_types)?;
    let new = state()?.hold(block);
    put(handle, new)
} }
api! { fn cuMemRelease(handle: Handle) {
    let mut s = state()?;
    let held = s.allocations.get_mut(&handle).ok_or(INVALID_VALUE)?;
    held.1 -= 1;
    if held.1 == 0 {
        s.allocations.remove(&handle);
    }
    Ok(())
} }
api! { fn cuMemRetainAllocationHandle(handle: *mut Handle, address: Address) {
    let mut s = state()?;
    let region = s.region(address).filter(|r| r.kind == Kind::Mapped).ok_or(INVALID_VALUE)?;
    let block = region.block.clone().ok_or(INVALID_VALUE)?;
    let held = s.hold(block);
    put(handle, held)
} }
api! { fn cuMemGetAllocationPropertiesFromHandle(prop: *mut AllocationProp, handle: Handle) {
    let s = state()?;
    let block = s.allocation(handle)?;
    let id = State::ordinal(block.device()).unwrap_or(DEVICE_INVALID);
    put(prop, AllocationProp {
        kind: ALLOCATION_PINNED,
        handle_types: block.handle_types(),
        location: Location { kind: LOCATION_DEVICE, id },
        win32: std::ptr::null_mut(),
        compression: 0,
        rdma: 0,
        usage: 0,
        reserved: [0; 4],
    })
} }

api! { fn cuMemAddressReserve(address: *mut Address, size: usize, align: usize, _wish: Address, flags: u64) {
    if flags != 0 || !size.is_multiple_of(4096) {
        return Err(INVALID_VALUE);
    }
    let mut s = state()?;
    let base = s.arena.take(size, align)?;
    s.reservations.insert(base, size);
    put(address, base)
} }
api! { fn cuMemAddressFree(address: Address, size: usize) {
    let mut s = state()?;
    let reserved = s.reservations.get(&address).copied().ok_or(INVALID_VALUE)?;
    if reserved != size || !s.mappings(address, size)?.is_empty() {
        return Err(INVALID_VALUE);
    }
    s.reservations.remove(&address);
    s.arena.give_back(address);
    Ok(())
} }
api! { fn cuMemMap(address: Address, size: usize, offset: usize, handle: Handle, flags: u64) {
    let mut s = state()?;
    let block = s.allocation(handle)?.clone();
    let end = address.checked_add(size as u64).ok_or(INVALID_VALUE)?;
    let reserved = s.reservations.range(..=address).next_back().map(|(b, l)| b + *l as u64);
    let fits = offset.checked_add(size).is_some_and(|e| e <= block.size());
    if flags != 0 || offset != 0 || size == 0 || !fits || reserved.is_none_or(|r| end > r) {
        return Err(INVALID_VALUE);
    }
    if !s.mappings(address, size)?.is_empty() {
        return Err(ALREADY_MAPPED);
    }
    let device = State::ordinal(block.device()).unwrap_or(DEVICE_INVALID);
    let foreign = !block.own;
    let region = Region::new(address, size, Kind::Mapped, Some(block), device);
    s.regions.insert(address, region);
    if foreign {
        s.tally.opened += 1;
    }
    Ok(())
} }
api! { fn cuMemUnmap(address: Address, size: usize) {
    let mut s = state()?;
    let bases = s.mappings(address, size)?;
    if bases.is_empty() {
        return Err(INVALID_VALUE);
    }
    for base in bases {
        if s.remove(base).and_then(|r| r.block).is_some_and(|b| !b.own) {
            s.tally.closed += 1;
        }
    }
    Ok(())
} }
api! { fn cuMemSetAccess(address: Address, size: usize, descs: *const AccessDesc, count: usize) {
    if descs.is_null() {
        return Err(INVALID_VALUE);
    }
    let mut s = state()?;
    let bases = s.mappings(address, size)?;
    if bases.is_empty() {
        return Err(INVALID_VALUE);
    }
    for desc in std::slice::from_raw_parts(descs, count) {
        let id = desc.location.id;
        if desc.location.kind != LOCATION_DEVICE {
            return Err(NOT_SUPPORTED);
        }
        device::check(id)?;
        for base in &bases {
            let region = s.regions.get_mut(base).ok_or(INVALID_VALUE)?;
            let home = region.block.as_ref().map_or(-1, |b| b.device());
            if !device::machine_peers(device::machine(id), home) {
                return Err(INVALID_DEVICE);
            }
            region.access.retain(|d| *d != id);
            if desc.flags != 0 {
                region.access.push(id);
            }
        }
    }
    Ok(())
} }
api! { fn cuMemGetAccess(flags: *mut u64, location: *const Location, address: Address) {
    let location = location.as_ref().ok_or(INVALID_VALUE)?;
    let s = state()?;
    let region = s.region(address).filter(|r| r.kind == Kind::Mapped).ok_or(INVALID_VALUE)?;
    let open = location.kind == LOCATION_DEVICE && region.access.contains(&location.id);
    put(flags, if open { 3 } else { 0 })
} }

api! { fn cuMemExportToShareableHandle(out: *mut c_void, handle: Handle, kind: u32, flags: u64) {
    let s = state()?;
    let block = s.allocation(handle)?;
    if flags != 0 || block.handle_types() & kind != kind {
        return Err(INVALID_VALUE);
    }
    match kind {
        HANDLE_TYPE_POSIX_FD => put(out.cast(), block.descriptor()?),
        HANDLE_TYPE_FABRIC => put(out.cast(), Token::named(&block.name())?),
        _ => Err(INVALID_VALUE),
    }
} }
api! { fn cuMemImportFromShareableHandle(handle: *mut Handle, from: *mut c_void, kind: u32) {
    let block = match kind {
        HANDLE_TYPE_POSIX_FD => Block::join_descriptor(i32::try_from(from as u64).map_err(|_| INVALID_HANDLE)?)?,
        HANDLE_TYPE_FABRIC if config::get().fabric => {
            let token = from.cast::<Token>().as_ref().ok_or(INVALID_VALUE)?;
            Block::join(token.name()?)?
        }
        _ => return Err(NOT_SUPPORTED),
    };
    let new = state()?.hold(block);
    put(handle, new)
} }
