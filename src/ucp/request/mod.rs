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
use crate::ucp::dt::{RecvBuf, SendBuf};
use crate::ucp::ep::Endpoint;
use crate::ucp::ep::flush::OF_PEER;
use crate::ucp::proto::Op;
use crate::ucp::proto::rndv::Announced;
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
    /// It is in the queue of posted receives.
    pub const QUEUED: u32 = 1 << 12;
    /// A receive of contiguous memory, described in the request itself.
    pub const CONTIG: u32 = 1 << 13;
    /// A message of contiguous memory, described in the same way, that has been announced, for the first
    /// time: the same as [`super::Op::Offered`].
    pub const OFFERED: u32 = 1 << 14;
}

/// Our part of a request. 16-byte aligned, so that the user's area behind it is too.
///
/// Its first 64 bytes, a cache line where the pool made it, are all that matching, completing and
/// freeing a posted receive of contiguous memory look at.
#[repr(C, align(16))]
pub struct Request {
    state: AtomicU32,
    callback_kind: Cell<callback::Kind>,
    callback_fn: Cell<Option<callback::Function>>,
    user_data: Cell<*mut c_void>,
    /// The neighbour behind it among the posted receives, or among the free requests.
    next: Cell<Option<ReqRef>>,
    /// The tag that a posted receive waits for; that of the message, once there is one.
    tag: Cell<u64>,
    /// The memory of a [`flag::CONTIG`] receive...
    base: Cell<*mut u8>,
    /// ...and its length; that of the message, once there is one.
    length: Cell<usize>,
    worker: Cell<*const Worker>,
    /// What else its place among the posted receives takes.
    link: MatchLink,
    /// Id in the worker's table, 0 if none.
    id: Cell<u64>,
    ep: Cell<Option<Rc<Endpoint>>>,
    /// Number of the operation on its endpoint, 0 for what flushes don't wait for.
    number: Cell<u64>,
    /// Whatever else the request is doing.
    op: Cell<Option<Box<Op>>>,
}

/// Bytes of our part: `UCP_ATTR_FIELD_REQUEST_SIZE`.
pub const REQUEST_SIZE: usize = size_of::<Request>();

