//! Interfaces: the C header with its operations, then what belongs to a transport's interface.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use crate::abi::prelude::*;
use crate::ucs::config::Config;
use crate::ucs::log::{Level, enabled};
use crate::uct::{DeviceKind, Events, Iface, IfaceCaps, IfaceParams, TlDevice};

use super::desc::Shape;
use super::ep::{Endpoint, Op};
use super::md::Domain;
use super::ops::Calls;
use super::reach::Reach;
use super::stub::Stub;
use super::worker::Worker;

/// What a `uct_iface_h` points to.
#[repr(C)]
pub struct Interface {
    c: uct_iface,
    kind: Kind,
    pub tl: Rc<dyn Iface>,
    /// `tl`, for those who know its type.
    at: *const c_void,
    pub calls: Calls,
    worker: uct_worker_h,
    pub md: uct_md_h,
    pub config: Config,
    pub device: TlDevice,
    /// Put, get and atomic operations are the processor's, on memory mapped by keys.
    pub direct: bool,
    /// Failures of peers are told to the error handler.
    pub peer_errors: bool,
    am: [Cell<Handler>; UCT_AM_ID_MAX as usize],
    tracer: Cell<(uct_am_tracer_t, *mut c_void)>,
    trace: Cell<bool>,
    errors: (uct_error_handler_t, *mut c_void),
    /// Receivers may keep messages, which are then copied to descriptors of this shape.
    kept: Option<Shape>,
    /// `UCT_PROGRESS_*` that are enabled.
    progressed: Cell<c_uint>,
    pub eps: RefCell<Vec<*const Endpoint>>,
    /// Endpoints with requests that wait for room.
    pub pending: RefCell<VecDeque<*const Endpoint>>,
    pub waiting: Cell<bool>,
    /// The endpoint whose requests are being tried; NULL when it is destroyed by that.
    pub trying: Cell<*const Endpoint>,
    /// Failures found by a check, to be told by the next progress.
    pub failed: RefCell<Vec<(*const Endpoint, Error)>>,
    /// An operation's note that is free.
    pub spare: Cell<*mut Op>,
}

/// What a `uct_iface_h` is, besides its operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum Kind {
    Transport = 0x7563_7472_735f_746c,
    ConnectionManager = 0x7563_7472_735f_636d,
    Stub = 0x7563_7472_735f_7374,
}

/// Receiver of the messages of one id.
#[derive(Clone, Copy)]
struct Handler {
    cb: uct_am_callback_t,
    arg: *mut c_void,
}

/// What an interface is opened with.
pub struct Open<'a> {
    pub md: uct_md_h,
    pub worker: uct_worker_h,
    pub tl_name: &'a str,
    pub dev_name: &'a str,
    pub config: Config,
    pub errors: (uct_error_handler_t, *mut c_void),
    /// How received messages are handed over, if they are to be kept.
    pub kept: Option<Shape>,
}

const NO_HANDLER: Handler = Handler {
    cb: None,
    arg: core::ptr::null_mut(),
};

impl Interface {
    /// # Safety
    /// Domain and worker are open.
    pub unsafe fn open(open: Open<'_>) -> Result<uct_iface_h, Error> {
        // SAFETY: as the caller says.
        let (domain, worker): (&Domain, &Worker) =
            unsafe { (super::md::from(open.md)?, Worker::from(open.worker)?) };
        let devices = domain.md.devices()?;
        let named =
            |device: &TlDevice| device.tl_name == open.tl_name && device.dev_name == open.dev_name;
        let device = devices.into_iter().find(named).ok_or(Error::NoDevice)?;
        let params = IfaceParams {
            worker_uid: worker.uid,
            wakeup: true,
            seldom_sleeps: true,
            err_handling: true,
            remote_put: true,
            keyed_put: false,
        };
        let tl = domain.md.open_iface(&device, &open.config, &params)?;
        let direct = domain.md.attr().rkey_ptr;
        let peer_errors = reports_failures(&device, tl.attr().caps, &open.config);
        let calls = super::ops::calls(&tl, direct);
        let mut interface = Box::new(Interface {
            c: uct_iface { ops: calls.ops },
            kind: Kind::Transport,
            tl,
            at: core::ptr::null(),
            calls,
            worker: open.worker,
            md: open.md,
            config: open.config,
            device,
            direct,
            peer_errors,
            am: [const { Cell::new(NO_HANDLER) }; UCT_AM_ID_MAX as usize],
            tracer: Cell::new((None, core::ptr::null_mut())),
            trace: Cell::new(false),
            errors: open.errors,
            kept: open.kept,
            progressed: Cell::new(0),
            eps: RefCell::default(),
            pending: RefCell::default(),
            waiting: Cell::new(false),
            trying: Cell::new(core::ptr::null()),
            failed: RefCell::default(),
            spare: Cell::new(core::ptr::null_mut()),
        });
        interface.at = (calls.iface_at)(&interface.tl).ok_or(Error::Unsupported)?;
        Ok(Box::into_raw(interface).cast())
    }

