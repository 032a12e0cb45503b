//! Contexts: primary ones, which are counted, and created ones; each thread's stack of them.

use crate::abi::*;
use crate::device;
use crate::state::{State, stack, state};
use crate::worker;
use std::collections::BTreeSet;

pub struct Context {
    pub device: i32,
    /// Unique in this process's life, unlike the handle of a primary context.
    pub id: u64,
    pub primary: bool,
    pub flags: u32,
    pub peers: BTreeSet<i32>,
}

/// A device's primary context: its handle stays the same however often it is made.
#[derive(Clone, Default)]
pub struct Primary {
    handle: Handle,
    pub holders: usize,
    flags: u32,
}

impl State {
    fn make(&mut self, handle: Handle, device: i32, primary: bool, flags: u32) {
        let id = (self.handle() & 0xffff_ffff) >> 4;
        self.contexts.insert(
            handle,
            Context {
                device,
                id,
                primary,
                flags,
                peers: BTreeSet::new(),
            },
        );
    }

    /// The context and all that belongs to it is gone.
    fn destroy(&mut self, context: Handle) {
        self.contexts.remove(&context);
        self.streams.retain(|_, s| s.context != context);
        self.events.retain(|_, e| e.context != context);
        let mine = |r: &&crate::block::Region| r.context == Some(context);
        let bases: Vec<Address> = self.regions.values().filter(mine).map(|r| r.base).collect();
        for base in bases {
            let region = self.remove(base);
            if let Some(block) = region.as_ref().and_then(|r| r.block.as_ref()) {
                block.retire();
            }
        }
    }

    fn known(&self, context: Handle) -> Answer<&Context> {
        self.contexts.get(&context).ok_or(INVALID_CONTEXT)
    }
}

fn retain(device: i32) -> Answer<Handle> {
    device::check(device)?;
    let mut s = state()?;
    let d = device as usize;
    if s.primaries[d].handle == 0 {
        s.primaries[d].handle = s.handle();
    }
    let Primary {
        handle,
        holders,
        flags,
    } = s.primaries[d];
    if holders == 0 {
        s.make(handle, device, true, flags);
    }
    s.primaries[d].holders += 1;
    Ok(handle)
}

fn release(device: i32, all: bool) -> Answer {
    device::check(device)?;
    let d = device as usize;
    let (handle, last) = {
        let mut s = state()?;
        let primary = &mut s.primaries[d];
        if primary.holders == 0 {
            return if all { Ok(()) } else { Err(INVALID_CONTEXT) };
        }
        primary.holders = if all { 0 } else { primary.holders - 1 };
        (primary.handle, primary.holders == 0)
    };
    if last {
        worker::wait_context(handle);
        state()?.destroy(handle);
    }
    Ok(())
}

fn create(context: *mut Handle, flags: u32, device: i32) -> Answer {
    device::check(device)?;
    let mut s = state()?;
    let handle = s.handle();
    s.make(handle, device, false, flags);
    stack(|t| t.push(handle));
    // SAFETY: the caller's pointer, for one handle.
    unsafe { put(context, handle) }
}

api! { fn cuDevicePrimaryCtxRetain(context: *mut Handle, device: i32) { put(context, retain(device)?) } }
api! { fn cuDevicePrimaryCtxRelease_v2(device: i32) { release(device, false) } }
api! { fn cuDevicePrimaryCtxRelease(device: i32) { release(device, false) } }
api! { fn cuDevicePrimaryCtxReset_v2(device: i32) { release(device, true) } }
api! { fn cuDevicePrimaryCtxReset(device: i32) { release(device, true) } }
api! { fn cuDevicePrimaryCtxGetState(device: i32, flags: *mut u32, active: *mut i32) {
    device::check(device)?;
    let primary = state()?.primaries[device as usize].clone();
    put(flags, primary.flags)?;
    put(active, i32::from(primary.holders > 0))
} }

