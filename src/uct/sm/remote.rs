//! A peer's segment, and this process's place in it.

use std::cell::Cell;
use std::fs::File;

use crate::sys::doorbell::Doorbell;
use crate::sys::hostid::{Process, host_ids, is_alive, start_time};
use crate::sys::shm;
use crate::ucs::status::{Error, Result};

use super::fifo::area::{Area, Owner};
use super::fifo::layout::SHARED_RING;
use super::fifo::tx::Tx;
use super::segment::{Kind, Opened};

/// A post without room looks for the peer's life once in so many times.
const FULL_CHECK: u32 = 1 << 16;

pub struct Remote {
    // The order of these fields matters: `tx` points into `area`.
    pub tx: Tx,
    area: Area,
    ring: usize,
    /// Receivers that sleep have one.
    bell: Option<Doorbell>,
    full: Cell<u32>,
}

impl Remote {
    pub fn attach(kind: Kind, opened: Opened) -> Result<Remote> {
        let area = Area::attach(opened.map)?;
        if area.facts.nonce != opened.nonce {
            crate::ucs_diag!("{}: the peer's segment is gone", kind.name());
            return Err(Error::Unreachable);
        }
        let bell = bell(kind, &area)?;
        let owner = owner(&area);
        let ring = claim(&area, owner, opened.file.as_ref());
        let share = (ring == SHARED_RING).then_some(owner);
        Ok(Remote {
            tx: Tx::new(&area, ring, share),
            area,
            ring,
            bell,
            full: Cell::new(0),
        })
    }

    /// After a message was published: wakes a receiver that sleeps.
    #[inline(always)]
    pub fn published(&self) {
        if let Some(bell) = &self.bell
            && self.area.must_ring()
        {
            bell.ring();
        }
    }

    /// There was no room. Once in a while it is worth a look whether there ever will be.
    #[cold]
    pub fn no_room(&self) -> Result<()> {
        let count = self.full.get().wrapping_add(1);
        self.full.set(count);
        if self.area.is_gone() {
            return Err(Error::ConnectionReset);
        }
        if count.is_multiple_of(FULL_CHECK) {
            return self.check();
        }
        Ok(())
    }

    /// The receiver has closed its interface.
    pub fn is_gone(&self) -> bool {
        self.area.is_gone()
    }

    /// The receiver's process, as its namespace numbers it.
    pub fn pid(&self) -> u32 {
        self.area.facts.pid
    }

    /// # Errors
    /// `ConnectionReset` if the receiver has closed its interface or died.
    pub fn check(&self) -> Result<()> {
        let dead = |process: Process| !is_alive(process.pid, process.start);
        if self.area.is_gone() || self.process().is_some_and(dead) {
            return Err(Error::ConnectionReset);
        }
        Ok(())
    }

    /// The receiver's process, if it is known to this one.
    pub fn process(&self) -> Option<Process> {
        let facts = &self.area.facts;
        let known = facts.start_time != 0 && facts.pid_ns == host_ids().pid_ns;
        known.then_some(Process {
            pid: facts.pid,
            start: facts.start_time,
        })
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        if self.ring != SHARED_RING {
            self.area.close(self.ring);
            self.published();
        }
    }
}

fn bell(kind: Kind, area: &Area) -> Result<Option<Doorbell>> {
    let facts = &area.facts;
    if facts.bell_fd < 0 {
        return Ok(None);
    }
    match Doorbell::of_process(facts.pid, facts.bell_fd) {
        Ok(bell) if bell.inode() == facts.bell_inode => Ok(Some(bell)),
        Ok(_) => {
            crate::ucs_diag!("{}: the peer's pipe for wake-up is gone", kind.name());
            Err(Error::Unreachable)
        }
        Err(error) => {
            let pid = facts.pid;
            crate::ucs_diag!(
                "{}: process {pid} wants to be woken up, but its pipe can't be opened: {error}",
                kind.name()
            );
            Err(Error::Unreachable)
        }
    }
}

/// This process, as the receiver knows it.
fn owner(area: &Area) -> Owner {
    let pid = std::process::id();
    let known = if is_same_ns(area) { pid } else { 0 };
    Owner::new(known, start_time(pid).unwrap_or(0))
}

fn is_same_ns(area: &Area) -> bool {
    area.facts.pid_ns == host_ids().pid_ns
}

/// Takes a ring for this sender alone if there is one, with memory for it.
fn claim(area: &Area, owner: Owner, file: Option<&File>) -> usize {
    let same_ns = is_same_ns(area);
    let Some(ring) = area.claim(owner) else {
        if same_ns {
            area.close_dead(is_alive);
        }
        area.share();
        return SHARED_RING;
    };
    let geometry = area.geometry();
    if let Some(file) = file
        && let Err(error) = shm::allocate(file, geometry.ring(ring), geometry.ring_len())
    {
        crate::ucs_debug!("no memory for a receive ring of this sender alone: {error}");
        area.free(ring);
        area.share();
        return SHARED_RING;
    }
    area.activate(ring);
    ring
}
