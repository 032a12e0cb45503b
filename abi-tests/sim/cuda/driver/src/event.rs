//! Events, also those that another process sees.

use crate::abi::*;
use crate::ledger::{self, Facts, Lease};
use crate::state::{State, state};
use crate::sys;
use crate::worker::{self, Work};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Instant;

const DISABLE_TIMING: u32 = 2;
const INTERPROCESS: u32 = 4;
const PAGE: usize = 4096;

/// How often it was recorded, and how many of these recordings were reached.
#[derive(Default)]
struct Counts {
    recorded: AtomicU64,
    reached: AtomicU64,
}

pub struct Event {
    pub context: Handle,
    flags: u32,
    own: Counts,
    shared: Option<Shared>,
    when: Mutex<Option<Instant>>,
}

/// Counts in a file, for events between processes.
struct Shared {
    lease: Option<Lease>,
    at: u64,
}

impl Shared {
    fn map(lease: Lease) -> Answer<Self> {
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping where the kernel likes.
        let at = unsafe { sys::map(0, PAGE, prot, libc::MAP_SHARED, lease.fd(), 0)? };
        // SAFETY: just mapped.
        unsafe { sys::not_for_children(at, PAGE) };
        Ok(Self {
            lease: Some(lease),
            at,
        })
    }

    fn counts(&self) -> &Counts {
        // SAFETY: mapped as long as this lives; only atomics are there.
        unsafe { &*(self.at as *const Counts) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: nothing refers into it without a reference to this.
        unsafe { sys::unmap(self.at, PAGE) };
        drop(self.lease.take());
    }
}

impl Event {
    fn counts(&self) -> &Counts {
        self.shared.as_ref().map_or(&self.own, Shared::counts)
    }

    /// How often it was recorded up to now.
    pub fn recorded(&self) -> u64 {
        self.counts().recorded.load(SeqCst)
    }

    pub fn done_until(&self, recording: u64) -> bool {
        self.counts().reached.load(SeqCst) >= recording
    }

    pub fn reached(&self, recording: u64) {
        if self.flags & DISABLE_TIMING == 0 {
            *self.when.lock().unwrap() = Some(Instant::now());
        }
        self.counts().reached.fetch_max(recording, SeqCst);
    }

    fn done(&self) -> bool {
        self.done_until(self.recorded())
    }
}

impl State {
    fn add_event(&mut self, flags: u32, shared: Option<Shared>) -> Answer<Handle> {
        let context = self.current()?;
        let handle = self.handle();
        let event = Event {
            context,
            flags,
            own: Counts::default(),
            shared,
            when: Mutex::new(None),
        };
        self.events.insert(handle, Arc::new(event));
        Ok(handle)
    }

    fn event(&self, event: Handle) -> Answer<Arc<Event>> {
        self.events.get(&event).cloned().ok_or(INVALID_HANDLE)
    }
}

api! { fn cuEventCreate(event: *mut Handle, flags: u32) {
    if flags & !7 != 0 || flags & (INTERPROCESS | DISABLE_TIMING) == INTERPROCESS {
        return Err(INVALID_VALUE);
    }
    let mut s = state()?;
    let device = s.current_device()?;
    let shared = if flags & INTERPROCESS != 0 {
        let facts = Facts { kind: 'e', device, size: PAGE as u64, handle_types: 0 };
        Some(Shared::map(ledger::create(facts)?)?)
    } else {
        None
    };
    let handle = s.add_event(flags, shared)?;
    put(event, handle)
} }
api! { fn cuEventDestroy_v2(event: Handle) {
    state()?.events.remove(&event).map(drop).ok_or(INVALID_HANDLE)
} }

fn record(event: Handle, stream: Handle) -> Answer {
    let (event, lane) = {
        let s = state()?;
        (s.event(event)?, s.lane(stream)?)
    };
    if event.context != lane.context {
        return Err(INVALID_HANDLE);
    }
    let number = event.counts().recorded.fetch_add(1, SeqCst) + 1;
    worker::submit(lane, Work::Record(event, number), Vec::new())
}

api! { fn cuEventRecord(event: Handle, stream: Handle) { record(event, stream) } }
api! { fn cuEventRecordWithFlags(event: Handle, stream: Handle, _flags: u32) { record(event, stream) } }
api! { fn cuEventQuery(event: Handle) {
    let event = state()?.event(event)?;
    if event.done() { Ok(()) } else { Err(NOT_READY) }
} }
api! { fn cuEventSynchronize(event: Handle) {
    let event = state()?.event(event)?;
    let until = event.recorded();
    while !event.done_until(until) {
        std::thread::sleep(std::time::Duration::from_micros(20));
    }
    Ok(())
} }

fn elapsed(ms: *mut f32, start: Handle, end: Handle) -> Answer {
    let (start, end) = {
        let s = state()?;
        (s.event(start)?, s.event(end)?)
    };
    if (start.flags | end.flags) & DISABLE_TIMING != 0 {
        return Err(INVALID_HANDLE);
    }
    if !start.done() || !end.done() {
        return Err(NOT_READY);
    }
    let at = |e: &Event| e.when.lock().unwrap().ok_or(INVALID_HANDLE);
    let (from, to) = (at(&start)?, at(&end)?);
    // SAFETY: the caller's pointer, for one number.
    unsafe { put(ms, to.saturating_duration_since(from).as_secs_f32() * 1e3) }
}

api! { fn cuEventElapsedTime(ms: *mut f32, start: Handle, end: Handle) { elapsed(ms, start, end) } }
api! { fn cuEventElapsedTime_v2(ms: *mut f32, start: Handle, end: Handle) { elapsed(ms, start, end) } }

api! { fn cuIpcGetEventHandle(token: *mut Token, event: Handle) {
    let event = state()?.event(event)?;
    let lease = event.shared.as_ref().and_then(|s| s.lease.as_ref()).ok_or(INVALID_HANDLE)?;
    put(token, Token::named(&lease.name())?)
} }
api! { fn cuIpcOpenEventHandle(event: *mut Handle, token: Token) {
    let shared = Shared::map(ledger::join(token.name()?, 'e')?)?;
    let handle = state()?.add_event(DISABLE_TIMING | INTERPROCESS, Some(shared))?;
    put(event, handle)
} }
