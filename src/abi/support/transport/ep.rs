//! Endpoints: the C header, then what belongs to a transport's endpoint.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use bitflags::bitflags;

use crate::abi::prelude::*;
use crate::uct::{Ep, EpParams, Post, Which};

use super::iface::Interface;
use super::reach::Reach;

bitflags! {
    /// Why nothing can be posted.
    #[derive(Clone, Copy, PartialEq, Eq)]
    struct Gate: u8 {
        /// It has no peer yet.
        const UNCONNECTED = 1 << 0;
        const FAILED = 1 << 1;
        /// Requests that came before wait for room.
        const PENDING = 1 << 2;
    }
}

/// What a `uct_ep_h` of a transport points to.
#[repr(C)]
pub struct Endpoint {
    c: uct_ep,
    /// The transport's endpoint, for those who know its type; NULL while nothing can be posted.
    open: Cell<*const c_void>,
    /// What `open` is otherwise.
    at: Cell<*const c_void>,
    gate: Cell<Gate>,
    /// The last post found no room.
    pub blocked: Cell<bool>,
    tl: OnceCell<Rc<dyn Ep>>,
    /// Device and interface of the peer.
    peer: OnceCell<Peer>,
    failure: Cell<Option<Error>>,
    pending: RefCell<VecDeque<*mut uct_pending_req_t>>,
    trying: Cell<bool>,
    /// Operations that have not ended.
    ops: RefCell<Vec<*mut Op>>,
    /// A flush that nobody is told of has not ended.
    flushing: Cell<bool>,
}

/// Device and interface of a peer.
type Peer = (Box<[u8]>, Box<[u8]>);

/// A note about an operation that was posted; its address is the token.
pub struct Op {
    /// NULL if nobody is told.
    completion: *mut uct_completion_t,
    /// NULL when the endpoint is destroyed.
    ep: *const Endpoint,
    is_flush: bool,
}

impl Endpoint {
    /// An endpoint; without addresses, one that is still to be connected.
    ///
    /// # Safety
    /// `interface` stays as long as the endpoint.
    pub unsafe fn create(
        interface: &Interface,
        addresses: Option<(&[u8], &[u8])>,
    ) -> Result<uct_ep_h, Error> {
        let endpoint = Box::into_raw(Box::new(Endpoint {
            c: uct_ep {
                iface: interface.handle(),
            },
            open: Cell::new(core::ptr::null()),
            at: Cell::new(core::ptr::null()),
            gate: Cell::new(Gate::UNCONNECTED),
            blocked: Cell::new(false),
            tl: OnceCell::new(),
            peer: OnceCell::new(),
            failure: Cell::new(None),
            pending: RefCell::default(),
            trying: Cell::new(false),
            ops: RefCell::default(),
            flushing: Cell::new(false),
        }));
        interface.eps.borrow_mut().push(endpoint);
        let connected = addresses.map_or(Ok(()), |(device_addr, iface_addr)| {
            // SAFETY: just made.
            unsafe { &*endpoint }.connect(device_addr, iface_addr)
        });
        if let Err(error) = connected {
            interface
                .eps
                .borrow_mut()
                .retain(|other| *other != endpoint);
            // SAFETY: just made, and known to nobody.
            drop(unsafe { Box::from_raw(endpoint) });
            return Err(error);
        }
        Ok(endpoint.cast())
    }

    /// # Safety
    /// `handle` is a live endpoint of a transport.
    #[inline(always)]
    pub unsafe fn from<'a>(handle: uct_ep_h) -> &'a Endpoint {
        // SAFETY: as the caller says.
        unsafe { &*handle.cast::<Endpoint>() }
    }

    #[inline(always)]
    pub fn interface(&self) -> &Interface {
        // SAFETY: the interface outlives its endpoints.
        unsafe { &*self.c.iface.cast::<Interface>() }
    }

    pub fn connect(&self, device_addr: &[u8], iface_addr: &[u8]) -> Result<(), Error> {
        if self.tl.get().is_some() {
            return Err(Error::AlreadyExists);
        }
        let tl = self.interface().tl.create_ep(&EpParams {
            device_addr,
            iface_addr,
            token: core::ptr::from_ref(self).expose_provenance() as u64,
        })?;
        let tl = self.tl.get_or_init(|| tl);
        let at = (self.interface().calls.ep_at)(tl);
        self.at.set(at.ok_or(Error::Unsupported)?);
        let _ = self.peer.set((device_addr.into(), iface_addr.into()));
        self.close_gate(Gate::UNCONNECTED, false);
        Ok(())
    }

    /// Whether it is connected to the interface of these addresses, and has not failed.
    pub fn is_to(&self, device_addr: &[u8], iface_addr: &[u8]) -> bool {
        let peer = self.peer.get();
        let same = peer.is_some_and(|(d, i)| **d == *device_addr && **i == *iface_addr);
        same && self.failure.get().is_none()
    }

