//! Connecting: one connection for both directions of an endpoint pair, whoever begins.
//!
//! The side that connects greets, and sends nothing more before the answer, so a connection that
//! turns out to be one too many can be closed without loss. When both connect at once, the
//! connection of the interface whose address is greater is used.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use socket2::{Domain, SockAddr, Socket, TcpKeepalive, Type};

use crate::sys::{epoll, net};
use crate::ucs::config::Ternary;
use crate::ucs::status::{Error, Result};
use crate::{ucs_debug, ucs_diag, ucs_error};

use super::addr::Routes;
use super::conn::{Conn, Incoming, State};
use super::iface::Shared;
use super::wire::{HELLO_LEN, Hello, HelloError, HelloKind, IfaceId, VERSION};

/// How long a crossed connection of the peer is awaited before trying ourselves again.
const CROSSED_WAIT: Duration = Duration::from_secs(5);

/// How long the peer's host may take to answer at all if there are other ways.
const HURRY: Duration = Duration::from_secs(3);

/// The longest pause between two attempts is this times 2^7.
const RETRY_PAUSE: Duration = Duration::from_millis(5);

/// A greeting, or the part of it that has come.
pub enum Greeting {
    Whole(Hello),
    Part,
    Bad(HelloError),
    End(Option<io::Error>),
}

/// Reads on in a greeting, not beyond its end.
pub fn read_greeting(fd: i32, incoming: &mut Incoming) -> Greeting {
    loop {
        let Some(space) = incoming.bytes.get_mut(incoming.len..) else {
            return Greeting::Bad(HelloError::Damaged);
        };
        match net::recv(fd, space) {
            Ok(0) => return Greeting::End(None),
            Ok(n) => incoming.len += n,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Greeting::Part,
            Err(error) => return Greeting::End(Some(error)),
        }
        if incoming.len == HELLO_LEN {
            return match Hello::decode(&incoming.bytes) {
                Ok(hello) => Greeting::Whole(hello),
                Err(error) => Greeting::Bad(error),
            };
        }
        if let Err(error) = Hello::plausible(incoming.bytes.get(..incoming.len).unwrap_or_default())
        {
            return Greeting::Bad(error);
        }
    }
}

/// A text for the log.
pub fn explain(error: HelloError) -> String {
    match error {
        HelloError::Foreign => "it does not speak this protocol".to_owned(),
        HelloError::Genuine => {
            "it speaks the protocol of OpenUCX, which is not compatible with ours".to_owned()
        }
        HelloError::Version(theirs) => {
            format!("it speaks version {theirs} of the protocol, this library speaks {VERSION}")
        }
        HelloError::Damaged => "its greeting is damaged".to_owned(),
    }
}

fn error_of(error: &io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::ETIMEDOUT) => Error::EndpointTimeout,
        Some(
            libc::ECONNREFUSED
            | libc::EHOSTUNREACH
            | libc::ENETUNREACH
            | libc::ENETDOWN
            | libc::EHOSTDOWN
            | libc::EADDRNOTAVAIL,
        ) => Error::Unreachable,
        Some(libc::EMFILE | libc::ENFILE | libc::EACCES | libc::EPERM) => Error::IoError,
        Some(libc::ENOMEM | libc::ENOBUFS) => Error::NoMemory,
        _ => Error::ConnectionReset,
    }
}

/// Bytes under way to a peer on this host, where nobody has set `UCX_TCP_SNDBUF`. What is sent is
/// read soon, so that the kernel's growing buffer (4 MiB) would only push it out of the cache:
/// measured, 1 MiB and 16 MiB messages take a fifth less time.
const LOCAL_SNDBUF: usize = 512 << 10;

