//! Sleeping on a descriptor instead of polling.

use std::os::fd::RawFd;
use std::sync::Arc;

use super::Worker;
use super::progress::{IDLE_ROUNDS, LOOK_AFTER};
use crate::sys::event::EventSet;
use crate::ucs::status::{Error, Result};
use crate::uct::Arm;

impl Worker {
    pub(super) fn collect_event_fds(&self) {
        let Some(events) = &self.events else { return };
        for open in &self.ifaces {
            if let Some(fd) = open.iface.event_fd()
                && let Err(e) = events.add(fd)
            {
                crate::ucs_warn!("an interface can't wake the worker: {e}");
            }
        }
    }

    /// The worker's sleep also ends when `fd` becomes readable.
    pub(in crate::ucp) fn wake_by(&self, fd: RawFd) -> Result<()> {
        let Some(events) = &self.events else {
            return Ok(());
        };
        events.add(fd).map_err(|e| {
            crate::ucs_error!("a descriptor can't wake the worker: {e}");
            Error::IoError
        })
    }

    fn event_set(&self) -> Result<&EventSet> {
        self.events.as_ref().ok_or(Error::Unsupported)
    }

    /// `ucp_worker_get_efd`: unsupported where the user has given a set of his own.
    pub fn event_fd(&self) -> Result<RawFd> {
        match self.reports.get() {
            true => Err(Error::Unsupported),
            false => Ok(self.event_set()?.fd()),
        }
    }

    /// `UCP_WORKER_PARAM_FIELD_EVENT_FD`: the user's epoll set gets our descriptor.
    pub fn report_events_to(&self, epoll: RawFd) -> Result<()> {
        let fd = self.event_fd()?;
        crate::sys::event::add_to_epoll(epoll, fd, self.user_data() as u64).map_err(|e| {
            crate::ucs_error!("failed to add the worker's events to descriptor {epoll}: {e}");
            Error::IoError
        })?;
        self.reports.set(true);
        Ok(())
    }

    /// `ucp_worker_arm`: `Busy` when there is something to do already.
    pub fn arm(&self) -> Result<()> {
        let events = self.event_set()?;
        self.acknowledge_all();
        self.links.keep_time(|| {
            let signal = events.signaller();
            Arc::new(move || signal.signal())
        });
        let signalled = events.clear();
        if signalled
            || !self.failed.borrow().is_empty()
            || self.alarm.is_due()
            || self.deaths.collect()
            || (self.cm.is_active() && self.cm.is_ready())
        {
            self.wake_quiet_ifaces();
            return Err(Error::Busy);
        }
        let blocked = self.is_blocked();
        for open in &self.ifaces {
            if open.iface.arm(blocked)? == Arm::Busy {
                self.wake_quiet_ifaces();
                return Err(Error::Busy);
            }
        }
        self.armed.set(true);
        Ok(())
    }

    /// Something has begun to wait for room since the worker was armed: another thread has posted
    /// it, and not all transports tell of room.
    pub(super) fn blocked_while_armed(&self) {
        if self.armed.replace(false)
            && let Some(events) = &self.events
        {
            events.signal();
        }
    }

    /// Something is waiting: the next progress must look everywhere.
    fn wake_quiet_ifaces(&self) {
        self.links.hurry();
        self.rounds.set(LOOK_AFTER);
        self.sockaddr_rounds.set(IDLE_ROUNDS);
        self.last_look.set(None);
    }

    /// `ucp_worker_signal`, from any thread.
    pub fn signal(&self) -> Result<()> {
        self.event_set()?.signal();
        Ok(())
    }

    /// Sleeps until something happens. The caller has armed and let go of the lock.
    pub fn sleep(&self) -> Result<()> {
        self.event_set()?.wait(-1).map_err(|e| {
            crate::ucs_error!("waiting for events failed: {e}");
            Error::IoError
        })
    }

    /// After sleeping: the event may be anywhere.
    pub fn woken(&self) {
        self.wake_quiet_ifaces();
    }
}
