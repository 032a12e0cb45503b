//! Processes of this host whose end wakes a sleeping worker: shared memory tells nothing of it, but
//! the kernel does. Where it can't (before Linux 5.3, or without a free descriptor), peers are
//! looked at when the alarm goes off, see [`super::alarm`].

use core::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsRawFd, OwnedFd};

use crate::sys::epoll::{self, Epoll, Event};
use crate::sys::event::EventSet;
use crate::sys::hostid::Process;
use crate::sys::pidfd;

/// See the module. There is no descriptor before there is a process to watch.
#[derive(Default)]
pub struct Deaths {
    /// One set for all, so that a single call tells whether anybody has died.
    set: RefCell<Option<Epoll>>,
    /// By process id.
    watched: RefCell<BTreeMap<u32, Watched>>,
    /// Tokens of endpoints whose peer has ended, to be looked at.
    bereaved: RefCell<Vec<u64>>,
    /// Why there is nothing to be watched here, said once.
    refused: Cell<bool>,
}

struct Watched {
    start: u64,
    end: OwnedFd,
    endpoints: BTreeSet<u64>,
}

impl Deaths {
    /// From now on the end of the process, which the endpoint with this token leads to, makes `events`
    /// readable.
    pub fn watch(&self, events: &EventSet, process: Process, token: u64) {
        self.collect();
        let mut watched = self.watched.borrow_mut();
        if let Some(known) = watched.get_mut(&process.pid)
            && known.start == process.start
        {
            known.endpoints.insert(token);
            return;
        }
        match self.begin(events, process) {
            Ok(end) => {
                let known = Watched {
                    start: process.start,
                    end,
                    endpoints: BTreeSet::from([token]),
                };
                watched.insert(process.pid, known);
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                self.bereaved.borrow_mut().push(token);
                events.signal();
            }
            Err(error) => {
                if !self.refused.replace(true) {
                    let pid = process.pid;
                    crate::ucs_debug!("the end of process {pid} can't wake the worker: {error}");
                }
            }
        }
    }

    fn begin(&self, events: &EventSet, process: Process) -> std::io::Result<OwnedFd> {
        let end = pidfd::end_of(process)?;
        let mut set = self.set.borrow_mut();
        let set = match &mut *set {
            Some(set) => set,
            none => {
                let made = Epoll::new()?;
                events.add(made.as_raw_fd())?;
                none.insert(made)
            }
        };
        set.add(end.as_raw_fd(), epoll::IN, u64::from(process.pid))?;
        Ok(end)
    }

    /// The endpoint has failed or gone.
    pub fn unwatch(&self, process: Process, token: u64) {
        let mut watched = self.watched.borrow_mut();
        if let Some(known) = watched.get_mut(&process.pid)
            && known.endpoints.remove(&token)
            && known.endpoints.is_empty()
            && let Some(known) = watched.remove(&process.pid)
        {
            self.forget(&known);
        }
    }

    /// A forked child's copy of the descriptor must not keep it in the set.
    fn forget(&self, known: &Watched) {
        if let Some(set) = &*self.set.borrow() {
            set.remove(known.end.as_raw_fd());
        }
    }

    /// Asks the kernel who has died. True if there are endpoints to look at.
    pub fn collect(&self) -> bool {
        let mut ended = [Event::default(); 32];
        while !self.watched.borrow().is_empty() {
            let n = match &*self.set.borrow() {
                Some(set) => set.poll(&mut ended),
                None => 0,
            };
            for event in ended.iter().take(n) {
                let pid = event.key as u32;
                if let Some(known) = self.watched.borrow_mut().remove(&pid) {
                    self.forget(&known);
                    self.bereaved.borrow_mut().extend(known.endpoints);
                }
            }
            if n < ended.len() {
                break;
            }
        }
        self.is_due()
    }

    /// There are endpoints to look at, as far as is known.
    pub fn is_due(&self) -> bool {
        !self.bereaved.borrow().is_empty()
    }

    /// Their tokens.
    pub fn take(&self) -> Vec<u64> {
        self.bereaved.take()
    }
}
