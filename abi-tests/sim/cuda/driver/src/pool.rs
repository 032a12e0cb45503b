//! Pools: memory that is allocated and freed in the order of a stream, and pools of others.

use crate::abi::*;
use crate::block::{Block, Kind, Region};
use crate::ledger::{self, Facts, Lease};
use crate::state::{State, state};
use crate::vmm::check_types;
use crate::worker::{self, Work};
use crate::{config, device};
use std::ffi::c_void;

pub struct Pool {
    device: i32,
    handle_types: u32,
    /// Stands for the pool where it is exported or imported.
    lease: Option<Lease>,
    imported: bool,
    /// A device's default pool, or the current one of a device.
    of_device: bool,
}

impl State {
    fn device_pool(&mut self, device: i32) -> Handle {
        let known = self
            .pools
            .iter()
            .find(|(_, p)| p.of_device && p.device == device);
        if let Some((handle, _)) = known {
            return *handle;
        }
        let handle = self.handle();
        let pool = Pool {
            device,
            handle_types: 0,
            lease: None,
            imported: false,
            of_device: true,
        };
        self.pools.insert(handle, pool);
        handle
    }

    fn pool(&self, pool: Handle) -> Answer<&Pool> {
        self.pools.get(&pool).ok_or(INVALID_VALUE)
    }
}

/// Memory that can be used at once, and so also by what comes later in the stream.
fn allocate(out: *mut Address, size: usize, pool: Option<Handle>, stream: Handle) -> Answer {
    let mut s = state()?;
    s.lane(stream)?;
    let handle = match pool {
        Some(pool) => pool,
        None => {
            let device = s.current_device()?;
            s.device_pool(device)
        }
    };
    let pool = s.pool(handle)?;
    if pool.imported {
        return Err(INVALID_VALUE);
    }
    let (device, types) = (pool.device, pool.handle_types);
    let base = s.allocate(device, size, Kind::Pool(handle), types)?;
    // SAFETY: the caller's pointer, for one address.
    unsafe { put(out, base) }
}

/// Called when the stream has come to the free.
pub fn free_now(base: Address) {
    if let Ok(mut s) = state() {
        if let Some(region) = s.regions.get_mut(&base) {
            region.opened = 1;
        }
        s.close(base);
    }
}

api! { fn cuMemAllocAsync(address: *mut Address, size: usize, stream: Handle) {
    allocate(address, size, None, stream)
} }
api! { fn cuMemAllocFromPoolAsync(address: *mut Address, size: usize, pool: Handle, stream: Handle) {
    allocate(address, size, Some(pool), stream)
} }
api! { fn cuMemFreeAsync(address: Address, stream: Handle) {
    let lane = {
        let mut s = state()?;
        let lane = s.lane(stream)?;
        let region = s.regions.get_mut(&address).ok_or(INVALID_VALUE)?;
        match region.kind {
            // Nothing may use it from here on, though it is still there.
            Kind::Pool(_) if region.opened == 1 => region.opened = 0,
            Kind::PoolImport(_) if region.opened > 1 => {
                region.opened -= 1;
                return Ok(());
            }
            Kind::PoolImport(_) if region.opened == 1 => region.opened = 0,
            Kind::Device => {}
            _ => return Err(INVALID_VALUE),
        }
        lane
    };
    worker::submit(lane, Work::Free(address), Vec::new())
} }

api! { fn cuMemPoolCreate(pool: *mut Handle, props: *const PoolProps) {
    let props = props.as_ref().ok_or(INVALID_VALUE)?;
    if props.kind != ALLOCATION_PINNED {
        return Err(INVALID_VALUE);
    }
    if props.location.kind != LOCATION_DEVICE {
        return Err(NOT_SUPPORTED);
    }
    let (device, handle_types) = (props.location.id, props.handle_types);
    device::check(device)?;
    check_types(handle_types)?;
    let lease = if handle_types != 0 {
        let facts = Facts { kind: 'p', device: device::machine(device), size: 0, handle_types };
        Some(ledger::create(facts)?)
    } else {
        None
    };
    let mut s = state()?;
    let handle = s.handle();
    s.pools.insert(handle, Pool { device, handle_types, lease, imported: false, of_device: false });
    put(pool, handle)
} }
api! { fn cuMemPoolDestroy(pool: Handle) {
    let mut s = state()?;
    if s.pool(pool)?.of_device {
        return Err(INVALID_VALUE);
    }
    // What was allocated from it stays until it is freed.
    s.pools.remove(&pool);
    Ok(())
} }

fn device_pool(out: *mut Handle, device: i32) -> Answer {
    device::check(device)?;
    let pool = state()?.device_pool(device);
    // SAFETY: the caller's pointer, for one handle.
    unsafe { put(out, pool) }
}