    /// # Safety
    /// `handle` is a live endpoint of a transport, and not used again.
    pub unsafe fn destroy(handle: uct_ep_h) {
        // SAFETY: as the caller says.
        let endpoint = unsafe { Box::from_raw(handle.cast::<Endpoint>()) };
        let at = core::ptr::from_ref(&*endpoint);
        let interface = endpoint.interface();
        interface.eps.borrow_mut().retain(|other| *other != at);
        interface.pending.borrow_mut().retain(|other| *other != at);
        if interface.trying.get() == at {
            interface.trying.set(core::ptr::null());
        }
        let left = endpoint.pending.borrow().len();
        if left > 0 {
            crate::ucs_warn!("an endpoint is destroyed on which {left} requests wait");
        }
        endpoint.cancel_all();
        for op in endpoint.ops.take() {
            // SAFETY: in the list, so not ended.
            unsafe { (*op).ep = core::ptr::null() };
        }
    }

    fn close_gate(&self, why: Gate, closed: bool) {
        let mut gate = self.gate.get();
        gate.set(why, closed);
        self.gate.set(gate);
        self.open.set(match gate.is_empty() {
            true => self.at.get(),
            false => core::ptr::null(),
        });
    }

    /// Whether anything can be posted.
    #[inline(always)]
    pub fn open(&self) -> Result<(), ucs_status_t> {
        match self.open.get().is_null() {
            true => Err(self.not_ready()),
            false => Ok(()),
        }
    }

    /// What to post on.
    #[inline(always)]
    pub fn ready<R: Reach>(&self) -> Result<&R::Ep, ucs_status_t> {
        let at = self.open.get();
        if at.is_null() {
            return Err(self.not_ready());
        }
        // SAFETY: of an endpoint that stays as long as this one; the functions of a table are
        // called for endpoints of its transport only.
        Ok(unsafe { R::ep(at) })
    }

    #[cold]
    fn not_ready(&self) -> ucs_status_t {
        if let Some(error) = self.failure.get() {
            return error.into();
        }
        let gate = self.gate.get();
        if gate.contains(Gate::UNCONNECTED) {
            return Error::NotConnected.into();
        }
        self.blocked.set(true);
        Error::NoResource.into()
    }

    /// The transport's endpoint, if there is a connection that has not failed.
    pub fn connected(&self) -> Result<&dyn Ep, Error> {
        if let Some(error) = self.failure.get() {
            return Err(error);
        }
        let tl = self.tl.get().ok_or(Error::NotConnected)?;
        Ok(&**tl)
    }

    /// The status for what a post without completion came to.
    #[inline(always)]
    pub fn posted(&self, post: Result<Post, Error>) -> ucs_status_t {
        match post {
            Ok(Post::Done) => Status::OK,
            Ok(Post::Pending) => Status::INPROGRESS,
            Ok(Post::NoResource) => {
                self.blocked.set(true);
                Error::NoResource.into()
            }
            Err(error) => error.into(),
        }
    }

    /// Posts what completes later; `post` gets the token.
    pub fn post(
        &self,
        completion: *mut uct_completion_t,
        post: impl FnOnce(u64) -> Result<Post, Error>,
    ) -> ucs_status_t {
        let op = Op::take(self.interface());
        // SAFETY: nobody else has it.
        unsafe {
            op.write(Op {
                completion,
                ep: self,
                is_flush: false,
            });
        }
        // In the list first, since the post may end it at once.
        self.ops.borrow_mut().push(op);
        let result = post(op.expose_provenance() as u64);
        if !matches!(result, Ok(Post::Pending)) {
            self.forget(op);
            Op::give_back(self.interface(), op);
        }
        self.posted(result)
    }

    /// Takes a note off the list: mostly the last one, or the first.
    #[inline]
    fn forget(&self, op: *mut Op) {
        let mut ops = self.ops.borrow_mut();
        if ops.last() == Some(&op) {
            ops.pop();
        } else if let Some(at) = ops.iter().position(|other| *other == op) {
            ops.remove(at);
        }
    }

    /// As `uct_ep_flush` without the wish to cancel.
    pub fn flush<R: Reach>(&self, completion: *mut uct_completion_t) -> ucs_status_t {
        let tl = match self.ready::<R>() {
            Ok(tl) => tl,
            // Nothing can be under way.
            Err(_) if self.tl.get().is_none() && self.failure.get().is_none() => return Status::OK,
            Err(status) => return status,
        };
        if completion.is_null() && self.flushing.get() {
            return Status::INPROGRESS;
        }
        let status = self.post(completion, |token| tl.flush(token));
        if status == Status::INPROGRESS && completion.is_null() {
            // The note was pushed last.
            if let Some(op) = self.ops.borrow().last() {
                // SAFETY: in the list, so not ended.
                unsafe { (**op).is_flush = true };
                self.flushing.set(true);
            }
        }
        status
    }

    /// Takes back what can be taken back.
    pub fn cancel_all(&self) {
        let Some(tl) = self.tl.get() else { return };
        let ops = self.ops.borrow().clone();
        for op in ops {
            // What was cancelled by a callback is not in the list any more.
            let token = op.expose_provenance() as u64;
            if self.ops.borrow().contains(&op) && tl.let_go(Which::One(token)) {
                // SAFETY: in the list, so not ended, and the transport will not end it.
                unsafe { Op::ended(self.interface(), token, Err(Error::Canceled)) };
            }
        }
    }

