//! Endpoints: connections from a worker to another.

mod close;
pub mod config;
mod create;
pub mod error;
pub mod flush;
mod last_word;
mod later;
mod linger;
mod message;
mod parting;
mod pending;
mod perf;
pub mod rails;
mod shares;
mod wired;

use core::cell::{Cell, OnceCell, RefCell};
use core::ffi::{c_char, c_void};
use std::net::SocketAddr;
use std::rc::Rc;

use smallvec::SmallVec;

pub use config::EpConfig;
pub(in crate::ucp) use create::ways;
pub use create::why_unused;
pub use error::{ErrorHandler, ErrorMode};
pub use last_word::LastWords;
pub use message::Message;
pub use pending::{Pending, Queue, Waiting};
pub use rails::{AmRail, Rail, RailInfo, first_done};
pub use wired::Wired;

use crate::ucp::request::ReqRef;
use crate::ucp::rma::Order;
use crate::ucp::select::LaneIdx;
use crate::ucp::stream::Stream;
use crate::ucp::wire::{Identity, Origin};
use crate::ucp::wireup::attempts::Name;
use crate::ucp::worker::Worker;
use crate::ucs::status::{Error, Result};
use crate::uct;

/// What the user says when creating an endpoint.
#[derive(Clone, Debug)]
pub struct EpOptions {
    pub mode: ErrorMode,
    pub handler: Option<ErrorHandler>,
    pub user_data: *mut c_void,
    pub name: Option<String>,
}

impl EpOptions {
    /// Nothing was said.
    pub fn is_default(&self) -> bool {
        let EpOptions {
            mode,
            handler,
            user_data,
            name,
        } = self;
        *mode == ErrorMode::None && handler.is_none() && user_data.is_null() && name.is_none()
    }
}

impl Default for EpOptions {
    fn default() -> Self {
        EpOptions {
            mode: ErrorMode::None,
            handler: None,
            user_data: core::ptr::null_mut(),
            name: None,
        }
    }
}

/// The two ends of a connection by socket address.
#[derive(Clone, Copy, Debug)]
pub struct SockAddrs {
    pub local: Option<SocketAddr>,
    pub remote: SocketAddr,
}

/// A connection to one worker.
pub struct Endpoint {
    worker: Rc<Worker>,
    /// Longest message that may go by the fast path now; -1 when none may, because something is
    /// queued or the endpoint has failed.
    fast_max: Cell<isize>,
    wired: OnceCell<Wired>,
    /// The lanes that read and write the peer's memory, and its device memory.
    fetch: Cell<Option<LaneIdx>>,
    store: Cell<Option<LaneIdx>>,
    device: Cell<Option<LaneIdx>>,
    /// Of its one-sided operations, once there are any.
    order: OnceCell<Rc<Order>>,
    /// Number of our side of the connection, as the peer knows it.
    conn: u32,
    /// The peer's side of the connection, as it names it in its messages; the worker is 0 until
    /// it is known.
    peer: Cell<Origin>,
    /// The id in the worker's table.
    token: u64,
    next_seq: Cell<u64>,
    pending: Queue,
    /// The peer has, or will have before any later message, an endpoint for this connection.
    announced: Cell<bool>,
    /// A user holds the handle. Otherwise it exists because the peer connected.
    owned: Cell<bool>,
    /// A handler was given the handle to reply on, and may have kept it.
    lent: Cell<bool>,
    failed: Cell<Option<Error>>,
    /// A bit for each lane that is out of use.
    lost: Cell<u16>,
    /// The peer has said that nothing of it is under way to us any more.
    peer_stopped: Cell<bool>,
    /// The peer is to hear of the failure.
    tell_peer: Cell<bool>,
    /// Operations begun here and not ended, the one-sided among them, and flushes, which wait for
    /// some of them.
    in_flight: Cell<u32>,
    one_sided: Cell<u32>,
    started: Cell<u64>,
    rare: OnceCell<Box<Rare>>,
    /// Shared by the endpoints for which nothing was said, and never `None` but while it is looked at.
    options: Cell<Option<Rc<EpOptions>>>,
    peer_name: Name,
}

