//! Handlers of descriptors and timers: functions that are called from a thread when something is
//! ready or due, or from a poll (`ucs_async_*`).
//!
//! One thread serves the process. It is started with the first handler that needs it and ends with
//! the last one; a forked child has none of its parent's handlers.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::status::{Error, Result};
use crate::sys::doorbell::Doorbell;
use crate::sys::epoll::{Epoll, Event};
use crate::sys::process;

/// Ids of timers begin here; below, an id is the descriptor.
pub const FIRST_TIMER: i32 = 1_000_000;
const LAST_TIMER: i32 = 2_000_000;

/// What is called, and whether it may be called now.
pub trait Target: Send + Sync {
    /// Calls the handler, unless somebody keeps it from being called: then returns false.
    fn call(&self, id: i32, events: u32) -> bool;

    /// Events that a handler is for, in epoll's terms.
    fn wanted(&self, events: u32) -> u32;

    /// Events that epoll saw, in the handler's terms.
    fn seen(&self, events: u32) -> u32;
}

/// A handler.
struct Entry {
    id: i32,
    /// Only called by [`poll`].
    polled: bool,
    /// Who it belongs to, 0 for nobody.
    context: usize,
    events: AtomicU32,
    /// Of a timer.
    interval: Option<Duration>,
    target: Box<dyn Target>,
    /// Calls under way, or about to be.
    running: AtomicU32,
    /// The thread in the call, as [`this_thread`] numbers them.
    caller: AtomicU64,
}

#[derive(Default)]
struct Table {
    handlers: HashMap<i32, Arc<Entry>>,
    /// When timers that the thread serves are due next.
    due: Vec<(Instant, Arc<Entry>)>,
    next_timer: i32,
    service: Option<Arc<Service>>,
    pid: u32,
}

struct Service {
    epoll: Epoll,
    /// Wakes the thread.
    bell: Doorbell,
    stop: AtomicBool,
}

static TABLE: Mutex<Option<Table>> = Mutex::new(None);

/// Of a doorbell in the thread's set.
const BELL: u64 = u64::MAX;

/// What a handler is for.
pub enum When {
    /// A descriptor has one of these events.
    Ready(i32, u32),
    /// Time has passed, again and again.
    Every(Duration),
}

/// Adds a handler; returns its id.
///
/// # Errors
/// `ExceedsLimit` for a descriptor too large, `AlreadyExists` for one that has a handler, `IoError`
/// for one that can't be waited for, `NoResource` without a thread.
pub fn add(when: When, polled: bool, context: usize, target: Box<dyn Target>) -> Result<i32> {
    let mut guard = lock()?;
    let table = guard.get_or_insert_with(Table::default);
    table.forget_parents();
    let (id, events, interval) = match when {
        When::Ready(fd, _) if fd >= FIRST_TIMER => return Err(Error::ExceedsLimit),
        When::Ready(fd, events) => (fd, events, None),
        When::Every(interval) => (table.free_timer()?, 1, Some(interval)),
    };
    if table.handlers.contains_key(&id) {
        crate::ucs_error!("descriptor {id} has a handler of asynchronous events already");
        return Err(Error::AlreadyExists);
    }
    let entry = Arc::new(Entry {
        id,
        polled,
        context,
        events: AtomicU32::new(events),
        interval,
        target,
        running: AtomicU32::new(0),
        caller: AtomicU64::new(0),
    });
    if !polled {
        let service = table.service()?;
        match interval {
            Some(interval) => {
                let next = Instant::now().checked_add(interval);
                let next = next.ok_or(Error::InvalidParam)?;
                table.due.push((next, entry.clone()));
            }
            None => {
                let wanted = entry.target.wanted(events);
                if let Err(error) = service.epoll.add(id, wanted, id as u64) {
                    crate::ucs_error!("cannot wait for descriptor {id}: {error}");
                    return Err(Error::IoError);
                }
            }
        }
        service.bell.ring();
    }
    table.handlers.insert(id, entry);
    Ok(id)
}

/// Takes a handler back. With `sync`, it isn't running any more when this returns, unless this is
/// called by the handler itself.
///
/// # Errors
/// `NoElem` if there is none.
pub fn remove(id: i32, sync: bool) -> Result<()> {
    let entry = {
        let mut guard = lock()?;
        let table = guard.as_mut().ok_or(Error::NoElem)?;
        table.forget_parents();
        let entry = table.handlers.remove(&id).ok_or(Error::NoElem)?;
        table.due.retain(|(_, other)| other.id != id);
        if !entry.polled
            && let Some(service) = &table.service
        {
            if entry.interval.is_none() {
                service.epoll.remove(id);
            }
            if table.handlers.values().all(|entry| entry.polled) {
                service.stop.store(true, Ordering::Release);
                service.bell.ring();
                table.service = None;
            }
        }
        entry
    };
    if sync {
        let own = u32::from(entry.caller.load(Ordering::Acquire) == this_thread());
        while entry.running.load(Ordering::Acquire) > own {
            std::thread::sleep(Duration::from_micros(50));
        }
    }
    Ok(())
}