    /// The peer is gone.
    pub fn fail(&self, error: Error) {
        if self.failure.get().is_some() {
            return;
        }
        self.failure.set(Some(error));
        self.close_gate(Gate::FAILED, true);
        self.interface().tell_failure(self, error);
    }

    /// Lets the next progress tell a failure that a check has found.
    pub fn fail_soon(&self, error: Error) {
        let interface = self.interface();
        interface.failed.borrow_mut().push((self, error));
        interface.waiting.set(true);
    }

    /// # Safety
    /// `request` stays until it is called or purged.
    pub unsafe fn add_pending(&self, request: *mut uct_pending_req_t) -> Result<(), Error> {
        if let Some(error) = self.failure.get() {
            return Err(error);
        }
        let others = !self.pending.borrow().is_empty();
        if !others && !self.blocked.get() && !self.gate.get().contains(Gate::UNCONNECTED) {
            // There may be room: it is to be tried again.
            return Err(Error::Busy);
        }
        self.pending.borrow_mut().push_back(request);
        if !others && !self.trying.get() {
            self.wait_again();
        }
        Ok(())
    }

    /// Takes a turn at the end of the interface's queue, if requests wait.
    pub fn wait_again(&self) {
        let waits = !self.pending.borrow().is_empty();
        self.close_gate(Gate::PENDING, waits);
        if waits {
            let interface = self.interface();
            interface.pending.borrow_mut().push_back(self);
            interface.waiting.set(true);
        }
    }

    /// Calls waiting requests until one finds no room, and returns how many were done.
    pub fn try_pending(&self) -> c_uint {
        let interface = self.interface();
        let (at, mut count) = (core::ptr::from_ref(self), 0);
        self.blocked.set(false);
        self.close_gate(Gate::PENDING, false);
        self.trying.set(true);
        while let Some(request) = self.next_pending() {
            // SAFETY: the user keeps a request until it is called with success or purged.
            let status = unsafe {
                match (&raw const (*request).func).read() {
                    Some(func) => func(request),
                    None => Status::OK,
                }
            };
            if interface.trying.get() != at {
                // It has destroyed us.
                return count;
            }
            if status == Status::OK {
                count += 1;
                continue;
            }
            self.pending.borrow_mut().push_front(request);
            break;
        }
        self.trying.set(false);
        count
    }

    fn next_pending(&self) -> Option<*mut uct_pending_req_t> {
        self.pending.borrow_mut().pop_front()
    }

    /// Takes all waiting requests off, and hands each to `cb`.
    pub fn purge(&self, mut cb: impl FnMut(*mut uct_pending_req_t)) {
        let interface = self.interface();
        let at = core::ptr::from_ref(self);
        interface.pending.borrow_mut().retain(|other| *other != at);
        let requests = self.pending.take();
        self.close_gate(Gate::PENDING, false);
        for request in requests {
            cb(request);
        }
    }
}

impl Op {
    fn take(interface: &Interface) -> *mut Op {
        let spare = interface.spare.replace(core::ptr::null_mut());
        if !spare.is_null() {
            return spare;
        }
        Box::into_raw(Box::new(Op {
            completion: core::ptr::null_mut(),
            ep: core::ptr::null(),
            is_flush: false,
        }))
    }

    fn give_back(interface: &Interface, op: *mut Op) {
        let before = interface.spare.replace(op);
        if !before.is_null() {
            // SAFETY: a box that nobody else has.
            drop(unsafe { Box::from_raw(before) });
        }
    }

    /// An operation has ended.
    ///
    /// # Safety
    /// `token` is the address of a note that has not ended.
    pub unsafe fn ended(interface: &Interface, token: u64, result: Result<(), Error>) {
        let op: *mut Op = core::ptr::with_exposed_provenance_mut(token as usize);
        // SAFETY: as the caller says.
        let ended = unsafe { op.read() };
        let (completion, ep, is_flush) = (ended.completion, ended.ep, ended.is_flush);
        // SAFETY: NULL, or alive.
        if let Some(ep) = unsafe { ep.as_ref() } {
            ep.forget(op);
            if is_flush {
                ep.flushing.set(false);
            }
        }
        Op::give_back(interface, op);
        // SAFETY: NULL, or the user's until it has completed.
        unsafe { complete(completion, result.into()) };
    }
}

/// One of the operations that a completion stands for has ended.
///
/// # Safety
/// `completion` is NULL or the user's, with a count above 0.
pub unsafe fn complete(completion: *mut uct_completion_t, status: ucs_status_t) {
    if completion.is_null() {
        return;
    }
    // SAFETY: as the caller says; it is the user's again once the function is called.
    unsafe {
        if status.is_err() && (*completion).status == Status::OK {
            (*completion).status = status;
        }
        (*completion).count -= 1;
        if (*completion).count == 0
            && let Some(func) = (*completion).func
        {
            func(completion);
        }
    }
}
