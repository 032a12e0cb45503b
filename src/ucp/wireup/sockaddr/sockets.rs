//! The sockets of a worker that have to do with connections by socket address.
//!
//! All are in one epoll set, which is part of what the worker sleeps on. It is looked at when
//! progress has nothing else to do, and now and then when it has.

use core::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use hashbrown::HashMap;

use crate::sys::epoll::{self, Epoll, Event, TimerFd};
use crate::sys::event::random_u64;
use crate::ucp::listener::{ConnRequest, Handler, Unanswered, refuse};
use crate::ucp::wire::sockaddr::{BY_SOCKADDR, Hello, SERVER, kind};
use crate::ucp::worker::Worker;
use crate::ucp::worker::ids::IdTable;
use crate::ucs::status::{Error, Result};
use crate::uct::tcp::cm::{CmConn, CmListener, CmSettings, Frame};

/// The key of the timer; ids of sockets have a generation below it.
pub(super) const TIMER: u64 = u64::MAX;

/// How often a client tries another socket, and the pauses before that, which double.
const DIALS: u32 = 7;
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LAST_PAUSE: Duration = Duration::from_secs(2);

/// How long a client whose endpoint here is closed may take to hear of it.
const LEAVE: Duration = Duration::from_secs(60);

/// A client that has no connection yet, and when it shall try again.
pub(super) struct Dialing {
    key: u64,
    at: Instant,
    attempt: u32,
}

/// A socket, and what it is for.
pub(super) enum Socket {
    Listener(CmListener, Handler),
    /// A client of this listener that has not said who it is; taken out when it has.
    Silent(RefCell<Option<CmConn>>, u64),
    /// A client that is being answered, for the endpoint with this token. True when it has the
    /// answer.
    Answered(CmConn, u64, Cell<bool>),
    /// The way to a server, for the endpoint with this token. True when the server has answered.
    Client(CmConn, u64, Cell<bool>),
}

impl Socket {
    /// Its descriptor, and what to watch it for.
    pub(super) fn watch(&self) -> Option<(RawFd, u32)> {
        let of = |conn: &CmConn| {
            let interest = match conn.wants_to_write() {
                true => epoll::IN | epoll::OUT,
                false => epoll::IN,
            };
            (conn.fd(), interest)
        };
        match self {
            Socket::Listener(listener, _) => Some((listener.fd(), epoll::IN)),
            Socket::Silent(conn, ..) => conn.borrow().as_ref().map(of),
            Socket::Answered(conn, ..) | Socket::Client(conn, ..) => Some(of(conn)),
        }
    }

    /// Of the endpoint that it is for.
    fn token(&self) -> Option<u64> {
        match self {
            Socket::Answered(_, token, _) | Socket::Client(_, token, _) => Some(*token),
            _ => None,
        }
    }
}

/// See the module.
#[derive(Default)]
pub struct SockaddrWireup {
    pub(super) epoll: RefCell<Option<Rc<Epoll>>>,
    timer: RefCell<Option<TimerFd>>,
    timer_at: Cell<Option<Instant>>,
    sockets: RefCell<IdTable<Rc<Socket>>>,
    /// Sockets by the token of their endpoint.
    of_endpoint: RefCell<HashMap<u64, u64>>,
    /// Clients that have not said who they are, oldest first. Some may have gone.
    pub(super) silent_order: RefCell<VecDeque<(u64, Instant)>>,
    pub(super) silent: Cell<usize>,
    /// Clients whose endpoint is closed, oldest first, and until when they are waited for.
    leaving: RefCell<VecDeque<(u64, Instant)>>,
    /// No client is accepted before that.
    pub(super) paused: Cell<Option<Instant>>,
    /// Clients that have no connection yet.
    pub(super) dialing: RefCell<Vec<Dialing>>,
    /// Requests that users have; some may have been answered.
    unanswered: RefCell<Vec<Unanswered>>,
    next_conn: Cell<u32>,
    settings: OnceCell<CmSettings>,
    /// Something is to be watched.
    active: Cell<bool>,
}

