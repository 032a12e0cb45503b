//! The interface: a listening socket, a set of connections, and their progress.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::os::fd::RawFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use socket2::Socket;

use crate::sys::epoll::{self, Epoll, Event, TimerFd};
use crate::sys::netdev::NetAddr;
use crate::sys::netlink::LinkEvents;
use crate::ucs::status::{Error, Result};
use crate::ucs_error;
use crate::uct::{Arm, Ep, EpParams, Events, Iface, IfaceAttr, IfaceParams, Route};

use super::addr::{self, DeviceAddr};
use super::config::TcpConfig;
use super::conn::{Conn, State};
use super::ep::TcpRoute;
use super::listener::{Handshake, Listener};
use super::reach::RouteCache;
use super::slab::Slab;
use super::table::Table;
use super::wire::{FRAME_LEN, IfaceId};

/// Keys of what isn't in the slab.
pub const LISTENER: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;
pub const LINKS: u64 = u64::MAX - 2;
/// In the keys of connections that have not said who they are.
pub const HANDSHAKE: u64 = 1 << 63;

/// The receive buffer holds at least a frame head and the longest header of a large message.
const MIN_RX_BUFFER: usize = (64 << 10) + 2 * FRAME_LEN;
const MAX_RX_BUFFER: usize = 1 << 20;

/// While one connection is busy, others are looked at in every such poll.
const POLLS_PER_SCAN: u32 = 16;
/// And after so long: who polls seldom would keep the others waiting.
const SCAN_EVERY: Duration = Duration::from_micros(10);
/// So many empty polls end a connection's being busy.
const HOT_POLLS: u32 = 256;

/// A connection that is of no use for sending any more is read this often at most.
const LAST_READS: u32 = 1000;

/// What `progress` has to tell.
pub enum Deferred {
    Completed(u64, Result<()>),
    Failed(Rc<Conn>, Error),
    Left(Rc<Conn>),
}

/// The interface, as its endpoints share it.
pub struct Shared {
    pub me: IfaceId,
    pub device: NetAddr,
    pub own: DeviceAddr,
    pub config: TcpConfig,
    pub attr: IfaceAttr,
    pub params: IfaceParams,
    pub epoll: Epoll,
    pub timer: TimerFd,
    pub listener: Listener,
    /// Connections by the keys of their events, and those that have not said who they are.
    pub sources: RefCell<Slab<Rc<Conn>>>,
    pub handshakes: RefCell<Slab<Rc<Handshake>>>,
    /// Connections by peer and sequence number.
    pub table: RefCell<Table>,
    pub next_sequence: RefCell<HashMap<IfaceId, u64>>,
    /// Connections that wait for a time.
    pub waiting: RefCell<Vec<Rc<Conn>>>,
    /// Connections that failed in sending.
    /// And how often each was read since.
    pub broken: RefCell<Vec<(Rc<Conn>, u32)>>,
    pub deferred: RefCell<VecDeque<Deferred>>,
    /// One of the two is not empty.
    pub work: Cell<bool>,
    pub deadline: Cell<Option<Instant>>,
    pub scratch: RefCell<Vec<u8>>,
    pub rx_buffer: Cell<Vec<u8>>,
    /// An empty vector to gather the next long message in.
    pub rx_spare: Cell<Vec<u8>>,
    /// The same for the next part of a frame.
    pub rx_part: Cell<Vec<u8>>,
    /// The connection that data came from last.
    pub hot: RefCell<Option<Rc<Conn>>>,
    polls: Cell<u32>,
    idle_polls: Cell<u32>,
    last_scan: Cell<Option<Instant>>,
    in_progress: Cell<bool>,
    pub closed: Cell<bool>,
    pub routes: RouteCache,
    /// Once a connection is watched.
    pub links: OnceCell<Option<LinkEvents>>,
}

