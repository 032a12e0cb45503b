//! Workers: progress, endpoints, matching and requests, with one thread of control.

mod address;
mod ahead;
mod alarm;
mod create;
mod deaths;
mod early;
mod events;
mod flush;
pub mod ids;
mod keepalive;
mod lock;
mod ops;
mod origins;
mod peers;
mod progress;
pub(in crate::ucp) mod tally;
mod tokens;
mod wakeup;

use core::cell::{Cell, RefCell};
use core::ffi::{c_char, c_void};
use std::collections::VecDeque;
use std::ffi::CString;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Instant;

use hashbrown::{HashMap, HashSet};

pub use create::{ThreadMode, WorkerParams};
pub use flush::WorkerFlush;
pub use lock::WorkerGuard;

use self::ahead::Ahead;
use self::alarm::Alarm;
use self::deaths::Deaths;
use self::early::Early;
use self::ids::IdTable;
use self::keepalive::Keepalive;
use self::lock::WorkerLock;
use self::origins::Origins;
use self::tokens::Tokens;
use crate::sys::event::EventSet;
use crate::ucp::am::ActiveMessages;
use crate::ucp::context::{Context, OpenIface};
use crate::ucp::ep::{Endpoint, EpConfig, EpOptions, LastWords, Waiting, Wired};
use crate::ucp::failover::Links;
use crate::ucp::mem::Memory;
use crate::ucp::print::used::Used;
use crate::ucp::proto::key::Counts;
use crate::ucp::request::{Callback, ReqRef, RequestPool, TagInfo};
use crate::ucp::select::SendClass;
use crate::ucp::tag::TagMatching;
use crate::ucp::wireup::attempts::KnownWays;
use crate::ucp::wireup::sockaddr::SockaddrWireup;
use crate::ucs::memory::MemoryType;
use crate::ucs::status::Result;
use crate::uct::Md;
use crate::uct::gate::Gate;

/// What the user says about an operation: `ucp_request_param_t`, decoded.
#[derive(Clone, Copy)]
pub struct ReqOptions {
    pub callback: Callback,
    pub user_data: *mut c_void,
    /// The user's own request (its area), or null.
    pub request: *mut c_void,
    /// `UCP_OP_ATTR_FLAG_NO_IMM_CMPL`, and the calls that always return a request.
    pub must_have_request: bool,
    /// `UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL`: now or not at all.
    pub force_immediate: bool,
    /// `UCP_OP_ATTR_FLAG_FAST_CMPL`
    pub fast_completion: bool,
    /// `UCP_OP_ATTR_FLAG_MULTI_SEND`
    pub multi: bool,
    /// Type of the buffer's memory, if the user says it.
    pub memory: MemoryType,
}

impl Default for ReqOptions {
    fn default() -> Self {
        ReqOptions {
            callback: Callback::None,
            user_data: core::ptr::null_mut(),
            request: core::ptr::null_mut(),
            must_have_request: false,
            force_immediate: false,
            fast_completion: false,
            multi: false,
            memory: MemoryType::UNKNOWN,
        }
    }
}

impl ReqOptions {
    /// What the sender said about the send.
    pub fn class(&self) -> SendClass {
        match (self.fast_completion, self.multi) {
            (true, _) => SendClass::FastCompletion,
            (false, true) => SendClass::Multi,
            (false, false) => SendClass::Normal,
        }
    }
}

/// What a post returns.
#[derive(Clone, Copy, Debug)]
pub enum Posted {
    /// Done already; no callback comes. The info is that of a receive.
    Now(Result<()>, TagInfo),
    Later(ReqRef),
}