fn set_primary_flags(device: i32, flags: u32) -> Answer {
    device::check(device)?;
    let mut s = state()?;
    s.primaries[device as usize].flags = flags;
    let handle = s.primaries[device as usize].handle;
    if let Some(context) = s.contexts.get_mut(&handle) {
        context.flags = flags;
    }
    Ok(())
}

api! { fn cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32) { set_primary_flags(device, flags) } }
api! { fn cuDevicePrimaryCtxSetFlags(device: i32, flags: u32) { set_primary_flags(device, flags) } }

api! { fn cuCtxCreate_v2(context: *mut Handle, flags: u32, device: i32) { create(context, flags, device) } }
api! { fn cuCtxCreate_v4(context: *mut Handle, params: *mut u8, flags: u32, device: i32) {
    if !params.is_null() {
        return Err(NOT_SUPPORTED);
    }
    create(context, flags, device)
} }
api! { fn cuCtxDestroy_v2(context: Handle) {
    if state()?.known(context)?.primary {
        return Err(INVALID_CONTEXT);
    }
    worker::wait_context(context);
    state()?.destroy(context);
    stack(|t| if t.last() == Some(&context) { t.pop(); });
    Ok(())
} }

api! { fn cuCtxPushCurrent_v2(context: Handle) {
    state()?.known(context)?;
    stack(|t| t.push(context));
    Ok(())
} }
api! { fn cuCtxPopCurrent_v2(context: *mut Handle) {
    let top = stack(Vec::pop).ok_or(INVALID_CONTEXT)?;
    put_if(context, top);
    Ok(())
} }
api! { fn cuCtxSetCurrent(context: Handle) {
    if context != 0 {
        state()?.known(context)?;
    }
    stack(|t| {
        t.pop();
        if context != 0 {
            t.push(context);
        }
    });
    Ok(())
} }
api! { fn cuCtxGetCurrent(context: *mut Handle) { put(context, stack(|t| t.last().copied()).unwrap_or(0)) } }
api! { fn cuCtxGetDevice(device: *mut i32) { put(device, state()?.current_device()?) } }
api! { fn cuCtxGetId(context: Handle, id: *mut u64) {
    let s = state()?;
    let context = if context == 0 { s.current()? } else { context };
    let number = s.contexts.get(&context).ok_or(CONTEXT_IS_DESTROYED)?.id;
    put(id, number)
} }
api! { fn cuCtxGetFlags(flags: *mut u32) {
    let s = state()?;
    let current = s.current()?;
    put(flags, s.contexts[&current].flags)
} }
api! { fn cuCtxSetFlags(flags: u32) {
    let mut s = state()?;
    let current = s.current()?;
    if let Some(context) = s.contexts.get_mut(&current) {
        context.flags = flags;
    }
    Ok(())
} }
api! { fn cuCtxGetApiVersion(context: Handle, version: *mut u32) {
    if context != 0 {
        state()?.known(context)?;
    }
    put(version, 3020)
} }
api! { fn cuCtxSynchronize() {
    let current = state()?.current()?;
    worker::wait_context(current);
    Ok(())
} }

api! { fn cuCtxEnablePeerAccess(peer: Handle, _flags: u32) {
    let mut s = state()?;
    let current = s.current()?;
    let other = s.known(peer)?.device;
    let device = s.contexts[&current].device;
    if other == device {
        return Err(INVALID_DEVICE);
    }
    if !device::peers(device, other) {
        return Err(PEER_ACCESS_UNSUPPORTED);
    }
    let context = s.contexts.get_mut(&current).ok_or(INVALID_CONTEXT)?;
    context.peers.insert(other).then_some(()).ok_or(PEER_ACCESS_ALREADY_ENABLED)
} }
api! { fn cuCtxDisablePeerAccess(peer: Handle) {
    let mut s = state()?;
    let current = s.current()?;
    let other = s.known(peer)?.device;
    let context = s.contexts.get_mut(&current).ok_or(INVALID_CONTEXT)?;
    context.peers.remove(&other).then_some(()).ok_or(PEER_ACCESS_NOT_ENABLED)
} }
