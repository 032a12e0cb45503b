//! Requests: one per operation that did not finish at once.
//!
//! In memory a request is our part, [`Request`], followed by the user's area of the size given to
//! `ucp_init`; the pointer that the user sees is that of the area. The memory is either the
//! worker's ([`pool`]) or the user's own (`UCP_OP_ATTR_FIELD_REQUEST`).
//!
//! Life of a request:
//!
//! ```text
//! alloc ── op in flight ── complete: op gone, COMPLETED stored, callback ── free: back to pool
//!                                 (free or release in flight: RELEASED is noted, and complete
//!                                  returns it to the pool)
//! ```
//!
//! A user's request may be gone the moment COMPLETED is visible or its callback runs, and a
//! pooled one may be freed inside its callback. So completion unlinks first, stores the status,
//! calls back, and touches nothing afterwards.

pub mod callback;
pub mod pool;

use core::cell::Cell;
use core::ffi::c_void;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};
use std::rc::Rc;

pub use callback::{Callback, TagInfo};
pub use pool::RequestPool;

use crate::sys::usermem::UserMem;
use crate::ucp::dt::RecvBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::ep::flush::OF_PEER;
use crate::ucp::proto::Op;
use crate::ucp::tag::{MatchLink, TagRecv};
use crate::ucp::worker::Worker;
use crate::ucs::status::{Error, Status};

/// Flag bits of [`Request::state`]; the low byte is the status.
pub mod flag {
    /// The operation has ended; the status byte is final.
    pub const COMPLETED: u32 = 1 << 8;
    /// The user let go before completion.
    pub const RELEASED: u32 = 1 << 9;
    /// The memory is the user's.
    pub const USER_MEMORY: u32 = 1 << 10;
    /// A receive, which `ucp_tag_recv_request_test` may ask.
    pub const RECV: u32 = 1 << 11;
}

/// Our part of a request. 16-byte aligned, so that the user's area behind it is too.
#[repr(C, align(16))]
pub struct Request {
    state: AtomicU32,
    worker: Cell<*const Worker>,
    callback: Cell<Callback>,
    user_data: Cell<*mut c_void>,
    info: Cell<TagInfo>,
    /// A receive of contiguous memory, in place: the common case needs no allocation.
    contig: Cell<Option<ContigRecv>>,
    /// Its place among the posted receives, or among the free requests.
    link: MatchLink,
    /// Id in the worker's table, 0 if none.
    id: Cell<u64>,
    ep: Cell<Option<Rc<Endpoint>>>,
    /// Number of the operation on its endpoint, 0 for what flushes don't wait for.
    number: Cell<u64>,
    /// Whatever else the request is doing.
    op: Cell<Option<Box<Op>>>,
}

/// A receive of contiguous memory that is posted.
#[derive(Clone, Copy)]
pub struct ContigRecv {
    pub mem: UserMem,
}

/// Bytes of our part: `UCP_ATTR_FIELD_REQUEST_SIZE`.
pub const REQUEST_SIZE: usize = size_of::<Request>();

/// A live request: allocated and not yet put back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReqRef(NonNull<Request>);

impl ReqRef {
    /// The request whose user area is at `area`.
    ///
    /// # Safety
    /// `area` must have come from [`ReqRef::area`] of a request that is still live.
    #[inline(always)]
    pub unsafe fn from_area(area: *mut c_void) -> Option<ReqRef> {
        let ptr = area
            .cast::<u8>()
            .wrapping_sub(REQUEST_SIZE)
            .cast::<Request>();
        if area.is_null() {
            None
        } else {
            NonNull::new(ptr).map(ReqRef)
        }
    }

    /// Makes a request in the memory before the user's `area`.
    ///
    /// # Safety
    /// The [`REQUEST_SIZE`] bytes before `area` must be the caller's to give, 8-byte aligned,
    /// until the request completes.
    pub unsafe fn in_user_memory(area: *mut c_void, worker: &Worker) -> Option<ReqRef> {
        // SAFETY: forwarded to the caller; the memory is initialised below before any use.
        let req = unsafe { ReqRef::from_area(area) }?;
        req.init(worker, flag::USER_MEMORY);
        Some(req)
    }

    /// What the user sees.
    #[inline(always)]
    pub fn area(self) -> *mut c_void {
        self.0.as_ptr().wrapping_add(1).cast()
    }

    fn init(self, worker: &Worker, flags: u32) {
        let fresh = Request {
            state: AtomicU32::new(Status::INPROGRESS.0 as u8 as u32 | flags),
            worker: Cell::new(worker),
            callback: Cell::new(Callback::None),
            user_data: Cell::new(core::ptr::null_mut()),
            info: Cell::new(TagInfo::default()),
            contig: Cell::new(None),
            link: MatchLink::default(),
            id: Cell::new(0),
            ep: Cell::new(None),
            number: Cell::new(0),
            op: Cell::new(None),
        };
        // SAFETY: the memory is reserved for a `Request` and holds none that would need a drop.
        unsafe { self.0.as_ptr().write(fresh) };
    }

    /// A pooled request begins a new life. Its end has left nothing but status and callback.
    #[inline]
    fn renew(self) {
        let req = self.get();
        req.state
            .store(Status::INPROGRESS.0 as u8 as u32, Ordering::Relaxed);
        req.callback.set(Callback::None);
    }

    #[inline(always)]
    fn get(&self) -> &Request {
        // SAFETY: a `ReqRef` exists only while the request is live, and `Request` is only ever
        // accessed by shared reference.
        unsafe { self.0.as_ref() }
    }