impl Shared {
    /// The connection for a new endpoint: one that the peer has made for it, or a new one.
    pub fn claim_or_connect(&self, peer: IfaceId, token: u64) -> Result<Rc<Conn>> {
        if self.closed.get() {
            return Err(Error::NotConnected);
        }
        let to_self = peer == self.me;
        let sequence = {
            let mut next = self.next_sequence.borrow_mut();
            let next = next.entry(peer).or_insert(0);
            let sequence = *next;
            *next += 1;
            sequence
        };
        if let Some(conn) = self.table.borrow().get(peer, sequence) {
            conn.set_token(Some(token));
            return Ok(conn.clone());
        }
        let conn = Rc::new(Conn::new(peer, sequence, Some(token)));
        if !to_self {
            self.list(&conn);
        }
        if let Err(error) = self.dial(&conn) {
            self.unlist(&conn);
            conn.state.set(State::Closed);
            return Err(error);
        }
        Ok(conn)
    }

    pub fn list(&self, conn: &Rc<Conn>) {
        conn.listed.set(true);
        let before = self.table.borrow_mut().insert(conn.clone());
        drop(before);
    }

    pub fn unlist(&self, conn: &Conn) {
        if conn.listed.replace(false) {
            let removed = self.table.borrow_mut().remove(conn.peer, conn.sequence);
            drop(removed);
        }
    }

    fn socket_addr(&self, ip: IpAddr, port: u16) -> SockAddr {
        match ip {
            IpAddr::V6(ip) if ip.is_unicast_link_local() => {
                SocketAddr::from(SocketAddrV6::new(ip, port, 0, self.device.index)).into()
            }
            ip => SocketAddr::new(ip, port).into(),
        }
    }

    fn new_socket(&self, peer: IpAddr) -> Result<Socket> {
        let domain = if self.me.ip.is_ipv4() {
            Domain::IPV4
        } else {
            Domain::IPV6
        };
        let socket = Socket::new(domain, Type::STREAM.nonblocking().cloexec(), None);
        let socket = socket.map_err(|error| {
            ucs_error!("tcp: socket creation failed: {error}");
            Error::IoError
        })?;
        self.set_options(&socket, Some(peer));
        if let Some(count) = self.config.syn_cnt {
            let count = i32::try_from(count).unwrap_or(i32::MAX);
            let _ = net::set_option(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_SYNCNT,
                count,
            );
        }
        self.bind_source(&socket)?;
        Ok(socket)
    }

    /// Traffic of this interface is to leave by its device.
    fn bind_source(&self, socket: &Socket) -> Result<()> {
        let mode = self.config.bind_source;
        if mode == Ternary::No {
            return Ok(());
        }
        let (fd, on) = (socket.as_raw_fd(), 1);
        // A port per connection, not per source address.
        let _ = net::set_option(fd, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, on);
        match socket.bind(&self.socket_addr(self.me.ip, 0)) {
            Err(error) if mode == Ternary::Yes => {
                ucs_error!("tcp: binding to {} failed: {error}", self.me.ip);
                Err(Error::IoError)
            }
            _ => Ok(()),
        }
    }

    /// Options of every connection. None is needed for correctness, so failures are let pass.
    pub fn set_options(&self, socket: &Socket, peer: Option<IpAddr>) {
        let config = &self.config;
        let _ = socket.set_nodelay(config.nodelay);
        let local = |peer: IpAddr| peer.is_loopback() || self.routes.is_local(peer);
        let sndbuf = config
            .sndbuf
            .or_else(|| peer.is_some_and(local).then_some(LOCAL_SNDBUF));
        if let Some(size) = sndbuf {
            let _ = socket.set_send_buffer_size(size);
        }
        if let Some(size) = config.rcvbuf {
            let _ = socket.set_recv_buffer_size(size);
        }
        if config.user_timeout.is_some() {
            let _ = socket.set_tcp_user_timeout(config.user_timeout);
        }
        if self.params.err_handling {
            self.keep_alive(socket);
        }
    }