/// What an interface is opened with.
pub struct Open {
    pub device: NetAddr,
    pub config: TcpConfig,
    pub attr: IfaceAttr,
    pub params: IfaceParams,
}

impl Shared {
    pub fn open(open: Open) -> Result<Rc<Shared>> {
        let Open {
            device,
            config,
            attr,
            params,
        } = open;
        let io = |what: &'static str| {
            move |error: std::io::Error| {
                ucs_error!("tcp: {what} failed: {error}");
                Error::IoError
            }
        };
        let epoll = Epoll::new().map_err(io("epoll_create"))?;
        let timer = TimerFd::new().map_err(io("timerfd_create"))?;
        let (listener, port) = Listener::open(&device, &config)?;
        epoll
            .add(listener.fd(), epoll::IN, LISTENER)
            .and_then(|()| epoll.add(timer.as_raw_fd(), epoll::IN, TIMER))
            .map_err(io("epoll_ctl"))?;
        let own = DeviceAddr {
            ip: device.ip,
            loopback: device.ip.is_loopback(),
            host: addr::host_id(),
        };
        let rx_size = config.rx_seg_size.clamp(MIN_RX_BUFFER, MAX_RX_BUFFER);
        Ok(Rc::new(Shared {
            me: IfaceId {
                ip: device.ip,
                port,
                id: super::random() as u32,
            },
            own,
            device,
            attr,
            params,
            epoll,
            timer,
            listener,
            sources: RefCell::default(),
            handshakes: RefCell::default(),
            table: RefCell::default(),
            next_sequence: RefCell::default(),
            waiting: RefCell::default(),
            broken: RefCell::default(),
            deferred: RefCell::default(),
            work: Cell::new(false),
            deadline: Cell::new(None),
            scratch: RefCell::new(vec![0; config.tx_seg_size + 64]),
            rx_buffer: Cell::new(vec![0; rx_size]),
            rx_spare: Cell::default(),
            rx_part: Cell::default(),
            hot: RefCell::new(None),
            polls: Cell::new(0),
            idle_polls: Cell::new(0),
            last_scan: Cell::new(None),
            in_progress: Cell::new(false),
            closed: Cell::new(false),
            routes: RouteCache::default(),
            links: OnceCell::new(),
            config,
        }))
    }

    pub fn defer(&self, what: Deferred) {
        self.deferred.borrow_mut().push_back(what);
        self.work.set(true);
    }

    /// Makes sure that [`Shared::on_timer`] runs at `when`.
    pub fn wake_at(&self, when: Instant) {
        if self.deadline.get().is_some_and(|at| at <= when) {
            return;
        }
        self.deadline.set(Some(when));
        let delay = when.saturating_duration_since(Instant::now());
        self.timer.set(Some(delay.max(Duration::from_micros(1))));
    }

    pub fn on_timer(&self) {
        self.timer.set(None);
        self.deadline.set(None);
        let now = Instant::now();
        self.expire_handshakes(now);
        self.listener.resume(self, now);
        for conn in self.waiting.take() {
            match (conn.state.get(), conn.deadline()) {
                (State::Backoff | State::WaitPeer, Some(at)) if at <= now => {
                    conn.with_setup(|setup| setup.deadline = None);
                    self.dial_again(&conn);
                }
                (State::Connecting, Some(at)) if at <= now => {
                    conn.with_setup(|setup| setup.deadline = None);
                    self.fail(&conn, Error::EndpointTimeout);
                }
                (State::Backoff | State::WaitPeer | State::Connecting, Some(at)) => {
                    self.waiting.borrow_mut().push(conn);
                    self.wake_at(at);
                }
                _ => {}
            }
        }
    }

    /// Tells what is to be told, and reads broken connections to their end.
    #[cold]
    fn run_work(&self, events: &dyn Events) -> usize {
        let mut count = 0;
        self.work.set(false);
        for (conn, reads) in self.broken.take() {
            match self.receive(&conn, events) {
                0 => self.fail_broken(&conn),
                // The peer goes on as if nothing had happened.
                _ if reads >= LAST_READS => self.fail_broken(&conn),
                n => {
                    // There may be more.
                    count += n;
                    self.broken.borrow_mut().push((conn, reads + 1));
                    self.work.set(true);
                }
            }
        }
        loop {
            let Some(next) = self.deferred.borrow_mut().pop_front() else {
                break;
            };
            count += 1;
            match next {
                Deferred::Completed(token, result) => events.completed(token, result),
                Deferred::Failed(conn, error) => {
                    // The endpoint may have been dropped since.
                    if let Some(token) = conn.token() {
                        events.ep_failed(token, error);
                    }
                }
                Deferred::Left(conn) => {
                    let left = conn.state.get() == State::Idle;
                    if let Some(token) = conn.token().filter(|_| left) {
                        events.peer_left(token);
                    }
                }
            }
        }
        count
    }

    fn dispatch(&self, event: Event, events: &dyn Events) -> usize {
        match event.key {
            LISTENER => self.accept(),
            TIMER => {
                self.on_timer();
                0
            }
            LINKS => {
                self.links_changed();
                1
            }
            key if key & HANDSHAKE != 0 => {
                let handshake = self.handshakes.borrow().get(key & !HANDSHAKE);
                let Some(handshake) = handshake else { return 0 };
                self.read_handshake(&handshake);
                1
            }
            key => {
                let conn = self.sources.borrow().get(key);
                conn.map_or(0, |conn| self.conn_event(&conn, event.events, events))
            }
        }
    }

    fn conn_event(&self, conn: &Rc<Conn>, flags: u32, events: &dyn Events) -> usize {
        match conn.state.get() {
            State::Connecting => {
                self.connected(conn);
                1
            }
            State::Greeting => {
                self.read_answer(conn);
                1
            }
            State::Up => {
                let mut count = 0;
                if flags & !epoll::OUT != 0 {
                    count += self.receive(conn, events);
                    if conn.fd.get() >= 0 && count > 0 {
                        self.set_hot(conn);
                    }
                }
                if flags & epoll::OUT != 0 && conn.state.get() == State::Up {
                    self.flush_queue(conn);
                    count += 1;
                }
                count
            }
            _ => 0,
        }
    }

    fn set_hot(&self, conn: &Rc<Conn>) {
        self.idle_polls.set(0);
        let mut hot = self.hot.borrow_mut();
        if !hot.as_ref().is_some_and(|hot| Rc::ptr_eq(hot, conn)) {
            *hot = Some(conn.clone());
        }
    }

    /// Asks the busy connection directly: one call instead of two. `None`: look at all.
    fn poll_hot(&self, events: &dyn Events) -> Option<usize> {
        let polls = self.polls.get().wrapping_add(1);
        self.polls.set(polls);
        if polls.is_multiple_of(POLLS_PER_SCAN) {
            return None;
        }
        let conn = self.hot.borrow().clone()?;
        if conn.fd.get() < 0 || conn.state.get() != State::Up {
            self.hot.take();
            return None;
        }
        if conn.want_write.get() {
            return None;
        }
        let count = self.receive(&conn, events);
        if count > 0 {
            self.idle_polls.set(0);
        } else {
            let idle = self.idle_polls.get() + 1;
            self.idle_polls.set(idle);
            if idle > HOT_POLLS {
                self.hot.take();
            }
            let now = Instant::now();
            if self
                .last_scan
                .get()
                .is_none_or(|last| now - last > SCAN_EVERY)
            {
                self.last_scan.set(Some(now));
                return None;
            }
        }
        Some(count)
    }

    fn scan(&self, events: &dyn Events) -> usize {
        let mut ready = [Event::default(); 32];
        let max = self.config.max_poll.clamp(1, ready.len());
        let n = self.epoll.poll(ready.get_mut(..max).unwrap_or_default());
        ready
            .iter()
            .take(n)
            .map(|event| self.dispatch(*event, events))
            .sum()
    }

    fn progress(&self, events: &dyn Events) -> usize {
        if self.in_progress.replace(true) {
            return 0;
        }
        let mut count = match self.poll_hot(events) {
            Some(count) => count,
            None => self.scan(events),
        };
        if self.work.get() {
            count += self.run_work(events);
        }
        self.in_progress.set(false);
        count
    }
}