    /// # Safety
    /// `handle` is NULL or an open interface of any kind.
    pub unsafe fn from<'a>(handle: uct_iface_h) -> Result<&'a Interface, Error> {
        // SAFETY: every kind has its tag in the same place.
        unsafe {
            let interface = handle.cast::<Interface>();
            if interface.is_null() {
                return Err(Error::InvalidParam);
            }
            match (&raw const (*interface).kind).read() {
                Kind::Transport => Ok(&*interface),
                Kind::ConnectionManager => Err(Error::Unsupported),
                Kind::Stub => Err(Stub::status(handle)),
            }
        }
    }

    /// Whether this is a connection manager, which has no more in common with a transport's
    /// interface than the header.
    ///
    /// # Safety
    /// As [`Interface::from`].
    pub unsafe fn is_manager(handle: uct_iface_h) -> bool {
        // SAFETY: every kind has its tag in the same place.
        !handle.is_null()
            && unsafe { (&raw const (*handle.cast::<Interface>()).kind).read() }
                == Kind::ConnectionManager
    }

    /// # Safety
    /// `handle` is from [`Interface::open`], without endpoints, and not used again.
    pub unsafe fn close(handle: uct_iface_h) {
        // SAFETY: as the caller says.
        let interface = unsafe { Box::from_raw(handle.cast::<Interface>()) };
        interface.disable(c_uint::MAX);
        let left = interface.eps.borrow().len();
        if left > 0 {
            crate::ucs_warn!("an interface is closed that has {left} endpoints");
        }
        interface.tl.shutdown();
        let spare = interface.spare.get();
        if !spare.is_null() {
            // SAFETY: a box that nobody else has.
            drop(unsafe { Box::from_raw(spare) });
        }
    }

    pub fn handle(&self) -> uct_iface_h {
        core::ptr::from_ref(self).cast_mut().cast()
    }

    fn worker(&self) -> Option<&Worker> {
        // SAFETY: a worker outlives its interfaces.
        unsafe { Worker::from(self.worker) }.ok()
    }

    pub fn enable(&self, flags: c_uint) {
        let before = self.progressed.get();
        self.progressed.set(before | flags & BOTH);
        if before == 0
            && self.progressed.get() != 0
            && let Some(worker) = self.worker()
        {
            worker.enable(self.member());
        }
    }

    pub fn disable(&self, flags: c_uint) {
        let before = self.progressed.get();
        self.progressed.set(before & !flags);
        if before != 0
            && self.progressed.get() == 0
            && let Some(worker) = self.worker()
        {
            worker.disable(self.member());
        }
    }

    /// The transport's interface.
    #[inline(always)]
    pub fn reached<R: Reach>(&self) -> &R::Iface {
        // SAFETY: the functions of a table are called for interfaces of its transport only.
        unsafe { R::iface(self.at) }
    }

    /// # Safety
    /// `interface` is open, and of a transport that is reached in this way.
    pub unsafe fn progress_at<R: Reach>(interface: *const c_void) -> c_uint {
        // SAFETY: as the caller says.
        unsafe { &*interface.cast::<Interface>() }.progress::<R>()
    }

    #[inline]
    pub fn progress<R: Reach>(&self) -> c_uint {
        let count = self.reached::<R>().progress(self);
        if self.waiting.get() && self.trying.get().is_null() {
            return self.work_off() + count as c_uint;
        }
        count as c_uint
    }

    /// What is waiting beside the transport: requests for room, failures to tell.
    #[cold]
    fn work_off(&self) -> c_uint {
        let mut count = 0;
        let failed = core::mem::take(&mut *self.failed.borrow_mut());
        for (ep, error) in failed {
            if self.eps.borrow().contains(&ep) {
                // SAFETY: in the list, so alive.
                unsafe { &*ep }.fail(error);
                count += 1;
            }
        }
        let turns = self.pending.borrow().len();
        for _ in 0..turns {
            let Some(ep) = self.pending.borrow_mut().pop_front() else {
                break;
            };
            let outer = self.trying.replace(ep);
            // SAFETY: an endpoint leaves the queue when it is destroyed.
            count += unsafe { &*ep }.try_pending();
            // Gone if a request has destroyed it.
            if self.trying.replace(outer) == ep {
                // SAFETY: still alive.
                unsafe { &*ep }.wait_again();
            }
        }
        let idle = self.pending.borrow().is_empty() && self.failed.borrow().is_empty();
        self.waiting.set(!idle);
        count
    }