/// Where the lines of a request should begin.
pub const CACHE_LINE: usize = 64;
const _: () = assert!(core::mem::offset_of!(Request, link) == CACHE_LINE);

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

    /// Where another request may begin, so many bytes further: to be fetched, not to be used.
    #[inline(always)]
    pub fn line_at(self, offset: usize) -> *mut u8 {
        self.0.as_ptr().cast::<u8>().wrapping_add(offset)
    }

    /// What the user sees.
    #[inline(always)]
    pub fn area(self) -> *mut c_void {
        self.0.as_ptr().wrapping_add(1).cast()
    }

    fn init(self, worker: &Worker, flags: u32) {
        let fresh = Request {
            state: AtomicU32::new(Status::INPROGRESS.0 as u8 as u32 | flags),
            callback_kind: Cell::new(callback::Kind::None),
            callback_fn: Cell::new(None),
            user_data: Cell::new(core::ptr::null_mut()),
            next: Cell::new(None),
            tag: Cell::new(0),
            base: Cell::new(core::ptr::null_mut()),
            length: Cell::new(0),
            worker: Cell::new(worker),
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
        req.callback_kind.set(callback::Kind::None);
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
        let (kind, function) = callback.split();
        self.get().callback_kind.set(kind);
        self.get().callback_fn.set(function);
        self.get().user_data.set(user_data);
    }

    #[inline(always)]
    fn callback(self) -> Callback {
        let req = self.get();
        // SAFETY: both are from one `split`, in `set_callback`, or the kind is `None`.
        unsafe { Callback::join(req.callback_kind.get(), req.callback_fn.get()) }
    }

    #[inline(always)]
    pub fn add_flags(self, flags: u32) {
        let state = &self.get().state;
        // Only the worker's thread of control writes; others read.
        state.store(state.load(Ordering::Relaxed) | flags, Ordering::Relaxed);
    }

    #[inline(always)]
    fn clear_flags(self, flags: u32) {
        let state = &self.get().state;
        state.store(state.load(Ordering::Relaxed) & !flags, Ordering::Relaxed);
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
        let state = match self.status() {
            Status::INPROGRESS => "in progress",
            status => Error::from_code(status.0).map_or("ok", Error::text),
        };
        format!("{kind}, {state}")
    }

    /// What came; of no meaning before.
    #[inline(always)]
    pub fn info(self) -> TagInfo {
        TagInfo {
            sender_tag: self.get().tag.get(),
            length: self.get().length.get(),
        }
    }

    /// Notes what came. The tag and the length that were waited for are forgotten.
    #[inline(always)]
    pub fn set_info(self, info: TagInfo) {
        self.get().tag.set(info.sender_tag);
        self.get().length.set(info.length);
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
        if let Some(op) = self.get().op.take() {
            return *op;
        }
        if let Some(mem) = self.take_contig() {
            return Op::Recv(TagRecv::new(RecvBuf::Contig(mem)));
        }
        match (self.take_offered(), self.ep()) {
            (Some(mem), Some(ep)) => {
                let announced = Announced::new(SendBuf::Contig(mem), self.id());
                Op::Offered(announced.offer_counted(ep.worker()))
            }
            _ => Op::None,
        }
    }

    fn take_contig(self) -> Option<UserMem> {
        let mem = self.contig();
        self.clear_flags(flag::CONTIG);
        mem
    }

    /// Takes the buffer out of a posted receive.
    #[inline]
    pub fn take_recv(self) -> Option<RecvBuf> {
        if let Some(mem) = self.take_contig() {
            return Some(RecvBuf::Contig(mem));
        }
        match self.take_op() {
            Op::Recv(recv) => Some(recv.buf),
            _ => None,
        }
    }

    /// Runs `f`, which must not come back here, on the operation where it is.
    #[inline]
    pub fn with_op<T>(self, f: impl FnOnce(&mut Op) -> T) -> Option<T> {
        let mut op = self.get().op.take()?;
        let value = f(&mut op);
        self.get().op.set(Some(op));
        Some(value)
    }

    /// The rest of its place among the posted receives.
    #[inline(always)]
    pub fn link(&self) -> &MatchLink {
        &self.get().link
    }

    #[inline(always)]
    pub fn next(self) -> Option<ReqRef> {
        self.get().next.get()
    }

    #[inline(always)]
    pub fn set_next(self, next: Option<ReqRef>) {
        self.get().next.set(next);
    }

    /// The tag that a posted receive waits for.
    #[inline(always)]
    pub fn tag(self) -> u64 {
        self.get().tag.get()
    }

    /// It is queued, to wait for this tag.
    #[inline(always)]
    pub fn enqueued(self, tag: u64) {
        self.get().tag.set(tag);
        self.add_flags(flag::QUEUED);
    }

    /// Whether it is a receive that no message has matched.
    #[inline(always)]
    pub fn is_queued(self) -> bool {
        self.get().state.load(Ordering::Relaxed) & flag::QUEUED != 0
    }

    /// Notes that it has left the queue.
    #[inline(always)]
    pub fn dequeued(self) {
        self.clear_flags(flag::QUEUED);
    }

    /// Makes it a receive of contiguous memory: the common case needs no allocation.
    #[inline(always)]
    pub fn set_contig(self, mem: UserMem) {
        self.add_flags(flag::RECV);
        self.describe_memory(mem, flag::CONTIG);
    }

    /// The memory, if it is a receive of contiguous memory that no message has come for.
    #[inline(always)]
    pub fn contig(self) -> Option<UserMem> {
        self.memory(flag::CONTIG)
    }

    /// Makes it an announced message of contiguous memory.
    #[inline]
    pub fn set_offered(self, mem: UserMem) {
        self.describe_memory(mem, flag::OFFERED);
    }

    /// The memory, if it is that.
    #[inline]
    pub fn offered(self) -> Option<UserMem> {
        self.memory(flag::OFFERED)
    }

    /// The same, and it isn't that any more.
    pub fn take_offered(self) -> Option<UserMem> {
        let mem = self.offered()?;
        self.clear_flags(flag::OFFERED);
        Some(mem)
    }

    #[inline(always)]
    fn describe_memory(self, mem: UserMem, what: u32) {
        self.add_flags(what);
        self.get().base.set(mem.ptr());
        self.get().length.set(mem.len());
    }

    #[inline(always)]
    fn memory(self, what: u32) -> Option<UserMem> {
        let req = self.get();
        if req.state.load(Ordering::Relaxed) & what == 0 {
            return None;
        }
        // SAFETY: both are from the value given to `describe_memory` with this flag: the length is
        // replaced by that of the message only when the flag goes.
        Some(unsafe { UserMem::new(req.base.get(), req.length.get()) })
    }

    /// Lets go of whatever the operation owns.
    #[inline]
    pub fn drop_op(self) {
        self.clear_flags(flag::CONTIG);
        if self.take_offered().is_some()
            && let Some(ep) = self.ep()
        {
            ep.worker().keys().let_go();
        }
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
        let (callback, user_data, info) = (self.callback(), req.user_data.get(), self.info());
        let flags = req.state.load(Ordering::Relaxed) & !(0xff | flag::CONTIG | flag::OFFERED);
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
        self.get().callback_kind.set(callback::Kind::None);
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
