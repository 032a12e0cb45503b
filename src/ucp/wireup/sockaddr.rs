//! Connections by socket address that are being made, see [`crate::ucp::listener`].
//!
//! All sockets of a worker are in one epoll set, which is part of what the worker sleeps on. It is
//! looked at when progress has nothing else to do, and now and then when it has.

use core::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::sys::epoll::{self, Epoll, Event};
use crate::ucp::address;
use crate::ucp::ep::{Endpoint, EpOptions};
use crate::ucp::listener::{ConnRequest, Handler};
use crate::ucp::wire::Origin;
use crate::ucp::wire::sockaddr::{BY_SOCKADDR, Hello, SERVER, decode_reject, kind};
use crate::ucp::worker::Worker;
use crate::ucp::worker::ids::IdTable;
use crate::ucs::status::{Error, Result};
use crate::uct::tcp::cm::{CmConn, CmListener, Frame, Polled};

/// Events taken at once.
const EVENTS: usize = 64;
/// Clients that may be connected without having said who they are; more are turned away.
const MAX_SILENT: usize = 256;
/// How long such a client may be silent.
const SILENCE: Duration = Duration::from_secs(10);

/// A socket, and what it is for.
enum Socket {
    Listener(CmListener, Handler),
    /// A client of this listener that has not said who it is; taken out when it has.
    Silent(RefCell<Option<CmConn>>, u64, Instant),
    /// A client that has its answer; the connection ends when it has read it.
    Answered(CmConn),
    /// The way to a server, for the endpoint with this token.
    Client(CmConn, u64),
}

impl Socket {
    /// Its descriptor, and what to watch it for.
    fn watch(&self) -> Option<(RawFd, u32)> {
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
            Socket::Answered(conn) | Socket::Client(conn, _) => Some(of(conn)),
        }
    }
}

/// The sockets of a worker.
#[derive(Default)]
pub struct SockaddrWireup {
    epoll: RefCell<Option<Rc<Epoll>>>,
    sockets: RefCell<IdTable<Rc<Socket>>>,
    silent: Cell<usize>,
    next_conn: Cell<u32>,
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
    pub fn next_conn(&self) -> u32 {
        let next = self.next_conn.get();
        self.next_conn.set(next.wrapping_add(1));
        (next & (SERVER - 1)) | BY_SOCKADDR
    }

    /// Begins to connect the endpoint with this token, which `hello` introduces.
    /// Returns this side's address.
    pub fn connect(
        &self,
        worker: &Worker,
        token: u64,
        hello: Hello,
        peer: SocketAddr,
        local: Option<SocketAddr>,
    ) -> Result<Option<SocketAddr>> {
        let socket = CmConn::connect(peer, local)?;
        let body = hello.encode(&worker.address());
        let frame = Frame {
            kind: kind::HELLO,
            body,
        };
        socket.send(&frame)?;
        let local = socket.local();
        self.insert(worker, Socket::Client(socket, token))?;
        Ok(local)
    }

    /// Answers a client whose endpoint has been made.
    pub fn accept(&self, worker: &Worker, request: ConnRequest) -> Result<()> {
        let conn = request.into_conn().ok_or(Error::InvalidParam)?;
        conn.send(&Frame {
            kind: kind::ACCEPT,
            body: worker.address().to_vec(),
        })?;
        self.insert(worker, Socket::Answered(conn)).map(|_| ())
    }

    /// Forgets a socket, which closes it.
    pub fn remove(&self, key: u64) {
        let removed = self.sockets.borrow_mut().remove(key);
        if let Some(socket) = removed
            && matches!(*socket, Socket::Silent(..))
        {
            self.silent.set(self.silent.get().saturating_sub(1));
        }
        self.active.set(!self.sockets.borrow().is_empty());
    }