/// The interface that UCP holds.
pub struct TcpIface {
    pub shared: Rc<Shared>,
}

impl Iface for TcpIface {
    fn attr(&self) -> &IfaceAttr {
        &self.shared.attr
    }

    fn device_address(&self, out: &mut Vec<u8>) {
        self.shared.own.encode(out);
    }

    fn iface_address(&self, out: &mut Vec<u8>) {
        addr::encode_iface(&self.shared.me, out);
    }

    fn device_addr_len(&self, byte: &mut dyn FnMut(usize) -> u8) -> usize {
        DeviceAddr::len_of(byte(0), byte(1))
    }

    fn reachable(&self, device_addr: &[u8], iface_addr: &[u8]) -> core::result::Result<(), String> {
        let shared = &self.shared;
        let remote = DeviceAddr::decode(device_addr)
            .and_then(|device| addr::decode_iface(&device, iface_addr).map(|_| device))
            .map_err(|_| "not an address of this transport".to_owned())?;
        shared
            .routes
            .reachable(&shared.device, &shared.own, &remote)
    }

    fn create_ep(&self, params: &EpParams<'_>) -> Result<Rc<dyn Ep>> {
        let device = DeviceAddr::decode(params.device_addr)?;
        let peer = addr::decode_iface(&device, params.iface_addr)?;
        let shared = self.shared.clone();
        TcpRoute { shared, peer }.open(params.token)
    }