/// What most endpoints never need.
#[derive(Default)]
struct Rare {
    /// Those that wait for operations begun here.
    flushes: RefCell<SmallVec<[ReqRef; 2]>>,
    /// The two ends of a connection by socket address.
    sockaddrs: Cell<Option<SockAddrs>>,
    /// Of the memory that the peer reads, once there is any; it ends with the endpoint's failure.
    lease: OnceCell<uct::Lease>,
    /// The receiving side of its stream, once it is used.
    stream: RefCell<Option<Box<Stream>>>,
    /// Where both ends are being closed.
    parting: Cell<parting::Parting>,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Endpoint>() <= 168, "ten thousand endpoints");

impl Endpoint {
    pub fn worker(&self) -> &Rc<Worker> {
        &self.worker
    }

    #[inline]
    fn wired(&self) -> &Wired {
        match self.wired.get() {
            Some(wired) => wired,
            None => self.worker.not_yet_wired(),
        }
    }

    /// Whether the peer is known.
    #[inline]
    pub fn is_wired(&self) -> bool {
        self.wired.get().is_some()
    }

    pub fn config(&self) -> &EpConfig {
        &self.wired().config
    }

    pub fn am_lane(&self) -> &dyn uct::Ep {
        self.wired().am()
    }

    /// All lanes, in the order of the configuration.
    pub fn lanes(&self) -> impl Iterator<Item = &dyn uct::Ep> {
        self.wired().lanes()
    }

    pub fn lane_at(&self, index: LaneIdx) -> Option<&dyn uct::Ep> {
        self.wired().lane(usize::from(index))
    }

    fn rare(&self) -> &Rare {
        self.rare.get_or_init(Box::default)
    }

    /// Flushes that wait for operations begun here.
    fn flushes(&self) -> Option<&RefCell<SmallVec<[ReqRef; 2]>>> {
        self.rare.get().map(|rare| &rare.flushes)
    }

    #[inline]
    fn has_flushes(&self) -> bool {
        self.flushes().is_some_and(|all| !all.borrow().is_empty())
    }

    /// The receiving side of its stream.
    pub(in crate::ucp) fn stream(&self) -> &RefCell<Option<Box<Stream>>> {
        &self.rare().stream
    }

    /// The same, if there can have been one.
    pub(in crate::ucp) fn stream_so_far(&self) -> Option<&RefCell<Option<Box<Stream>>>> {
        self.rare.get().map(|rare| &rare.stream)
    }

    /// A lane to keep.
    fn lane(&self, index: LaneIdx) -> Option<Rc<dyn uct::Ep>> {
        let later = || {
            let ep = self.worker.endpoint_by_token(self.token)?;
            Some(Rc::new(later::AmLane(ep)) as Rc<dyn uct::Ep>)
        };
        self.wired().shared(usize::from(index), later)
    }

    /// The lane that reads the peer's memory.
    pub fn fetch_lane(&self) -> Option<Rc<dyn uct::Ep>> {
        self.lane(self.fetch.get()?)
    }

    /// The same for one call.
    pub fn fetch_lane_now(&self) -> Option<&dyn uct::Ep> {
        self.lane_at(self.fetch.get()?)
    }

    /// Reading was refused: don't try again on this endpoint.
    pub fn forget_fetch_lane(&self) {
        if self.fetch.take().is_some() {
            crate::ucs_diag!(
                "{}: reading the peer's memory is not permitted, copying instead",
                self.peer_name()
            );
        }
    }

    /// The lane that writes the peer's memory.
    pub fn put_lane(&self) -> Option<Rc<dyn uct::Ep>> {
        self.lane(self.store.get()?)
    }

    /// The lane that writes the peer's device memory, under keys of its transport.
    pub fn device_lane(&self) -> Option<Rc<dyn uct::Ep>> {
        self.lane(self.device.get()?)
    }

    /// The same for reading, where that is not slow.
    pub fn device_reader(&self) -> Option<Rc<dyn uct::Ep>> {
        let reads = self.config().rndv.device.reads;
        self.device_lane().filter(|_| reads)
    }