    pub fn set_handler(&self, id: u8, cb: uct_am_callback_t, arg: *mut c_void) {
        if let Some(handler) = self.am.get(usize::from(id)) {
            handler.set(Handler { cb, arg });
        }
    }

    pub fn set_tracer(&self, tracer: uct_am_tracer_t, arg: *mut c_void) {
        self.tracer.set((tracer, arg));
        self.trace
            .set(tracer.is_some() && enabled(Level::TraceData));
    }

    #[cold]
    fn trace(&self, id: u8, data: &[u8]) {
        let (Some(tracer), arg) = self.tracer.get() else {
            return;
        };
        let mut buffer = [0u8; 256];
        let max = buffer.len() - 1;
        let (at, len) = (buffer.as_mut_ptr().cast(), data.len());
        // SAFETY: the user's function, with room for `max` bytes and an end.
        unsafe {
            tracer(
                arg,
                UCT_AM_TRACE_TYPE_RECV,
                id,
                data.as_ptr().cast(),
                len,
                at,
                max,
            );
        }
        let end = buffer.iter().position(|byte| *byte == 0).unwrap_or(max);
        let text = String::from_utf8_lossy(buffer.get(..end).unwrap_or_default());
        crate::ucs_trace_data!("RX: am {id} of {len} bytes {text}");
    }

    /// Tells the user that an endpoint has failed.
    pub fn tell_failure(&self, ep: &Endpoint, error: Error) {
        let ep: uct_ep_h = core::ptr::from_ref(ep).cast_mut().cast();
        let (Some(handler), arg) = self.errors else {
            crate::ucs_diag!("endpoint {ep:p} failed: {error}; there is no error handler");
            return;
        };
        // SAFETY: the user's function, with its argument and endpoint.
        let status = unsafe { handler(arg, ep, error.into()) };
        if status.is_err() {
            crate::ucs_error!("endpoint {ep:p} failed: {error}; the error handler refused it");
        }
    }
}

const BOTH: c_uint = (UCT_PROGRESS_SEND | UCT_PROGRESS_RECV) as c_uint;

/// A process doesn't lose itself; through shared memory peers are watched if that is asked for.
fn reports_failures(device: &TlDevice, caps: IfaceCaps, config: &Config) -> bool {
    let prefix = device.tl_name.to_uppercase();
    let variable = format!("{prefix}_ERROR_HANDLING");
    let wanted = match crate::ucs::config::resolve(&variable) {
        Some(_) => config.bool_(&variable),
        None => device.kind != DeviceKind::Loopback,
    };
    wanted && caps.contains(IfaceCaps::ERR_PEER)
}

impl Events for Interface {
    #[inline]
    fn am(&self, id: u8, data: &[u8]) {
        if self.trace.get() {
            self.trace(id, data);
        }
        let handler = self.am.get(usize::from(id)).map(Cell::get);
        match handler {
            Some(Handler { cb: Some(cb), arg }) => {
                if let Some(shape) = &self.kept {
                    // SAFETY: the user's function with its argument.
                    return unsafe { shape.deliver(data, cb, arg) };
                }
                // The data can't be kept, so the answer can only be that it was received.
                // SAFETY: the user's function, with its argument and data valid for the call.
                let _ = unsafe { cb(arg, data.as_ptr().cast_mut().cast(), data.len(), 0) };
            }
            _ => {
                let len = data.len();
                crate::ucs_warn!("got active message {id} of {len} bytes, which has no handler");
            }
        }
    }

    fn completed(&self, token: u64, result: Result<(), Error>) {
        // SAFETY: tokens are notes of operations, and each ends once.
        unsafe { Op::ended(self, token, result) };
    }

    fn ep_failed(&self, ep_token: u64, error: Error) {
        let ep: *const Endpoint = core::ptr::with_exposed_provenance(ep_token as usize);
        if self.eps.borrow().contains(&ep) {
            // SAFETY: in the list, so alive.
            unsafe { &*ep }.fail(error);
        }
    }
}