    fn progress(&self, events: &dyn Events) -> usize {
        self.shared.progress(events)
    }

    fn event_fd(&self) -> Option<RawFd> {
        Some(self.shared.epoll.as_raw_fd())
    }

    fn arm(&self, _tx_blocked: bool) -> Result<Arm> {
        // The set is level-triggered, and room to send is watched for whenever it is lacking: so
        // there is nothing to prepare, only to look.
        let ready = self.shared.epoll.poll(&mut [Event::default()]);
        Ok(if ready > 0 || self.shared.work.get() {
            Arm::Busy
        } else {
            Arm::Armed
        })
    }

    fn shutdown(&self) {
        self.shared.shutdown();
    }
}

impl Drop for TcpIface {
    fn drop(&mut self) {
        self.shared.shutdown();
    }
}

/// Takes a socket into the set of those watched.
impl Shared {
    pub fn attach(&self, conn: &Rc<Conn>, socket: Socket, events: u32) -> Result<()> {
        use std::os::fd::AsRawFd;
        let fd = socket.as_raw_fd();
        let key = self.sources.borrow_mut().insert(conn.clone());
        if let Err(error) = self.epoll.add(fd, events, key) {
            ucs_error!("tcp: epoll_ctl failed: {error}");
            self.sources.borrow_mut().remove(key);
            return Err(Error::IoError);
        }
        conn.key.set(key);
        conn.fd.set(fd);
        conn.want_write.set(events & epoll::OUT != 0);
        conn.socket.set(Some(socket));
        Ok(())
    }

    /// Closes the socket.
    pub fn detach(&self, conn: &Conn) {
        let Some(socket) = conn.socket.take() else {
            return;
        };
        self.epoll.remove(conn.fd.get());
        self.sources.borrow_mut().remove(conn.key.get());
        conn.fd.set(-1);
        conn.ready.set(false);
        conn.want_write.set(false);
        conn.kept_alive.set(false);
        conn.take_stall();
        drop(socket);
    }
}