    /// As [`Endpoint::forget_fetch_lane`], for writing.
    pub fn forget_put_lane(&self) {
        if self.store.take().is_some() {
            crate::ucs_diag!(
                "{}: writing the peer's memory is not permitted, sending instead",
                self.peer_name()
            );
        }
    }

    /// What is in flight of its one-sided operations.
    pub fn order(&self) -> &Rc<Order> {
        self.order.get_or_init(Rc::default)
    }

    /// The same, if there have been any.
    pub fn order_so_far(&self) -> Option<&Rc<Order>> {
        self.order.get()
    }

    /// Whether the fast path may be tried for `len` bytes.
    #[inline]
    pub fn short_fits(&self, len: usize) -> bool {
        // A length above isize::MAX wraps to a negative number, hence the cast to unsigned.
        let max = self.fast_max.get();
        max >= 0 && len <= max as usize
    }

    /// Whether `len` bytes may be copied into one message now.
    #[inline]
    pub fn copy_fits(&self, len: usize) -> bool {
        self.fast_max.get() >= 0 && len <= self.config().copy_max
    }

    /// Our side of the connection, as the peer knows it.
    pub fn origin(&self) -> Origin {
        Origin {
            worker: self.worker.uid(),
            conn: self.conn,
        }
    }

    /// The peer's side of the connection.
    pub fn peer_origin(&self) -> Origin {
        self.peer.get()
    }

    /// Addresses of a connection by socket address: ours, if it is known, and the peer's.
    pub fn sockaddrs(&self) -> Option<SockAddrs> {
        self.rare.get()?.sockaddrs.get()
    }

    pub(in crate::ucp) fn set_sockaddrs(&self, local: Option<SocketAddr>, remote: SocketAddr) {
        let addrs = SockAddrs { local, remote };
        self.rare().sockaddrs.set(Some(addrs));
    }

    pub fn remote_worker(&self) -> u64 {
        self.peer.get().worker
    }

    pub fn token(&self) -> u64 {
        self.token
    }

    /// A name for the next operation.
    pub fn next_identity(&self) -> Identity {
        let seq = self.next_seq.get();
        self.next_seq.set(seq + 1);
        Identity {
            origin: self.origin(),
            seq,
        }
    }

    pub fn set_owned(&self, owned: bool) {
        self.owned.set(owned);
    }

    pub fn is_owned(&self) -> bool {
        self.owned.get()
    }

    /// A handler gets the handle: from now on only the user or the worker's end closes it.
    pub fn lend(&self) {
        self.lent.set(true);
    }

    /// Whether a user may hold the handle.
    pub fn is_held(&self) -> bool {
        self.owned.get() || self.lent.get()
    }

    pub fn options(&self) -> EpOptions {
        self.with_options(EpOptions::clone)
    }

    fn with_options<T>(&self, f: impl FnOnce(&EpOptions) -> T) -> T {
        let options = self.options.take().unwrap_or_default();
        let value = f(&options);
        self.options.set(Some(options));
        value
    }

    pub fn set_options(&self, options: EpOptions) {
        let options = self.worker.ep_options(options);
        let before = self.options.replace(Some(options));
        drop(before);
        self.worker.watch_peer(self);
    }

    /// The name that the user gave it, or one that tells it apart.
    pub fn name(&self) -> String {
        let given = self.with_options(|options| options.name.clone());
        given.unwrap_or_else(|| format!("ep_{}", self.token))
    }

    /// Transport and device of each lane, as C strings that live as long as the worker.
    pub fn transports(&self) -> Vec<(*const c_char, *const c_char)> {
        let lanes = self.config().lanes.all.iter();
        lanes
            .filter_map(|lane| self.worker.rsc_names(lane.rsc_index))
            .collect()
    }

    /// The reason if the endpoint has failed.
    pub fn failure(&self) -> Option<Error> {
        self.failed.get()
    }

    pub fn check_usable(&self) -> Result<()> {
        self.failed.get().map_or(Ok(()), Err)
    }
}