    fn insert(&self, worker: &Worker, socket: Socket) -> Result<u64> {
        let (fd, interest) = socket.watch().ok_or(Error::InvalidParam)?;
        let epoll = self.epoll(worker)?;
        let key = self.sockets.borrow_mut().insert(Rc::new(socket));
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
        let epoll = Epoll::new().map_err(|e| {
            crate::ucs_error!("failed to create an epoll set: {e}");
            Error::IoError
        })?;
        worker.wake_by(epoll.as_raw_fd())?;
        let epoll = Rc::new(epoll);
        *self.epoll.borrow_mut() = Some(epoll.clone());
        Ok(epoll)
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
    fn unwatch(&self, key: u64, conn: &CmConn) {
        if let Some(epoll) = &*self.epoll.borrow() {
            epoll.remove(conn.fd());
        }
        self.remove(key);
    }

    fn find(&self, key: u64) -> Option<Rc<Socket>> {
        self.sockets.borrow().cloned(key)
    }
}

impl Worker {
    /// An endpoint to whoever listens at `remote`; `local`: where to connect from;
    /// `with_id`: the server is told our client id.
    ///
    /// # Errors
    /// As [`CmConn::connect`]. A server that refuses makes the endpoint fail later.
    pub fn connect_to(
        self: &Rc<Self>,
        remote: SocketAddr,
        local: Option<SocketAddr>,
        with_id: bool,
        options: EpOptions,
    ) -> Result<Rc<Endpoint>> {
        let conn = self.cm.next_conn();
        let ep = Endpoint::unwired(self, conn, options, &remote.to_string())?;
        let hello = Hello {
            conn,
            client_id: if with_id { self.client_id() } else { 0 },
        };
        match self.cm.connect(self, ep.token(), hello, remote, local) {
            Ok(local) => ep.set_sockaddrs(local, remote),
            Err(error) => {
                self.forget_endpoint(&ep);
                return Err(error);
            }
        }
        ep.set_owned(true);
        Ok(ep)
    }

    /// An endpoint to a client that asked for one.
    ///
    /// # Errors
    /// Those of endpoints by worker address; the client is refused with the same.
    pub fn accept_request(
        self: &Rc<Self>,
        request: ConnRequest,
        options: EpOptions,
    ) -> Result<Rc<Endpoint>> {
        let made = address::decode(request.address())
            .map_err(|problem| {
                crate::ucs_error!("refused a client's worker address: {problem}");
                problem.status()
            })
            .and_then(|address| {
                let conn = request.hello().conn;
                let peer = Origin {
                    worker: address.uuid,
                    conn,
                };
                Endpoint::create_for(self, &address, conn | SERVER, peer, options)
            });
        let ep = match made {
            Ok(ep) => ep,
            Err(error) => {
                request.refuse(error);
                return Err(error);
            }
        };
        if let Some((local, remote)) = request.addresses() {
            ep.set_sockaddrs(local, remote);
        }
        ep.set_owned(true);
        ep.list_stream();
        self.cm.accept(self, request)?;
        Ok(ep)
    }

    /// Moves connections by socket address on; returns the number of events.
    pub fn poll_sockaddr(&self) -> usize {
        let Some(epoll) = self.cm.epoll.borrow().clone() else {
            return 0;
        };
        let mut events = [Event::default(); EVENTS];
        let n = epoll.poll(&mut events);
        for event in events.iter().take(n) {
            // An earlier event may have removed it.
            if let Some(socket) = self.cm.find(event.key) {
                self.socket_ready(event.key, &socket);
            }
            if let Some((fd, interest)) = self.cm.find(event.key).and_then(|s| s.watch()) {
                let _ = epoll.modify(fd, interest, event.key);
            }
        }
        n
    }