api! { fn cuDeviceGetDefaultMemPool(pool: *mut Handle, device: i32) { device_pool(pool, device) } }
api! { fn cuDeviceGetMemPool(pool: *mut Handle, device: i32) { device_pool(pool, device) } }
api! { fn cuMemPoolTrimTo(pool: Handle, _keep: usize) { state()?.pool(pool).map(drop) } }
api! { fn cuMemPoolSetAttribute(pool: Handle, _number: i32, value: *const c_void) {
    state()?.pool(pool)?;
    if value.is_null() { Err(INVALID_VALUE) } else { Ok(()) }
} }
api! { fn cuMemPoolSetAccess(pool: Handle, descs: *const AccessDesc, count: usize) {
    let s = state()?;
    let home = s.pool(pool)?.device;
    if descs.is_null() {
        return Err(INVALID_VALUE);
    }
    for desc in std::slice::from_raw_parts(descs, count) {
        device::check(desc.location.id)?;
        if device::check(home).is_ok() && !device::peers(desc.location.id, home) {
            return Err(INVALID_DEVICE);
        }
    }
    Ok(())
} }
api! { fn cuMemPoolGetAccess(flags: *mut i32, pool: Handle, _location: *const Location) {
    state()?.pool(pool)?;
    put(flags, 3)
} }

api! { fn cuMemPoolExportToShareableHandle(out: *mut c_void, pool: Handle, kind: u32, _flags: u64) {
    let s = state()?;
    let pool = s.pool(pool)?;
    let lease = pool.lease.as_ref().filter(|_| !pool.imported && pool.handle_types & kind == kind);
    let lease = lease.ok_or(INVALID_VALUE)?;
    match kind {
        HANDLE_TYPE_POSIX_FD => put(out.cast(), lease.descriptor()?),
        HANDLE_TYPE_FABRIC => put(out.cast(), Token::named(&lease.name())?),
        _ => Err(INVALID_VALUE),
    }
} }
api! { fn cuMemPoolImportFromShareableHandle(pool: *mut Handle, from: *mut c_void, kind: u32, _flags: u64) {
    let lease = match kind {
        HANDLE_TYPE_POSIX_FD => {
            ledger::join_descriptor(i32::try_from(from as u64).map_err(|_| INVALID_HANDLE)?, 'p')?
        }
        HANDLE_TYPE_FABRIC if config::get().fabric => {
            let token = from.cast::<Token>().as_ref().ok_or(INVALID_VALUE)?;
            ledger::join(token.name()?, 'p')?
        }
        _ => return Err(NOT_SUPPORTED),
    };
    let device = State::ordinal(lease.facts.device).unwrap_or(DEVICE_INVALID);
    let handle_types = lease.facts.handle_types;
    let mut s = state()?;
    let handle = s.handle();
    let lease = Some(lease);
    s.pools.insert(handle, Pool { device, handle_types, lease, imported: true, of_device: false });
    put(pool, handle)
} }
api! { fn cuMemPoolExportPointer(token: *mut Token, address: Address) {
    let s = state()?;
    let region = s.region(address).filter(|r| matches!(r.kind, Kind::Pool(_))).ok_or(INVALID_VALUE)?;
    let block = region.block.as_ref().filter(|b| b.handle_types() != 0).ok_or(INVALID_VALUE)?;
    put(token, Token::named(&block.name())?)
} }
api! { fn cuMemPoolImportPointer(address: *mut Address, pool: Handle, token: *const Token) {
    let token = token.as_ref().ok_or(INVALID_VALUE)?;
    let name = token.name()?;
    let mut s = state()?;
    if !s.pool(pool)?.imported {
        return Err(INVALID_VALUE);
    }
    let same = |r: &&mut Region| {
        r.kind == Kind::PoolImport(pool) && r.opened > 0 && r.block.as_ref().is_some_and(|b| b.name() == name)
    };
    if let Some(region) = s.regions.values_mut().find(same) {
        region.opened += 1;
        return put(address, region.base);
    }
    let block = Block::join(name)?;
    let size = block.size();
    let device = State::ordinal(block.device()).unwrap_or(DEVICE_INVALID);
    let base = s.arena.take(size, 0)?;
    s.regions.insert(base, Region::new(base, size, Kind::PoolImport(pool), Some(block), device));
    s.tally.opened += 1;
    put(address, base)
} }

// Reuse and sizes: all zero, memory goes back at once.
api! { fn cuMemPoolGetAttribute(pool: Handle, number: i32, value: *mut c_void) {
    state()?.pool(pool)?;
    if number <= 3 { put(value.cast(), 0i32) } else { put(value.cast(), 0u64) }
} }