    /// The kernel asks the peer's host whether it is there when nothing has been heard for long.
    pub fn keep_alive(&self, socket: &Socket) {
        let config = &self.config;
        let (Some(idle), Some(interval)) = (config.keepidle, config.keepintvl) else {
            return;
        };
        let second = Duration::from_secs(1);
        let mut alive = TcpKeepalive::new()
            .with_time(idle.max(second))
            .with_interval(interval.max(second));
        if let Some(count) = config.keepcnt {
            alive = alive.with_retries(count.clamp(1, 127));
        }
        let _ = socket.set_tcp_keepalive(&alive);
    }

    /// Starts connecting. An error is one of this side; the peer's are told later.
    pub fn dial(&self, conn: &Rc<Conn>) -> Result<()> {
        let socket = self.new_socket(conn.peer.ip)?;
        conn.state.set(State::Connecting);
        conn.with_setup(|setup| setup.answer.len = 0);
        let target = self.socket_addr(conn.peer.ip, conn.peer.port);
        match socket.connect(&target) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
            Err(error) => {
                self.connect_failed(conn, error);
                return Ok(());
            }
        }
        self.attach(conn, socket, epoll::OUT)?;
        // On the same host the connection exists by now.
        self.greet(conn);
        Ok(())
    }

    /// Tries again; what prevents it fails the connection.
    pub fn dial_again(&self, conn: &Rc<Conn>) {
        if let Err(error) = self.dial(conn) {
            self.fail(conn, error);
        }
    }

    /// `connect` has ended, well or not.
    pub fn connected(&self, conn: &Rc<Conn>) {
        let Some(error) = conn.with_socket(|socket| socket.take_error()) else {
            return;
        };
        match error {
            Ok(None) => self.greet(conn),
            Ok(Some(error)) | Err(error) => self.connect_failed(conn, error),
        }
    }

    fn hello(&self, kind: HelloKind, target: u32, sequence: u64) -> Hello {
        Hello {
            kind,
            sender: self.me,
            target,
            sequence,
            worker: self.params.worker_uid,
            max_message: self.max_message(),
        }
    }

    fn max_message(&self) -> u32 {
        u32::try_from(self.config.tx_seg_size).unwrap_or(u32::MAX)
    }

    fn greet(&self, conn: &Rc<Conn>) {
        let hello = self.hello(HelloKind::Connect, conn.peer.id, conn.sequence);
        match net::send(conn.fd.get(), &hello.encode()) {
            Ok(HELLO_LEN) => {
                conn.state.set(State::Greeting);
                conn.want_write.set(false);
                if let Err(error) = self.epoll.modify(conn.fd.get(), epoll::IN, conn.key.get()) {
                    self.connect_failed(conn, error);
                }
            }
            // Not connected yet.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::NotConnected
                ) => {}
            Ok(_) => self.connect_failed(conn, ErrorKind::WriteZero.into()),
            Err(error) => self.connect_failed(conn, error),
        }
    }

    /// The answer to our greeting.
    pub fn read_answer(&self, conn: &Rc<Conn>) {
        let greeting = conn.with_setup(|setup| read_greeting(conn.fd.get(), &mut setup.answer));
        match greeting {
            Greeting::Part => {}
            Greeting::Whole(hello) => self.answered(conn, &hello),
            Greeting::Bad(error) => {
                ucs_diag!("{conn}: refusing the peer: {}", explain(error));
                self.fail(conn, Error::Unreachable);
            }
            Greeting::End(error) => {
                let error = error.unwrap_or_else(|| ErrorKind::ConnectionReset.into());
                self.connect_failed(conn, error);
            }
        }
    }

    fn answered(&self, conn: &Rc<Conn>, hello: &Hello) {
        match hello.kind {
            HelloKind::Accept if hello.target == self.me.id => {
                self.up(conn, hello.max_message);
            }
            HelloKind::Crossed => {
                self.detach(conn);
                conn.state.set(State::WaitPeer);
                self.wait(conn, CROSSED_WAIT);
            }
            HelloKind::Busy => self.connect_failed(conn, ErrorKind::ConnectionAborted.into()),
            HelloKind::WrongVersion => {
                ucs_diag!("{conn}: {}", explain(HelloError::Version(0)));
                self.fail(conn, Error::Unreachable);
            }
            HelloKind::WrongTarget | HelloKind::Accept | HelloKind::Connect => {
                ucs_diag!("{conn}: the peer's interface is gone");
                self.fail(conn, Error::ConnectionReset);
            }
        }
    }

    fn wait(&self, conn: &Rc<Conn>, pause: Duration) {
        let at = Instant::now() + pause;
        conn.with_setup(|setup| setup.deadline = Some(at));
        self.waiting.borrow_mut().push(conn.clone());
        self.wake_at(at);
    }

    /// As `Ep::hurry`.
    pub fn hurry(&self, conn: &Rc<Conn>) {
        if conn.state.get() == State::Connecting {
            self.wait(conn, HURRY);
        }
    }

    /// An attempt has failed: another one, after a pause, unless there is no hope.
    pub fn connect_failed(&self, conn: &Rc<Conn>, error: io::Error) {
        self.detach(conn);
        let retries = conn.with_setup(|setup| setup.retries);
        let status = error_of(&error);
        let hopeless = matches!(status, Error::Unreachable | Error::EndpointTimeout);
        if hopeless || retries >= self.config.max_conn_retries {
            ucs_diag!("{conn} failed after {} attempts: {error}", retries + 1);
            self.fail(conn, status);
            return;
        }
        ucs_debug!("{conn}: attempt {} failed: {error}", retries + 1);
        conn.with_setup(|setup| setup.retries = retries + 1);
        conn.state.set(State::Backoff);
        self.wait(conn, RETRY_PAUSE * (1 << retries.min(7)));
    }

    /// Both sides know each other: messages may go.
    pub fn up(&self, conn: &Rc<Conn>, max_message: u32) {
        conn.state.set(State::Up);
        conn.end_setup();
        conn.peer_closed.set(false);
        conn.max_message.set(max_message);
        ucs_debug!("{conn} is up");
        self.flush_queue(conn);
    }

    /// A peer's greeting has come on `socket`: the decision what becomes of it.
    pub fn greeted(&self, socket: Socket, hello: &Hello) {
        let answer = |kind| {
            let hello = self.hello(kind, hello.sender.id, hello.sequence);
            matches!(
                net::send(socket.as_raw_fd(), &hello.encode()),
                Ok(HELLO_LEN)
            )
        };
        if hello.kind != HelloKind::Connect || hello.target != self.me.id {
            ucs_diag!(
                "tcp: a connection from {} is meant for another",
                hello.sender.ip
            );
            answer(HelloKind::WrongTarget);
            return;
        }
        let known = self
            .table
            .borrow()
            .get(hello.sender, hello.sequence)
            .cloned();
        let fresh = known.is_none();
        let conn = match known {
            Some(conn) if conn.adoptable() => conn,
            Some(conn) if matches!(conn.state.get(), State::Connecting | State::Greeting) => {
                if self.me > hello.sender {
                    answer(HelloKind::Crossed);
                    return;
                }
                conn
            }
            Some(_) => {
                ucs_debug!("tcp: a second connection from {}", hello.sender.ip);
                answer(HelloKind::Busy);
                return;
            }
            None => {
                let conn = Rc::new(Conn::new(hello.sender, hello.sequence, None));
                if hello.sender != self.me {
                    self.list(&conn);
                }
                conn
            }
        };
        if !answer(HelloKind::Accept) {
            if fresh {
                self.unlist(&conn);
            }
            return;
        }
        self.detach(&conn);
        match self.attach(&conn, socket, epoll::IN) {
            Ok(()) => self.up(&conn, hello.max_message),
            Err(error) => self.fail(&conn, error),
        }
    }
}