impl SockaddrWireup {
    /// Whether there is anything to poll.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.active.get()
    }

    /// Begins to listen, and returns the key for [`SockaddrWireup::remove`].
    pub fn listen(&self, worker: &Worker, socket: CmListener, handler: Handler) -> Result<u64> {
        self.insert(worker, Socket::Listener(socket, handler))
    }

    /// A number for the next connection of this worker as a client.
    pub(super) fn next_conn(&self) -> u32 {
        let next = self.next_conn.get();
        self.next_conn.set(next.wrapping_add(1));
        (next & (SERVER - 1)) | BY_SOCKADDR
    }

    fn settings(&self, worker: &Worker) -> &CmSettings {
        self.settings
            .get_or_init(|| CmSettings::read(&worker.context().config))
    }

    /// Frames carry no more than the user allows.
    fn check_len(&self, worker: &Worker, body: &[u8]) -> Result<()> {
        let limit = self.settings(worker).priv_data_len;
        if body.len() <= limit {
            return Ok(());
        }
        crate::ucs_error!(
            "connecting by socket address takes {} bytes of private data, \
             UCX_TCP_CM_PRIV_DATA_LEN={limit} allows less",
            body.len()
        );
        Err(Error::BufferTooSmall)
    }

    /// Begins to connect the endpoint with this token, which `hello` introduces.
    /// Returns this side's address.
    pub(super) fn connect(
        &self,
        worker: &Worker,
        token: u64,
        hello: Hello,
        peer: SocketAddr,
        local: Option<SocketAddr>,
    ) -> Result<Option<SocketAddr>> {
        let room = self.settings(worker).priv_data_len;
        let socket = CmConn::connect(peer, local, self.settings(worker))?;
        let address = worker.address_within(room.saturating_sub(Hello::LEN), socket.local());
        let body = hello.encode(&address);
        self.check_len(worker, &body)?;
        let frame = Frame {
            kind: kind::HELLO,
            body,
        };
        socket.send(&frame)?;
        let at = socket.local();
        let key = self.insert(worker, Socket::Client(socket, token, Cell::new(false)))?;
        if local.is_none() && self.settings(worker).syn_cnt.is_none() {
            self.dial_later(key, 0);
        }
        Ok(at)
    }

    /// Looks again at a client that has no connection yet.
    fn dial_later(&self, key: u64, attempt: u32) {
        let Some(socket) = self.find(key) else { return };
        let Socket::Client(conn, ..) = &*socket else {
            return;
        };
        if conn.is_undecided() && attempt < DIALS {
            // Clients that began together shall not come together again.
            let pause = (FIRST_PAUSE * (1 << attempt)).min(LAST_PAUSE);
            let spread = pause.mul_f64(f64::from(random_u64() as u16) / 65536.0);
            let at = Instant::now() + pause / 2 + spread;
            self.dialing.borrow_mut().push(Dialing { key, at, attempt });
            self.wake_at(at);
        }
    }

    /// Clients that have waited long enough for a connection try another.
    pub(super) fn dial_again(&self, worker: &Worker, now: Instant) {
        let all = self.dialing.take();
        let (due, later): (Vec<_>, Vec<_>) = all.into_iter().partition(|d| d.at <= now);
        if let Some(first) = later.iter().map(|d| d.at).min() {
            self.wake_at(first);
        }
        self.dialing.replace(later);
        for Dialing { key, attempt, .. } in due {
            let Some(socket) = self.find(key) else {
                continue;
            };
            let Socket::Client(conn, token, _) = &*socket else {
                continue;
            };
            // What has become of it is for the socket's own event to tell.
            if !conn.is_undecided() {
                continue;
            }
            let Ok(fresh) = conn.again(self.settings(worker)) else {
                continue;
            };
            let ends = (fresh.local(), fresh.peer());
            self.remove(key);
            let client = Socket::Client(fresh, *token, Cell::new(false));
            match (
                self.insert(worker, client),
                worker.endpoint_by_token(*token),
            ) {
                (Ok(key), Some(ep)) => {
                    ep.set_sockaddrs(ends.0, ends.1);
                    self.dial_later(key, attempt + 1);
                }
                (Err(error), Some(ep)) => ep.fail(error),
                _ => {}
            }
        }
    }

    /// Answers a client whose endpoint has been made.
    pub(super) fn accept(&self, worker: &Worker, request: ConnRequest, token: u64) -> Result<()> {
        let room = self.settings(worker).priv_data_len;
        let body = worker.address_within(room, request.addresses().0).to_vec();
        if let Err(error) = self.check_len(worker, &body) {
            request.refuse(error);
            return Err(error);
        }
        let conn = request.into_conn().ok_or(Error::InvalidParam)?;
        conn.send(&Frame {
            kind: kind::ACCEPT,
            body,
        })?;
        self.insert(worker, Socket::Answered(conn, token, Cell::new(false)))
            .map(|_| ())
    }

    /// A request goes to the user.
    pub(super) fn keep(&self, request: Unanswered) {
        let mut all = self.unanswered.borrow_mut();
        if all.len() == all.capacity() {
            all.retain(|request| request.strong_count() != 0);
        }
        all.push(request);
    }

    /// The worker ends: nobody will be answered any more.
    pub fn end(&self) {
        for request in self.unanswered.take() {
            if let Some(place) = request.upgrade() {
                let conn = place.lock().take();
                refuse(conn, Error::Rejected.into());
            }
        }
        self.sockets.take();
        self.of_endpoint.take();
        self.active.set(false);
    }

    /// Forgets a socket, which closes it.
    pub fn remove(&self, key: u64) {
        let removed = self.sockets.borrow_mut().remove(key);
        if let Some(socket) = removed {
            if let Some(token) = socket.token() {
                self.of_endpoint.borrow_mut().remove(&token);
            }
            if matches!(*socket, Socket::Silent(..)) {
                self.silent.set(self.silent.get().saturating_sub(1));
                // There is room for another.
                if self.paused.get().is_some() {
                    self.resume();
                }
            }
        }
        self.active.set(!self.sockets.borrow().is_empty());
    }

    /// The endpoint with this token is closed: nobody waits for its server any more.
    pub fn forget_endpoint(&self, token: u64) {
        let key = self.of_endpoint.borrow().get(&token).copied();
        let Some((key, socket)) = key.and_then(|key| Some((key, self.find(key)?))) else {
            return;
        };
        match &*socket {
            Socket::Client(..) => self.remove(key),
            // It has to be told that its peer has gone, and then closes the connection.
            Socket::Answered(..) => {
                let now = Instant::now();
                let until = now + LEAVE;
                self.end_leaving(now);
                self.leaving.borrow_mut().push_back((key, until));
                self.wake_at(until);
            }
            _ => {}
        }
    }

    /// Connections with clients that had long enough to leave are closed.
    pub(super) fn end_leaving(&self, now: Instant) {
        loop {
            let next = self.leaving.borrow().front().copied();
            match next {
                Some((key, until)) if until <= now => self.remove(key),
                Some((key, until)) if self.find(key).is_some() => return self.wake_at(until),
                Some(_) => {}
                None => return,
            }
            self.leaving.borrow_mut().pop_front();
        }
    }

    pub(super) fn insert(&self, worker: &Worker, socket: Socket) -> Result<u64> {
        let (fd, interest) = socket.watch().ok_or(Error::InvalidParam)?;
        let epoll = self.epoll(worker)?;
        let token = socket.token();
        let key = self.sockets.borrow_mut().insert(Rc::new(socket));
        if let Some(token) = token {
            self.of_endpoint.borrow_mut().insert(token, key);
        }
        self.active.set(true);
        epoll.add(fd, interest, key).map_err(|e| {
            crate::ucs_error!("a socket can't be watched: {e}");
            self.remove(key);
            Error::IoError
        })?;
        Ok(key)
    }

    /// The set of sockets; the first use makes it.
    fn epoll(&self, worker: &Worker) -> Result<Rc<Epoll>> {
        if let Some(epoll) = &*self.epoll.borrow() {
            return Ok(epoll.clone());
        }
        let failed = |e: std::io::Error| {
            crate::ucs_error!("failed to create an epoll set: {e}");
            Error::IoError
        };
        let epoll = Epoll::new().map_err(failed)?;
        let timer = TimerFd::new().map_err(failed)?;
        epoll
            .add(timer.as_raw_fd(), epoll::IN, TIMER)
            .map_err(failed)?;
        worker.wake_by(epoll.as_raw_fd())?;
        let epoll = Rc::new(epoll);
        *self.timer.borrow_mut() = Some(timer);
        *self.epoll.borrow_mut() = Some(epoll.clone());
        Ok(epoll)
    }

    /// Makes sure that the timer goes off at `when`.
    pub(super) fn wake_at(&self, when: Instant) {
        if self.timer_at.get().is_some_and(|at| at <= when) {
            return;
        }
        if let Some(timer) = &*self.timer.borrow() {
            self.timer_at.set(Some(when));
            timer.set(Some(when.saturating_duration_since(Instant::now())));
        }
    }

    pub(super) fn timer_is_off(&self) {
        self.timer_at.set(None);
        if let Some(timer) = &*self.timer.borrow() {
            timer.set(None);
        }
    }

    /// What listeners are watched for.
    pub(super) fn watch_listeners(&self, interest: u32) {
        let Some(epoll) = self.epoll.borrow().clone() else {
            return;
        };
        let sockets = self.sockets.borrow();
        for key in sockets.ids() {
            if let Some(Socket::Listener(listener, _)) = sockets.cloned(key).as_deref() {
                let _ = epoll.modify(listener.fd(), interest, key);
            }
        }
    }

    /// Clients are accepted again.
    pub(super) fn resume(&self) {
        self.paused.set(None);
        self.watch_listeners(epoll::IN);
    }

    /// True if a socket is ready.
    pub fn is_ready(&self) -> bool {
        let epoll = self.epoll.borrow().clone();
        epoll.is_some_and(|epoll| {
            let mut events = [Event::default()];
            epoll.poll(&mut events) != 0
        })
    }

    /// Takes a connection out of the set without closing it.
    pub(super) fn unwatch(&self, key: u64, conn: &CmConn) {
        if let Some(epoll) = &*self.epoll.borrow() {
            epoll.remove(conn.fd());
        }
        self.remove(key);
    }

    pub(super) fn find(&self, key: u64) -> Option<Rc<Socket>> {
        self.sockets.borrow().cloned(key)
    }
}
