//! The listening socket, and connections that have not said who they are.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsRawFd, RawFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use crate::sys::netdev::NetAddr;
use crate::sys::{epoll, net};
use crate::ucs::status::{Error, Result};
use crate::{ucs_diag, ucs_error, ucs_warn};

use super::config::TcpConfig;
use super::conn::Incoming;
use super::connect::{Greeting, explain, read_greeting};
use super::iface::{HANDSHAKE, LISTENER, Shared};
use super::wire::{Hello, HelloError, HelloKind};

/// Connections accepted per event.
const ACCEPTS: usize = 64;
/// Connections that may be silent at the same time; the oldest makes room.
const MAX_SILENT: usize = 256;
/// How long a connection may be silent.
const SILENCE: Duration = Duration::from_secs(10);
/// How long to wait when no descriptor is left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

pub struct Listener {
    socket: RefCell<Option<Socket>>,
    fd: RawFd,
    resume_at: Cell<Option<Instant>>,
    failing: Cell<bool>,
    /// Keys of silent connections, oldest first.
    silent: RefCell<Vec<u64>>,
}

/// A connection whose greeting isn't complete.
pub struct Handshake {
    socket: RefCell<Option<Socket>>,
    fd: RawFd,
    key: Cell<u64>,
    incoming: RefCell<Incoming>,
    deadline: Instant,
    from: Option<IpAddr>,
}

fn bind(device: &NetAddr, port: u16, reuse: bool) -> io::Result<(Socket, u16)> {
    let addr = match device.ip {
        IpAddr::V6(ip) if ip.is_unicast_link_local() => {
            SocketAddr::from(SocketAddrV6::new(ip, port, 0, device.index))
        }
        ip => SocketAddr::new(ip, port),
    };
    let domain = if addr.is_ipv4() {
        Domain::IPV4
    } else {
        Domain::IPV6
    };
    let socket = Socket::new(domain, Type::STREAM.nonblocking().cloexec(), None)?;
    if reuse {
        // Connections of an earlier process that linger in the kernel don't hold a port.
        socket.set_reuse_address(true)?;
    }
    socket.bind(&addr.into())?;
    socket.listen(libc::SOMAXCONN)?;
    let port = socket
        .local_addr()?
        .as_socket()
        .map_or(0, |addr| addr.port());
    Ok((socket, port))
}

impl Listener {
    /// Listens on the device's address, and returns the port.
    pub fn open(device: &NetAddr, config: &TcpConfig) -> Result<(Listener, u16)> {
        let (socket, port) = match config.port_range {
            None => bind(device, 0, false).map_err(|error| {
                ucs_error!(
                    "tcp: listening on {} ({}) failed: {error}",
                    device.ip,
                    device.name
                );
                Error::IoError
            })?,
            Some(range) => Listener::open_in(device, range)?,
        };
        let listener = Listener {
            fd: socket.as_raw_fd(),
            socket: RefCell::new(Some(socket)),
            resume_at: Cell::new(None),
            failing: Cell::new(false),
            silent: RefCell::default(),
        };
        Ok((listener, port))
    }

    /// Takes any free port of the range, starting somewhere in it.
    fn open_in(device: &NetAddr, (first, last): (u16, u16)) -> Result<(Socket, u16)> {
        let count = u32::from(last - first) + 1;
        let start = super::random() as u32 % count;
        for i in 0..count {
            let port = u32::from(first) + (start + i) % count;
            let port = u16::try_from(port).unwrap_or(first);
            match bind(device, port, true) {
                Ok(bound) => return Ok(bound),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => {
                    ucs_error!(
                        "tcp: listening on {} port {port} failed: {error}",
                        device.ip
                    );
                    return Err(Error::IoError);
                }
            }
        }
        ucs_error!(
            "tcp: no free port for {} ({}) in UCX_TCP_PORT_RANGE={first}-{last}: all {count} are \
             in use",
            device.ip,
            device.name
        );
        Err(Error::Busy)
    }

    pub fn fd(&self) -> RawFd {
        self.fd
    }

    pub fn close(&self) {
        self.socket.take();
    }

    /// Listens again, when the pause after a failure is over.
    pub fn resume(&self, shared: &Shared, now: Instant) {
        match self.resume_at.get() {
            Some(at) if at <= now => {
                self.resume_at.set(None);
                if self.socket.borrow().is_some() {
                    let _ = shared.epoll.modify(self.fd, epoll::IN, LISTENER);
                }
            }
            Some(at) => shared.wake_at(at),
            None => {}
        }
    }

