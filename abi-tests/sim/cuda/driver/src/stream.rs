//! Streams: queues of operations, which `worker` carries out.

use crate::abi::*;
use crate::state::{State, state};
use crate::worker::{self, Lane, Work};
use std::ffi::c_void;

pub struct Stream {
    pub context: Handle,
    flags: u32,
    priority: i32,
}

const NON_BLOCKING: u32 = 1;

/// `void callback(CUstream, CUresult, void *)`.
pub type Callback = unsafe extern "C" fn(Handle, i32, *mut c_void);
/// `void function(void *)`.
pub type HostFn = unsafe extern "C" fn(*mut c_void);

impl State {
    /// The queue that a stream's handle means; 0, 1 and 2 are the current context's own.
    pub fn lane(&self, stream: Handle) -> Answer<Lane> {
        if stream <= 2 {
            let context = self.current()?;
            return Ok(Lane {
                key: context | 1,
                context,
                blocking: true,
                null: true,
            });
        }
        let known = self.streams.get(&stream).ok_or(INVALID_HANDLE)?;
        let blocking = known.flags & NON_BLOCKING == 0;
        Ok(Lane {
            key: stream,
            context: known.context,
            blocking,
            null: false,
        })
    }
}

fn create(stream: *mut Handle, flags: u32, priority: i32) -> Answer {
    if flags & !NON_BLOCKING != 0 {
        return Err(INVALID_VALUE);
    }
    let mut s = state()?;
    let context = s.current()?;
    let handle = s.handle();
    s.streams.insert(
        handle,
        Stream {
            context,
            flags,
            priority,
        },
    );
    // SAFETY: the caller's pointer, for one handle.
    unsafe { put(stream, handle) }
}

api! { fn cuStreamCreate(stream: *mut Handle, flags: u32) { create(stream, flags, 0) } }
api! { fn cuStreamCreateWithPriority(stream: *mut Handle, flags: u32, priority: i32) {
    create(stream, flags, priority)
} }
api! { fn cuStreamDestroy_v2(stream: Handle) {
    if stream <= 2 {
        return Err(INVALID_HANDLE);
    }
    // What was enqueued is still carried out.
    state()?.streams.remove(&stream).map(drop).ok_or(INVALID_HANDLE)
} }
api! { fn cuStreamSynchronize(stream: Handle) {
    let lane = state()?.lane(stream)?;
    worker::wait_lane(&lane);
    Ok(())
} }
api! { fn cuStreamQuery(stream: Handle) {
    let lane = state()?.lane(stream)?;
    if worker::idle(&lane) { Ok(()) } else { Err(NOT_READY) }
} }
api! { fn cuStreamGetCtx(stream: Handle, context: *mut Handle) {
    let lane = state()?.lane(stream)?;
    put(context, lane.context)
} }
api! { fn cuStreamGetFlags(stream: Handle, flags: *mut u32) {
    put(flags, state()?.streams.get(&stream).map_or(0, |s| s.flags))
} }
api! { fn cuStreamGetPriority(stream: Handle, priority: *mut i32) {
    put(priority, state()?.streams.get(&stream).map_or(0, |s| s.priority))
} }
api! { fn cuStreamGetId(stream: Handle, id: *mut u64) {
    let lane = state()?.lane(stream)?;
    put(id, lane.key)
} }
api! { fn cuStreamAddCallback(stream: Handle, callback: Option<Callback>, data: *mut c_void, flags: u32) {
    let callback = callback.filter(|_| flags == 0).ok_or(INVALID_VALUE)?;
    let lane = state()?.lane(stream)?;
    worker::submit(lane, Work::Callback(callback, stream, data as u64), Vec::new())
} }
api! { fn cuLaunchHostFunc(stream: Handle, function: Option<HostFn>, data: *mut c_void) {
    let function = function.ok_or(INVALID_VALUE)?;
    let lane = state()?.lane(stream)?;
    worker::submit(lane, Work::Host(function, data as u64), Vec::new())
} }
api! { fn cuStreamWaitEvent(stream: Handle, event: Handle, _flags: u32) {
    let (lane, event) = {
        let s = state()?;
        (s.lane(stream)?, s.events.get(&event).cloned().ok_or(INVALID_HANDLE)?)
    };
    let until = event.recorded();
    worker::submit(lane, Work::Wait(event, until), Vec::new())
} }