/// Changes the events of a descriptor.
///
/// # Errors
/// `NoElem` if it has no handler, `InvalidParam` for a timer.
pub fn modify(fd: i32, events: u32) -> Result<()> {
    if fd >= FIRST_TIMER {
        return Err(Error::InvalidParam);
    }
    let mut guard = lock()?;
    let table = guard.as_mut().ok_or(Error::NoElem)?;
    table.forget_parents();
    let entry = table.handlers.get(&fd).ok_or(Error::NoElem)?;
    entry.events.store(events, Ordering::Release);
    if !entry.polled
        && let Some(service) = &table.service
    {
        let wanted = entry.target.wanted(events);
        if let Err(error) = service.epoll.modify(fd, wanted, fd as u64) {
            crate::ucs_error!("cannot wait for descriptor {fd}: {error}");
            return Err(Error::IoError);
        }
    }
    Ok(())
}

/// Calls the handlers of a context, or all (0), whether anything is ready or not.
pub fn poll(context: usize) {
    for entry in running(|entry| {
        let ours = context == 0 || entry.context == context;
        ours && entry.events.load(Ordering::Relaxed) != 0
    }) {
        entry.call(entry.events.load(Ordering::Relaxed));
    }
}

/// How many handlers a context has.
pub fn count(context: usize) -> usize {
    let guard = TABLE.lock();
    guard.as_ref().map_or(0, |table| {
        let handlers = table.handlers.values();
        handlers.filter(|entry| entry.context == context).count()
    })
}

/// The handlers that are wanted; each is counted as running until it was called.
fn running(wanted: impl Fn(&Entry) -> bool) -> Vec<Arc<Entry>> {
    let Ok(mut guard) = lock() else {
        return Vec::new();
    };
    let Some(table) = guard.as_mut() else {
        return Vec::new();
    };
    table.forget_parents();
    let found = table.handlers.values().filter(|entry| wanted(entry));
    found.map(|entry| entry.clone().begin()).collect()
}

/// Locks the table. Where another thread had it while this process was forked, it stays locked.
fn lock() -> Result<parking_lot::MutexGuard<'static, Option<Table>>> {
    TABLE
        .try_lock_for(Duration::from_secs(5))
        .ok_or(Error::NoResource)
}

/// Tells this thread from others; never 0.
fn this_thread() -> u64 {
    thread_local!(static NUMBER: u8 = const { 0 });
    NUMBER.with(|number| core::ptr::from_ref(number) as u64)
}

impl Entry {
    fn begin(self: Arc<Entry>) -> Arc<Entry> {
        self.running.fetch_add(1, Ordering::AcqRel);
        self
    }

    /// After [`Entry::begin`]. False if somebody kept it from being called.
    fn call(&self, events: u32) -> bool {
        let before = self.caller.swap(this_thread(), Ordering::AcqRel);
        let called = self.target.call(self.id, events);
        self.caller.store(before, Ordering::Release);
        self.running.fetch_sub(1, Ordering::AcqRel);
        called
    }
}

impl Table {
    /// In a forked child, nothing of the parent's is left.
    fn forget_parents(&mut self) {
        let pid = std::process::id();
        if self.pid != pid {
            // The parent's set of descriptors is shared with it: closing our copy is all that may
            // be done to it.
            *self = Table {
                pid,
                ..Table::default()
            };
        }
    }

    fn free_timer(&mut self) -> Result<i32> {
        let room = LAST_TIMER - FIRST_TIMER;
        for _ in 0..room {
            let id = FIRST_TIMER + self.next_timer;
            self.next_timer = (self.next_timer + 1) % room;
            if !self.handlers.contains_key(&id) {
                return Ok(id);
            }
        }
        Err(Error::AlreadyExists)
    }

    /// The thread, started if there is none.
    fn service(&mut self) -> Result<Arc<Service>> {
        if let Some(service) = &self.service {
            return Ok(service.clone());
        }
        let service = Service::start().map_err(|error| {
            crate::ucs_error!("no thread for asynchronous events: {error}");
            Error::NoResource
        })?;
        self.service = Some(service.clone());
        Ok(service)
    }
}

impl Service {
    fn start() -> std::io::Result<Arc<Service>> {
        let service = Arc::new(Service {
            epoll: Epoll::new()?,
            bell: Doorbell::new()?,
            stop: AtomicBool::new(false),
        });
        service
            .epoll
            .add(service.bell.fd(), crate::sys::epoll::IN, BELL)?;
        let own = service.clone();
        // Signals of the program go to its own threads.
        process::without_signals(|| {
            std::thread::Builder::new()
                .name("ucx-async".to_owned())
                .spawn(move || own.run())
        })?;
        Ok(service)
    }