    /// No descriptor or memory for a new connection: it waits in the kernel. Listening goes on
    /// later, so that the lack neither spins nor ends it.
    fn pause(&self, shared: &Shared, error: &io::Error) {
        if !self.failing.replace(true) {
            ucs_warn!("tcp: accepting connections failed, trying again until it works: {error}");
        }
        let _ = shared.epoll.modify(self.fd, 0, LISTENER);
        let at = Instant::now() + ACCEPT_PAUSE;
        self.resume_at.set(Some(at));
        shared.wake_at(at);
    }
}

impl Shared {
    /// Accepts what has come. Returns the number of connections.
    pub fn accept(&self) -> usize {
        for count in 0..ACCEPTS {
            let accepted = match &*self.listener.socket.borrow() {
                Some(socket) => socket.accept(),
                None => return count,
            };
            match accepted {
                Ok((socket, from)) => {
                    self.listener.failing.set(false);
                    self.accepted(socket, from.as_socket().map(|addr| addr.ip()));
                }
                Err(error) => match error.raw_os_error() {
                    Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM) => {
                        self.listener.pause(self, &error);
                        return count;
                    }
                    // Errors of the connection that was to be accepted.
                    Some(libc::ECONNABORTED | libc::EINTR | libc::EPROTO) => {}
                    _ => return count,
                },
            }
        }
        ACCEPTS
    }

    fn accepted(&self, socket: Socket, from: Option<IpAddr>) {
        if socket.set_nonblocking(true).is_err() {
            return;
        }
        self.set_options(&socket, from);
        // Who only receives by it would never find out that the peer's host has gone.
        self.keep_alive(&socket);
        let handshake = Rc::new(Handshake {
            fd: socket.as_raw_fd(),
            socket: RefCell::new(Some(socket)),
            key: Cell::new(u64::MAX),
            incoming: RefCell::default(),
            deadline: Instant::now() + SILENCE,
            from,
        });
        // The greeting is mostly there already.
        if self.handshake_step(&handshake) {
            return;
        }
        let key = self.handshakes.borrow_mut().insert(handshake.clone());
        handshake.key.set(key);
        if let Err(error) = self.epoll.add(handshake.fd, epoll::IN, HANDSHAKE | key) {
            ucs_diag!("tcp: epoll_ctl failed: {error}");
            self.handshakes.borrow_mut().remove(key);
            return;
        }
        let oldest = {
            let mut silent = self.listener.silent.borrow_mut();
            silent.push(key);
            (silent.len() > MAX_SILENT)
                .then(|| silent.first().copied())
                .flatten()
        };
        if let Some(oldest) = oldest {
            self.end_handshake(oldest);
        }
        self.wake_at(handshake.deadline);
    }

    /// Takes a connection out of those that are silent.
    fn end_handshake(&self, key: u64) -> Option<Rc<Handshake>> {
        let handshake = self.handshakes.borrow_mut().remove(key);
        self.listener
            .silent
            .borrow_mut()
            .retain(|other| *other != key);
        if let Some(handshake) = &handshake {
            self.epoll.remove(handshake.fd);
        }
        handshake
    }

    pub fn read_handshake(&self, handshake: &Rc<Handshake>) {
        self.handshake_step(handshake);
    }

    /// Reads on; true when the connection has become something else, or nothing.
    fn handshake_step(&self, handshake: &Rc<Handshake>) -> bool {
        let greeting = read_greeting(handshake.fd, &mut handshake.incoming.borrow_mut());
        if let Greeting::Part = greeting {
            return false;
        }
        self.end_handshake(handshake.key.get());
        let Some(socket) = handshake.socket.take() else {
            return true;
        };
        match greeting {
            Greeting::Whole(hello) => self.greeted(socket, &hello),
            Greeting::Bad(error) => {
                self.refuse(&socket, handshake, error);
            }
            Greeting::End(_) | Greeting::Part => {}
        }
        true
    }

    fn refuse(&self, socket: &Socket, handshake: &Handshake, error: HelloError) {
        match handshake.from {
            Some(from) => ucs_diag!("tcp: refusing a connection from {from}: {}", explain(error)),
            None => ucs_diag!("tcp: refusing a connection: {}", explain(error)),
        }
        if let HelloError::Version(_) = error {
            // The start of a greeting is the same in all versions: the peer learns ours.
            let hello = Hello {
                kind: HelloKind::WrongVersion,
                sender: self.me,
                target: 0,
                sequence: 0,
                worker: 0,
                max_message: 0,
            };
            let _ = net::send(socket.as_raw_fd(), &hello.encode());
        }
    }

    pub fn expire_handshakes(&self, now: Instant) {
        let keys = self.listener.silent.borrow().clone();
        for key in keys {
            let handshake = self.handshakes.borrow().get(key);
            if let Some(handshake) = handshake {
                if handshake.deadline <= now {
                    self.end_handshake(key);
                } else {
                    // Oldest first: the rest is younger.
                    self.wake_at(handshake.deadline);
                    return;
                }
            }
        }
    }
}