    fn socket_ready(&self, key: u64, socket: &Socket) {
        match socket {
            Socket::Listener(listener, _) => self.take_clients(key, listener),
            Socket::Silent(place, listener, since) => {
                let Some(conn) = place.take() else { return };
                match conn.poll() {
                    Polled::Nothing if since.elapsed() < SILENCE => {
                        place.replace(Some(conn));
                    }
                    Polled::Frame(frame) if frame.kind == kind::HELLO => {
                        self.cm.unwatch(key, &conn);
                        self.client_says(conn, *listener, &frame.body);
                    }
                    _ => self.cm.remove(key),
                }
            }
            Socket::Answered(conn) => match conn.poll() {
                Polled::Nothing => {}
                _ => self.cm.remove(key),
            },
            Socket::Client(conn, token) => match conn.poll() {
                Polled::Nothing => {}
                Polled::Frame(frame) => {
                    self.cm.remove(key);
                    self.server_says(*token, &frame);
                }
                Polled::Failed(error) => {
                    self.cm.remove(key);
                    self.connect_failed(*token, error);
                }
            },
        }
    }

    fn take_clients(&self, key: u64, listener: &CmListener) {
        for _ in 0..EVENTS {
            let Some(conn) = listener.accept() else {
                return;
            };
            if self.cm.silent.get() >= MAX_SILENT {
                crate::ucs_diag!(
                    "{}: turned a client at {} away: {MAX_SILENT} others have not said who they are",
                    self.name(),
                    conn.peer()
                );
                continue;
            }
            let silent = Socket::Silent(RefCell::new(Some(conn)), key, Instant::now());
            if self.cm.insert(self, silent).is_ok() {
                self.cm.silent.set(self.cm.silent.get() + 1);
            }
        }
    }

    /// A client has said who it is: the user is told.
    fn client_says(&self, conn: CmConn, listener: u64, body: &[u8]) {
        let Some((hello, address)) = Hello::decode(body) else {
            crate::ucs_diag!("closed a connection with {}: malformed", conn.peer());
            return;
        };
        let request = ConnRequest::new(conn, hello, address);
        // Without its listener there is nobody to ask, and dropping the request refuses it.
        let Some(socket) = self.cm.find(listener) else {
            return;
        };
        let Socket::Listener(_, handler) = *socket else {
            return;
        };
        drop(socket);
        self.call_listener(handler, request);
    }

    #[allow(unsafe_code)]
    fn call_listener(&self, handler: Handler, request: ConnRequest) {
        match handler {
            Handler::Request(cb, arg) => {
                let request = Box::into_raw(Box::new(request));
                // SAFETY: the user gave function and argument for this call, and owns the request
                // from here on.
                unsafe { cb(request.cast(), arg) };
            }
            Handler::Accept(cb, arg) => {
                let Some(this) = self.this.upgrade() else {
                    return;
                };
                match this.accept_request(request, EpOptions::default()) {
                    // SAFETY: as above; the worker's table keeps the endpoint alive.
                    Ok(ep) => unsafe { cb(Rc::as_ptr(&ep).cast_mut().cast(), arg) },
                    Err(error) => crate::ucs_error!("a client could not be accepted: {error}"),
                }
            }
        }
    }

    /// The server has answered.
    fn server_says(&self, token: u64, frame: &Frame) {
        let Some(ep) = self.endpoint_by_token(token) else {
            return;
        };
        match frame.kind {
            kind::ACCEPT => match address::decode(&frame.body) {
                Ok(address) => {
                    let peer = Origin {
                        worker: address.uuid,
                        conn: ep.origin().conn | SERVER,
                    };
                    ep.wire(&address, peer);
                }
                Err(error) => {
                    crate::ucs_error!(
                        "{} sent a worker address that is refused: {error}",
                        ep.peer_name()
                    );
                    ep.fail(error.status());
                }
            },
            kind::REJECT => {
                let status = decode_reject(&frame.body).and_then(|s| Error::from_code(s.0));
                ep.fail(status.unwrap_or(Error::Rejected));
            }
            _ => ep.fail(Error::Rejected),
        }
    }

    fn connect_failed(&self, token: u64, error: Error) {
        if let Some(ep) = self.endpoint_by_token(token) {
            ep.fail(error);
        }
    }
}
