//! Workers: what `uct_worker_progress` calls.
//!
//! Programs walk the callbacks of the header themselves, with a stride that depends on the version
//! they were built with. So only the first callback is in use: it calls everything else.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::abi::prelude::*;

use super::iface::Interface;

/// What a `uct_worker_h` points to.
#[repr(C)]
pub struct Worker {
    c: uct_worker,
    /// Distinguishes workers, for addresses.
    pub uid: u64,
    pub multi: bool,
    /// The callback that calls those registered with `uct_worker_progress_register_safe`, and
    /// how many of these there are.
    registered: ucs_callbackq_elem_t,
    count: AtomicUsize,
    /// Interfaces whose progress is enabled; `active` follows when `changed` is set.
    enabled: Mutex<Vec<Member>>,
    changed: AtomicBool,
    active: RefCell<SmallVec<[Member; 4]>>,
    /// That of `active`, if it is the only one.
    only: Cell<Option<Member>>,
}

/// Something that a worker progresses.
#[derive(Clone, Copy)]
pub struct Member {
    pub progress: unsafe fn(*const c_void) -> c_uint,
    pub object: *const c_void,
}

impl PartialEq for Member {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.object, other.object)
    }
}

// SAFETY: the list is changed by any thread, members are called by the worker's only.
unsafe impl Send for Member {}

impl Worker {
    pub fn create(multi: bool) -> Result<uct_worker_h, Error> {
        // SAFETY: a header is plain data for which zero is a value.
        let c = unsafe { core::mem::zeroed() };
        let mut worker = Box::new(Worker {
            c,
            uid: crate::sys::event::random_u64(),
            multi,
            registered: ucs_callbackq_elem {
                cb: None,
                arg: core::ptr::null_mut(),
            },
            count: AtomicUsize::new(0),
            enabled: Mutex::default(),
            changed: AtomicBool::new(false),
            active: RefCell::default(),
            only: Cell::new(None),
        });
        // SAFETY: the queue is in place for as long as it is used.
        let status = unsafe { ucs_callbackq_init(&raw mut worker.c.progress_q) };
        if let Some(error) = Error::from_code(status.0) {
            return Err(error);
        }
        worker.registered = worker.c.progress_q.fast_elems[0];
        let worker = Box::into_raw(worker);
        // SAFETY: just made. The address is that of the whole worker.
        unsafe {
            (*worker).c.progress_q.fast_elems[0] = ucs_callbackq_elem {
                cb: Some(progress),
                arg: worker.cast(),
            };
        }
        Ok(worker.cast())
    }

    /// # Safety
    /// `handle` is NULL or from [`Worker::create`], and not destroyed yet.
    pub unsafe fn from<'a>(handle: uct_worker_h) -> Result<&'a Worker, Error> {
        // SAFETY: as the caller says.
        unsafe { handle.cast::<Worker>().as_ref() }.ok_or(Error::InvalidParam)
    }

    /// # Safety
    /// `handle` is NULL or from [`Worker::create`], and not used again.
    pub unsafe fn destroy(handle: uct_worker_h) {
        if handle.is_null() {
            return;
        }
        // SAFETY: as the caller says.
        unsafe {
            let mut worker = Box::from_raw(handle.cast::<Worker>());
            ucs_callbackq_cleanup(&raw mut worker.c.progress_q);
        }
    }

    /// From now on progress calls this; from any thread.
    pub fn enable(&self, member: Member) {
        let mut enabled = self.enabled.lock();
        if !enabled.contains(&member) {
            enabled.push(member);
            self.changed.store(true, Ordering::Release);
        }
    }

    pub fn disable(&self, member: Member) {
        self.enabled.lock().retain(|other| *other != member);
        self.changed.store(true, Ordering::Release);
    }

    /// The queue of registered callbacks has got or lost one.
    pub fn registered(&self, more: bool) {
        match more {
            true => self.count.fetch_add(1, Ordering::Release),
            false => self.count.fetch_sub(1, Ordering::Release),
        };
    }

    #[cold]
    fn reload(&self) {
        // From inside a callback of this very list, the outer call notices.
        if let Ok(mut active) = self.active.try_borrow_mut()
            && self.changed.swap(false, Ordering::AcqRel)
        {
            *active = self.enabled.lock().iter().copied().collect();
            let only = active.first().copied().filter(|_| active.len() == 1);
            self.only.set(only);
        }
    }

    #[cold]
    fn call_registered(&self) -> c_uint {
        let elem = self.registered;
        // SAFETY: the queue's own callback with its argument.
        elem.cb.map_or(0, |cb| unsafe { cb(elem.arg) })
    }

    #[inline(always)]
    fn progress(&self) -> c_uint {
        let busy = self.changed.load(Ordering::Relaxed) || self.count.load(Ordering::Relaxed) > 0;
        match self.only.get() {
            // SAFETY: enabled, so alive: it is disabled before it goes.
            Some(only) if !busy => unsafe { (only.progress)(only.object) },
            _ => self.progress_all(),
        }
    }

    #[inline(never)]
    fn progress_all(&self) -> c_uint {
        if self.changed.load(Ordering::Relaxed) {
            self.reload();
        }
        let mut total: c_uint = 0;
        for at in 0.. {
            let member = self.active.borrow().get(at).copied();
            let Some(member) = member else { break };
            // SAFETY: enabled, so alive: it is disabled before it goes.
            total = total.saturating_add(unsafe { (member.progress)(member.object) });
            if self.changed.load(Ordering::Relaxed) {
                // The next member may be gone.
                break;
            }
        }
        if self.count.load(Ordering::Relaxed) > 0 {
            total = total.saturating_add(self.call_registered());
        }
        total
    }
}

unsafe extern "C" fn progress(arg: *mut c_void) -> c_uint {
    // SAFETY: the worker, which outlives its use.
    unsafe { &*arg.cast_const().cast::<Worker>() }.progress()
}

impl Interface {
    /// As a member of its worker.
    pub fn member(&self) -> Member {
        Member {
            progress: self.calls.progress,
            object: core::ptr::from_ref(self).cast(),
        }
    }
}