    fn run(&self) {
        let mut events = [Event::default(); 16];
        let mut wait = None;
        while !self.stop.load(Ordering::Acquire) {
            let count = self.epoll.wait(&mut events, wait);
            let mut called = true;
            for event in events.iter().take(count) {
                if event.key == BELL {
                    self.bell.clear();
                } else {
                    called &= dispatch(event.key as i32, event.events);
                }
            }
            let (next, all) = self.timers();
            // Whoever kept a handler from being called is done soon.
            let soon = (!called || !all).then_some(Duration::from_micros(200));
            if let Some(pause) = soon {
                std::thread::sleep(pause);
            }
            wait = match soon {
                Some(_) => Some(Duration::ZERO),
                None => next,
            };
        }
    }

    /// Calls what is due. Returns how long nothing more will be, and whether all could be called.
    fn timers(&self) -> (Option<Duration>, bool) {
        let now = Instant::now();
        let mut due = Vec::new();
        {
            let mut guard = TABLE.lock();
            let Some(table) = guard.as_mut().filter(|table| self.serves(table)) else {
                return (None, true);
            };
            for (when, entry) in &mut table.due {
                if *when <= now {
                    due.push(entry.clone().begin());
                    let interval = entry.interval.unwrap_or_default();
                    *when = now + interval.max(Duration::from_micros(1));
                }
            }
        }
        let mut all = true;
        for entry in due {
            if !entry.call(0) {
                all = false;
                let mut guard = TABLE.lock();
                let slots = guard.as_mut().map(|table| table.due.iter_mut());
                let slot = slots.and_then(|mut slots| slots.find(|(_, e)| e.id == entry.id));
                if let Some((when, _)) = slot {
                    *when = now;
                }
            }
        }
        let guard = TABLE.lock();
        let table = guard.as_ref().filter(|table| self.serves(table));
        let next = table.and_then(|table| table.due.iter().map(|(when, _)| *when).min());
        let wait = next.map(|next| next.saturating_duration_since(Instant::now()));
        (wait, all)
    }

    /// Another thread may serve by now.
    fn serves(&self, table: &Table) -> bool {
        let current = table.service.as_ref();
        current.is_some_and(|service| core::ptr::eq(Arc::as_ptr(service), self))
    }
}

/// Calls the handler of a descriptor. False if somebody kept it from being called.
fn dispatch(fd: i32, events: u32) -> bool {
    let entry = {
        let guard = TABLE.lock();
        let found = guard.as_ref().and_then(|table| table.handlers.get(&fd));
        match found {
            Some(entry) => entry.clone().begin(),
            None => return true,
        }
    };
    let events = entry.target.seen(events);
    entry.call(events)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Counted {
        calls: Arc<AtomicU32>,
        blocked: Arc<AtomicBool>,
    }

    impl Target for Counted {
        fn call(&self, _: i32, _: u32) -> bool {
            if self.blocked.load(Ordering::SeqCst) {
                return false;
            }
            self.calls.fetch_add(1, Ordering::SeqCst);
            true
        }

        fn wanted(&self, events: u32) -> u32 {
            events
        }

        fn seen(&self, events: u32) -> u32 {
            events
        }
    }

    fn until(condition: impl Fn() -> bool) {
        for _ in 0..20_000 {
            if condition() {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("it never came");
    }

    #[test]
    fn handlers_are_called() {
        let (timer, ready) = (Counted::default(), Counted::default());
        let bell = Doorbell::new().expect("a descriptor");
        let every = When::Every(Duration::from_millis(2));
        let id = add(every, false, 7, Box::new(timer.clone())).expect("a timer");
        let when = || When::Ready(bell.fd(), crate::sys::epoll::IN);
        add(when(), false, 7, Box::new(ready.clone())).expect("a handler");
        let again = add(when(), false, 7, Box::new(ready.clone()));
        assert_eq!(again, Err(Error::AlreadyExists));
        assert_eq!(count(7), 2);
        until(|| timer.calls.load(Ordering::SeqCst) > 2);
        assert_eq!(ready.calls.load(Ordering::SeqCst), 0);
        ready.blocked.store(true, Ordering::SeqCst);
        bell.ring();
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(ready.calls.load(Ordering::SeqCst), 0);
        ready.blocked.store(false, Ordering::SeqCst);
        until(|| ready.calls.load(Ordering::SeqCst) > 0);
        assert_eq!(remove(bell.fd(), true), Ok(()));
        assert_eq!(remove(id, true), Ok(()));
        assert_eq!(remove(id, true), Err(Error::NoElem));
        let calls = timer.calls.load(Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(10));
        assert_eq!(timer.calls.load(Ordering::SeqCst), calls);
        assert_eq!(modify(bell.fd(), 0), Err(Error::NoElem));
    }

    #[test]
    fn polled_handlers_wait_for_the_poll() {
        let timer = Counted::default();
        let every = When::Every(Duration::from_millis(1));
        let id = add(every, true, 9, Box::new(timer.clone())).expect("a timer");
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(timer.calls.load(Ordering::SeqCst), 0);
        poll(9);
        poll(10);
        assert_eq!(timer.calls.load(Ordering::SeqCst), 1);
        assert_eq!(remove(id, true), Ok(()));
        let far = When::Ready(FIRST_TIMER, 1);
        let added = add(far, true, 9, Box::new(timer));
        assert_eq!(added, Err(Error::ExceedsLimit));
    }
}