    pub fn worker_ptr(self) -> *const Worker {
        self.get().worker.get()
    }

    #[inline(always)]
    pub fn set_callback(self, callback: Callback, user_data: *mut c_void) {
        self.get().callback.set(callback);
        self.get().user_data.set(user_data);
    }

    #[inline(always)]
    pub fn add_flags(self, flags: u32) {
        let state = &self.get().state;
        // Only the worker's thread of control writes; others read.
        state.store(state.load(Ordering::Relaxed) | flags, Ordering::Relaxed);
    }

    pub fn has_flags(self, flags: u32) -> bool {
        self.get().state.load(Ordering::Acquire) & flags == flags
    }

    /// `UCS_INPROGRESS` until completed. May be called from any thread.
    #[inline]
    pub fn status(self) -> Status {
        let state = self.get().state.load(Ordering::Acquire);
        if state & flag::COMPLETED == 0 {
            Status::INPROGRESS
        } else {
            Status(state as u8 as i8)
        }
    }

    /// What it is, for `ucp_request_query`.
    pub fn describe(self) -> String {
        let kind = if self.has_flags(flag::RECV) {
            "receive"
        } else {
            "send"
        };
        format!(
            "{kind}, {}",
            Error::from_code(self.status().0).map_or("ok", Error::text)
        )
    }

    pub fn info(self) -> TagInfo {
        self.get().info.get()
    }

    #[inline(always)]
    pub fn set_info(self, info: TagInfo) {
        self.get().info.set(info);
    }

    pub fn id(self) -> u64 {
        self.get().id.get()
    }

    pub fn set_id(self, id: u64) {
        self.get().id.set(id);
    }

    /// The endpoint that the operation runs on.
    pub fn ep(self) -> Option<Rc<Endpoint>> {
        let ep = self.get().ep.take();
        self.get().ep.set(ep.clone());
        ep
    }

    /// `number`: see [`Endpoint::op_started`].
    pub fn set_ep(self, ep: Option<Rc<Endpoint>>, number: u64) {
        self.get().ep.set(ep);
        self.get().number.set(number);
    }

    /// The operation is what one of the peer's asks for.
    pub fn is_of_peer(self) -> bool {
        self.get().number.get() & OF_PEER != 0
    }

    /// The endpoint and the operation's number there, to account for its end.
    pub fn take_ep(self) -> Option<(Rc<Endpoint>, u64)> {
        let ep = self.get().ep.take()?;
        Some((ep, self.get().number.get()))
    }

    /// Takes the operation out, to work on it by value.
    pub fn take_op(self) -> Op {
        match self.get().op.take() {
            Some(op) => *op,
            None => match self.get().contig.take() {
                Some(ContigRecv { mem }) => Op::Recv(TagRecv::new(RecvBuf::Contig(mem))),
                None => Op::None,
            },
        }
    }

    /// Its place among the posted receives.
    #[inline(always)]
    pub fn link(&self) -> &MatchLink {
        &self.get().link
    }

    /// Makes it a receive of contiguous memory, or notes how far that has come.
    #[inline(always)]
    pub fn set_contig(self, recv: ContigRecv) {
        self.get().contig.set(Some(recv));
    }

    /// The receive, if it is one of contiguous memory.
    #[inline(always)]
    pub fn contig(self) -> Option<ContigRecv> {
        self.get().contig.get()
    }

    /// Lets go of whatever the operation owns.
    #[inline]
    pub fn drop_op(self) {
        self.get().contig.set(None);
        drop(self.get().op.take());
    }

    pub fn set_op(self, op: Op) {
        let op = match op {
            Op::None => None,
            op => Some(Box::new(op)),
        };
        self.get().op.set(op);
    }

    /// Ends the request: see the module's text. The operation and the id must be gone already.
    pub fn complete(self, pool: &RequestPool, status: Status) {
        let req = self.get();
        req.ep.set(None);
        drop(req.op.take());
        self.complete_contig(pool, status);
    }

    /// Ends a receive of contiguous memory, which has no endpoint, no id and no other operation.
    #[inline(always)]
    pub fn complete_contig(self, pool: &RequestPool, status: Status) {
        let req = self.get();
        req.contig.set(None);
        let (callback, user_data, info) = (req.callback.get(), req.user_data.get(), req.info.get());
        let flags = req.state.load(Ordering::Relaxed) & !0xff;
        let area = self.area();
        req.state.store(
            flags | flag::COMPLETED | u32::from(status.0 as u8),
            Ordering::Release,
        );
        callback.call(area, status, info, user_data);
        if flags & (flag::RELEASED | flag::USER_MEMORY) == flag::RELEASED {
            pool.put(self);
        }
    }

    /// `ucp_request_free`: no callback after this; the memory returns to the pool now or when
    /// the operation ends.
    #[inline]
    pub fn free(self, pool: &RequestPool) {
        self.get().callback.set(Callback::None);
        self.release(pool);
    }

    /// `ucp_request_release`: as [`ReqRef::free`], but the callback still comes.
    #[inline]
    pub fn release(self, pool: &RequestPool) {
        let state = self.get().state.load(Ordering::Acquire);
        if state & flag::USER_MEMORY != 0 {
            return;
        }
        if state & flag::COMPLETED != 0 {
            pool.put(self);
        } else {
            self.add_flags(flag::RELEASED);
        }
    }
}
