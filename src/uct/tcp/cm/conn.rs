//! One connection of the connection manager.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};

use socket2::{Domain, Socket, Type};

use super::CmSettings;
use super::frame::{self, Bad, Frame};
use crate::sys::net;
use crate::ucs::status::{Error, Result};

/// Bytes read at once.
const CHUNK: usize = 4096;

/// A connection, from either side.
pub struct CmConn {
    socket: Socket,
    peer: SocketAddr,
    connecting: Cell<bool>,
    /// Why there is no connection; the kernel tells it once only.
    failed: Cell<Option<Error>>,
    received: RefCell<Vec<u8>>,
    /// Anything has come from the other side.
    heard: Cell<bool>,
    to_send: RefCell<Vec<u8>>,
}

/// What has happened on a connection.
#[derive(Debug)]
pub enum Polled {
    Nothing,
    Frame(Frame),
    /// It is over. `NotConnected`: nobody listens there; `ConnectionReset`: the other side has gone.
    Failed(Error),
}

/// The status for a connection that did not come about.
pub fn connect_error(error: &io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::ECONNREFUSED) => Error::NotConnected,
        Some(libc::ETIMEDOUT | libc::ENETUNREACH | libc::EHOSTUNREACH) => Error::Unreachable,
        _ => Error::IoError,
    }
}

impl CmConn {
    /// Begins to connect to `peer`, from `local` if given.
    ///
    /// # Errors
    /// After a message: `Unreachable` for what the kernel refuses at once, `IoError` if there is no
    /// socket, or none at `local`.
    pub fn connect(
        peer: SocketAddr,
        local: Option<SocketAddr>,
        settings: &CmSettings,
    ) -> Result<CmConn> {
        let start = || -> core::result::Result<Socket, (Error, io::Error)> {
            let of_socket = |error| (Error::IoError, error);
            let ty = Type::STREAM.nonblocking().cloexec();
            let socket = Socket::new(Domain::for_address(peer), ty, None).map_err(of_socket)?;
            settings.apply(&socket);
            if let Some(local) = local {
                socket.set_reuse_address(true).map_err(of_socket)?;
                socket.bind(&local.into()).map_err(of_socket)?;
            }
            match socket.connect(&peer.into()) {
                Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => {
                    Err((Error::Unreachable, e))
                }
                _ => Ok(socket),
            }
        };
        let socket = start().map_err(|(status, error)| {
            crate::ucs_error!("tcp: connecting to {peer} failed: {error}");
            status
        })?;
        Ok(CmConn::new(socket, peer, true))
    }

    /// The same on a new socket: the first has had no answer, as when the listener's queue was
    /// full. The kernel asks again too, but after pauses that soon are very long.
    ///
    /// # Errors
    /// As [`CmConn::connect`].
    pub fn again(&self, settings: &CmSettings) -> Result<CmConn> {
        let conn = CmConn::connect(self.peer, None, settings)?;
        conn.to_send.swap(&self.to_send);
        Ok(conn)
    }

    pub(super) fn new(socket: Socket, peer: SocketAddr, connecting: bool) -> CmConn {
        CmConn {
            socket,
            peer,
            connecting: Cell::new(connecting),
            failed: Cell::new(None),
            received: RefCell::default(),
            heard: Cell::new(false),
            to_send: RefCell::default(),
        }
    }

    pub fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// This side's address, once connected.
    pub fn local(&self) -> Option<SocketAddr> {
        self.socket.local_addr().ok()?.as_socket()
    }

    /// Whether anything has come from the other side.
    pub fn has_heard(&self) -> bool {
        self.heard.get()
    }

    /// True until the connection is made.
    pub fn is_connecting(&self) -> bool {
        self.connecting.get()
    }

    /// True until it is known that the connection is made, or that it never will be. A failure is kept
    /// for [`CmConn::poll`].
    pub fn is_undecided(&self) -> bool {
        if self.connecting.get() && self.failed.get().is_none() {
            match self.socket.take_error() {
                Ok(Some(error)) | Err(error) => self.failed.set(Some(connect_error(&error))),
                Ok(None) => self.connecting.set(self.socket.peer_addr().is_err()),
            }
        }
        self.connecting.get() && self.failed.get().is_none()
    }

    /// True while it must also be watched for being writable.
    pub fn wants_to_write(&self) -> bool {
        self.connecting.get() || !self.to_send.borrow().is_empty()
    }

    /// Sends a frame, now or in [`CmConn::poll`].
    ///
    /// # Errors
    /// `ExceedsLimit` for a body that is too long.
    pub fn send(&self, frame: &Frame) -> Result<()> {
        let encoded = frame.encode(&mut self.to_send.borrow_mut());
        encoded.ok_or(Error::ExceedsLimit)?;
        if self.connecting.get() {
            // On the same host the connection exists by now, and this is one event less.
            let to_send = &mut *self.to_send.borrow_mut();
            match net::send(self.fd(), to_send) {
                Ok(n) => {
                    self.connecting.set(false);
                    to_send.drain(..n);
                }
                Err(e)
                    if matches!(
                        e.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::NotConnected
                    ) => {}
                Err(e) => self.failed.set(Some(connect_error(&e))),
            }
            return Ok(());
        }
        // A failure is told by the next poll.
        let _ = self.push_out();
        Ok(())
    }

    fn push_out(&self) -> io::Result<()> {
        let mut to_send = self.to_send.borrow_mut();
        while !self.connecting.get() && !to_send.is_empty() {
            match net::send(self.fd(), &to_send) {
                Ok(n) => drop(to_send.drain(..n)),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Moves on what can be moved, and tells what has arrived: one frame at a time.
    pub fn poll(&self) -> Polled {
        if self.is_undecided() {
            return Polled::Nothing;
        }
        if let Some(error) = self.failed.get() {
            return Polled::Failed(error);
        }
        if self.push_out().is_err() {
            return Polled::Failed(Error::ConnectionReset);
        }
        let end = self.read_in();
        match frame::take(&mut self.received.borrow_mut()) {
            Ok(Some(frame)) => Polled::Frame(frame),
            Ok(None) if end => Polled::Failed(Error::ConnectionReset),
            Ok(None) => Polled::Nothing,
            Err(bad) => {
                self.complain(bad);
                Polled::Failed(Error::Rejected)
            }
        }
    }

    /// Reads what is there; true at the end of the connection.
    fn read_in(&self) -> bool {
        let mut received = self.received.borrow_mut();
        let mut chunk = [0; CHUNK];
        while received.len() < frame::MAX_BODY + CHUNK {
            match net::recv(self.fd(), &mut chunk) {
                Ok(0) => return true,
                Ok(n) => {
                    self.heard.set(true);
                    received.extend_from_slice(chunk.get(..n).unwrap_or_default());
                }
                Err(e) => return e.kind() != io::ErrorKind::WouldBlock,
            }
        }
        false
    }

    fn complain(&self, bad: Bad) {
        let peer = self.peer;
        match bad {
            Bad::Foreign => crate::ucs_diag!(
                "tcp: closed a connection with {peer} that does not speak this library's protocol \
                 (OpenUCX does not)"
            ),
            Bad::Version(version) => {
                crate::ucs_error!(
                    "tcp: {peer} speaks version {version} of the protocol of connections, this \
                     library speaks version {}",
                    frame::VERSION
                );
                // A frame of no kind, by whose head the peer learns ours.
                let _ = self.send(&Frame {
                    kind: 0,
                    body: Vec::new(),
                });
            }
            Bad::Damaged => crate::ucs_diag!("tcp: closed a connection with {peer}: damaged bytes"),
        }
    }
}