/// A worker.
pub struct Worker {
    pub(in crate::ucp) this: Weak<Worker>,
    context: Arc<Context>,
    uid: u64,
    thread_mode: ThreadMode,
    lock: WorkerLock,
    name: String,
    user_data: Cell<*mut c_void>,
    ifaces: Vec<OpenIface>,
    /// A bit for each of `ifaces` that endpoints use: it is polled each time.
    active: Cell<u64>,
    /// An interface beyond the bits of `active` is in use: all beyond are polled.
    far_active: Cell<bool>,
    /// Interfaces that are polled while their gate is open, and only then.
    gated: Box<[(usize, Gate)]>,
    _mds: Vec<Option<Rc<dyn Md>>>,
    /// Rounds since the clock was looked at, weighed, and when the other interfaces were
    /// last polled.
    rounds: Cell<u32>,
    last_look: Cell<Option<Instant>>,
    in_progress: Cell<bool>,
    events: Option<EventSet>,
    /// Armed, and nothing has been signalled since.
    armed: Cell<bool>,
    /// Events are reported to a set of the user's.
    reports: Cell<bool>,
    pub tag: TagMatching,
    /// Kinds of endpoints and keys whose tables of protocols were printed.
    pub shown_keys: RefCell<HashSet<(usize, usize)>>,
    /// Which protocols are used, where the user wants to know.
    pub used: Option<Box<Used>>,
    /// Of messages whose first fragment is to come.
    pub early: Early,
    pub am: ActiveMessages,
    pub requests: RequestPool,
    /// Operations that are known by an id.
    ops: RefCell<IdTable<ReqRef>>,
    /// By token.
    endpoints: RefCell<Tokens>,
    next_token: Cell<u64>,
    ahead: Ahead,
    by_origin: Origins,
    pub(in crate::ucp) last_words: LastWords,
    /// Of endpoints for which nothing was said.
    no_options: Rc<EpOptions>,
    /// Ways to peers by networks.
    pub(in crate::ucp) ways: KnownWays,
    /// Endpoints made to each worker, to number the next.
    connections: RefCell<HashMap<u64, u32>>,
    /// Of [`Worker::create_apart`].
    apart: Cell<u32>,
    configs: RefCell<Vec<Rc<EpConfig>>>,
    blocked: RefCell<VecDeque<Rc<Endpoint>>>,
    /// Memory for the queue of the next one.
    pub(in crate::ucp) idle_queue: Cell<Option<Box<Waiting>>>,
    failed: RefCell<Vec<Rc<Endpoint>>>,
    /// Endpoints with one-sided operations that a fence may have to order.
    one_sided: RefCell<Vec<Rc<Endpoint>>>,
    /// The region that a transport is writing a put to.
    placed: RefCell<Option<Arc<Memory>>>,
    /// Ids of receives that end when their peer has stopped writing to their memory.
    pub(in crate::ucp) at_mercy: RefCell<Vec<u64>>,
    /// Staging buffers of rendezvous that are not in use.
    staging: RefCell<Vec<Memory>>,
    /// Keys of rendezvous that are held.
    keys: Rc<Counts>,
    /// Something is in `blocked` or `failed`.
    has_work: Cell<bool>,
    address: RefCell<Option<Rc<[u8]>>>,
    /// Transport and device of each resource, for C.
    names: Vec<(CString, CString)>,
    /// Connections by socket address that are being made.
    pub(in crate::ucp) cm: SockaddrWireup,
    /// Rounds since they were looked at.
    sockaddr_rounds: Cell<u32>,
    /// The message just delivered has left a user without a receive for the next.
    pub(in crate::ucp) pause: Cell<bool>,
    client_id: u64,
    keepalive: Keepalive,
    alarm: Alarm,
    deaths: Deaths,
    /// An endpoint with error handling by memory of this host has been made.
    near_with_errors: Cell<bool>,
    /// How many endpoints are closed, and may still be needed.
    lingering: Cell<usize>,
    /// A stream receive has had to wait.
    pub(in crate::ucp) awaits_bytes: Cell<bool>,
    /// What endpoints without a known peer have for lanes.
    not_yet_wired: Wired,
    /// Connections whose messages are numbered.
    pub(in crate::ucp) links: Links,
    /// What failover has had to do.
    pub(in crate::ucp) tally: tally::Tally,
    /// Registrations that are refused on purpose.
    pub(in crate::ucp) refused: crate::uct::fault::Registrations,
    /// Tokens of endpoints that have stream data.
    pub(in crate::ucp) stream_ready: RefCell<VecDeque<u64>>,
}

impl Worker {
    /// Takes the worker's lock, if its thread mode has one.
    #[inline(always)]
    pub fn enter(&self) -> WorkerGuard<'_> {
        self.lock.enter()
    }

    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// What clients are told apart by at their server, `UCP_WORKER_PARAM_FIELD_CLIENT_ID`.
    pub fn client_id(&self) -> u64 {
        self.client_id
    }

    /// Options for an endpoint to hold.
    pub(in crate::ucp) fn ep_options(&self, options: EpOptions) -> Rc<EpOptions> {
        match options.is_default() {
            true => self.no_options.clone(),
            false => Rc::new(options),
        }
    }

    /// Progress has more to do than to poll.
    pub(in crate::ucp) fn note_work(&self) {
        self.has_work.set(true);
    }

    pub(in crate::ucp) fn not_yet_wired(&self) -> &Wired {
        &self.not_yet_wired
    }

    pub fn uid(&self) -> u64 {
        self.uid
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn thread_mode(&self) -> ThreadMode {
        self.thread_mode
    }

    pub fn ifaces(&self) -> &[OpenIface] {
        &self.ifaces
    }

    pub fn user_data(&self) -> *mut c_void {
        self.user_data.get()
    }

    /// Transport and device of a resource, as C strings.
    pub fn rsc_names(&self, rsc_index: u8) -> Option<(*const c_char, *const c_char)> {
        let (transport, device) = self.names.get(usize::from(rsc_index))?;
        Some((transport.as_ptr(), device.as_ptr()))
    }

    /// A staging buffer of at least `len` bytes.
    pub(in crate::ucp) fn staging(&self, len: usize) -> Option<Memory> {
        let mut spare = self.staging.borrow_mut();
        if let Some(index) = spare.iter().position(|memory| memory.len() >= len) {
            return Some(spare.swap_remove(index));
        }
        Memory::private(len).ok()
    }

    /// Takes one back.
    pub(in crate::ucp) fn staging_back(&self, memory: Memory) {
        /// Buffers that are kept.
        const KEEP: usize = 8;
        let mut spare = self.staging.borrow_mut();
        if spare.len() < KEEP {
            spare.push(memory);
        }
    }

    /// Keys of rendezvous, made and let go.
    pub fn keys(&self) -> &Rc<Counts> {
        &self.keys
    }

    /// A fence will look at this endpoint.
    pub(in crate::ucp) fn list_one_sided(&self, ep: Rc<Endpoint>) {
        self.one_sided.borrow_mut().push(ep);
    }

    /// It is gone: no fence will.
    pub(in crate::ucp) fn forget_one_sided(&self, ep: &Rc<Endpoint>) {
        if ep.order_so_far().is_some_and(|order| order.list(false)) {
            self.one_sided
                .borrow_mut()
                .retain(|other| !Rc::ptr_eq(other, ep));
        }
    }

    pub(in crate::ucp) fn take_one_sided(&self) -> Vec<Rc<Endpoint>> {
        self.one_sided.take()
    }

    /// Keeps a region until the next one is told, or none.
    pub(in crate::ucp) fn hold_placed(&self, memory: Option<Arc<Memory>>) {
        let before = self.placed.replace(memory);
        drop(before);
    }

    /// Number of endpoints, those that exist only because a peer connected included.
    pub fn endpoint_count(&self) -> usize {
        self.endpoints.borrow().len()
    }
}
