//! Timers on the one asynchronous thread of the process.
//!
//! The thread is started with the first timer and ends with the last one. It runs no code of
//! users or protocols: when a timer is due, it marks it and calls its waker, which signals an
//! event descriptor. The owner of the timer finds the mark in its own progress.
//!
//! A forked child has no such thread: timers of its parent never become due there, and it gets a
//! thread of its own with its first timer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::status::{Error, Result};
use crate::sys::process;

/// Called on the asynchronous thread when a timer is due: must only signal, and not block.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// A timer that becomes due again and again, until it is dropped.
pub struct Timer {
    entry: Arc<Entry>,
    /// The process that started it.
    pid: u32,
}

struct Entry {
    interval: Duration,
    due: AtomicBool,
    wake: Wake,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// With the time at which each is due next.
    timers: Vec<(Instant, Arc<Entry>)>,
    stop: bool,
}

struct Service {
    pid: u32,
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

static SERVICE: Mutex<Option<Service>> = Mutex::new(None);

/// Shorter intervals would keep a processor busy.
const SHORTEST: Duration = Duration::from_millis(1);

impl Timer {
    /// Starts a timer that is due every `interval` (a millisecond at least) from now on.
    ///
    /// # Errors
    /// `NoResource` when no thread can be had.
    pub fn start(interval: Duration, wake: Wake) -> Result<Timer> {
        let interval = interval.max(SHORTEST);
        // A time beyond what the clock can say never comes.
        let next = Instant::now()
            .checked_add(interval)
            .ok_or(Error::InvalidParam)?;
        let entry = Arc::new(Entry {
            interval,
            due: AtomicBool::new(false),
            wake,
        });
        let pid = std::process::id();
        let mut service = lock()?;
        if let Some(old) = service.take_if(|service| service.pid != pid) {
            // The parent's: its thread does not exist here.
            core::mem::forget(old);
        }
        let running = match &mut *service {
            Some(running) => running,
            none => none.insert(Service::start(pid)?),
        };
        let shared = &running.shared;
        shared.state.lock().timers.push((next, entry.clone()));
        shared.changed.notify_one();
        Ok(Timer { entry, pid })
    }

    /// Whether the timer has become due since [`Timer::take_due`] was called last.
    pub fn is_due(&self) -> bool {
        self.entry.due.load(Ordering::Relaxed)
    }

    /// Whether the timer has become due since the last call.
    pub fn take_due(&self) -> bool {
        // Looked at in every progress: a plain load while nothing is due.
        self.entry.due.load(Ordering::Relaxed) && self.entry.due.swap(false, Ordering::Acquire)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if self.pid != std::process::id() {
            return;
        }
        let Ok(mut service) = lock() else { return };
        let Some(running) = service.as_mut().filter(|service| service.pid == self.pid) else {
            return;
        };
        let mut state = running.shared.state.lock();
        state
            .timers
            .retain(|(_, entry)| !Arc::ptr_eq(entry, &self.entry));
        if !state.timers.is_empty() {
            return;
        }
        state.stop = true;
        drop(state);
        running.shared.changed.notify_one();
        if let Some(ended) = service.take() {
            // It is in no user's code, so this takes no time.
            let _ = ended.thread.join();
        }
    }
}

/// Locks the service. Where another thread held it while this process was forked, it stays locked
/// for ever: then there is no service here.
fn lock() -> Result<MutexGuard<'static, Option<Service>>> {
    SERVICE
        .try_lock_for(Duration::from_secs(1))
        .ok_or(Error::NoResource)
}

impl Service {
    fn start(pid: u32) -> Result<Service> {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let for_thread = shared.clone();
        // Signals of the program go to its own threads.
        let thread = process::without_signals(|| {
            std::thread::Builder::new()
                .name("ucx-async".to_owned())
                .stack_size(64 << 10)
                .spawn(move || for_thread.run())
        });
        match thread {
            Ok(thread) => Ok(Service {
                pid,
                shared,
                thread,
            }),
            Err(error) => {
                crate::ucs_error!("can't start the asynchronous thread: {error}");
                Err(Error::NoResource)
            }
        }
    }
}

impl Shared {
    fn run(&self) {
        let mut state = self.state.lock();
        while !state.stop {
            let now = Instant::now();
            for (next, entry) in state.timers.iter_mut().filter(|(next, _)| *next <= now) {
                entry.due.store(true, Ordering::Release);
                (entry.wake)();
                // Rounds that were missed are not made up for.
                *next = now.checked_add(entry.interval).unwrap_or(now);
            }
            match state.timers.iter().map(|(next, _)| *next).min() {
                Some(next) => {
                    self.changed.wait_until(&mut state, next);
                }
                None => self.changed.wait(&mut state),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn alive() -> bool {
        SERVICE.lock().is_some()
    }

    #[test]
    fn timers_become_due_and_the_thread_ends_with_the_last() {
        let (send, receive) = mpsc::channel();
        let wake: Wake = {
            let send = Mutex::new(send);
            Arc::new(move || {
                let _ = send.lock().send(());
            })
        };
        let quick = Timer::start(Duration::ZERO, wake).expect("a thread");
        let slow = Timer::start(Duration::from_secs(3600), Arc::new(|| {})).expect("a thread");
        for _ in 0..3 {
            receive
                .recv_timeout(Duration::from_secs(60))
                .expect("the thread runs");
        }
        assert!(quick.take_due());
        assert!(!slow.take_due());
        drop(quick);
        assert!(alive());
        drop(slow);
        assert!(!alive());
        // All senders are gone, with what had been sent before.
        while receive.recv().is_ok() {}
    }
}
