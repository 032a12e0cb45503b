//! Connections by socket address that are being made, see [`crate::ucp::listener`].

mod clients;
mod sockets;

use core::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;

pub use sockets::SockaddrWireup;

use self::sockets::{Socket, TIMER};
use crate::sys::epoll::Event;
use crate::ucp::address;
use crate::ucp::ep::{Endpoint, EpOptions, ErrorMode};
use crate::ucp::listener::ConnRequest;
use crate::ucp::wire::Origin;
use crate::ucp::wire::sockaddr::{Hello, SERVER, decode_reject, encode_reject, kind};
use crate::ucp::worker::Worker;
use crate::ucs::status::{Error, Result};
use crate::uct::tcp::cm::{CmConn, Frame, Polled};

/// Events taken at once.
const EVENTS: usize = 32;

/// Sends a few bytes; that the other side has gone is found when it is read from.
fn say(conn: &CmConn, kind: u8, body: Vec<u8>) {
    let _ = conn.send(&Frame { kind, body });
}

impl Worker {
    /// An endpoint to whoever listens at `remote`; `local`: where to connect from;
    /// `with_id`: the server is told our client id.
    ///
    /// # Errors
    /// None for what has to do with the server or the network: the endpoint fails later, as in UCX.
    pub fn connect_to(
        self: &Rc<Self>,
        remote: SocketAddr,
        local: Option<SocketAddr>,
        with_id: bool,
        options: EpOptions,
    ) -> Result<Rc<Endpoint>> {
        let conn = self.cm.next_conn();
        let hello = Hello {
            conn,
            client_id: if with_id { self.client_id() } else { 0 },
            mode: options.mode,
        };
        let ep = Endpoint::unwired(self, conn, options, &remote.to_string())?;
        match self.cm.connect(self, ep.token(), hello, remote, local) {
            Ok(local) => ep.set_sockaddrs(local, remote),
            Err(error) => {
                ep.set_sockaddrs(local, remote);
                ep.fail(error);
            }
        }
        ep.set_owned(true);
        Ok(ep)
    }

    /// An endpoint to a client that asked for one. It has the client's error handling mode, and
    /// `mode` is what the user expects, if anything.
    ///
    /// # Errors
    /// Those of endpoints by worker address; `Unsupported` if the mode is another. The client is
    /// refused then.
    pub fn accept_request(
        self: &Rc<Self>,
        request: ConnRequest,
        options: EpOptions,
        mode: Option<ErrorMode>,
    ) -> Result<Rc<Endpoint>> {
        let made = self.endpoint_for(&request, options, mode);
        let ep = match made {
            Ok(ep) => ep,
            Err(error) => {
                request.refuse(Error::Rejected);
                return Err(error);
            }
        };
        let (local, remote) = request.addresses();
        ep.set_sockaddrs(local, remote);
        ep.set_owned(true);
        ep.list_stream();
        if let Err(error) = self.cm.accept(self, request, ep.token()) {
            self.forget_endpoint(&ep);
            return Err(error);
        }
        Ok(ep)
    }

    fn endpoint_for(
        self: &Rc<Self>,
        request: &ConnRequest,
        mut options: EpOptions,
        mode: Option<ErrorMode>,
    ) -> Result<Rc<Endpoint>> {
        let hello = request.hello();
        if mode.is_some_and(|mode| mode != hello.mode) {
            crate::ucs_error!(
                "the two ends of a connection must have the same error handling mode: that of the \
                 client {} is {:?}, the server's {:?}",
                request.addresses().1,
                hello.mode,
                mode.unwrap_or_default()
            );
            return Err(Error::Unsupported);
        }
        options.mode = hello.mode;
        let address = address::decode(request.address()).map_err(|problem| {
            let client = request.addresses().1;
            crate::ucs_error!("refused the worker address of client {client}: {problem}");
            problem.status()
        })?;
        let conn = hello.conn;
        let peer = Origin {
            worker: address.uuid,
            conn,
        };
        Endpoint::create_for(self, &address, conn | SERVER, peer, options)
    }

    /// Moves connections by socket address on; returns the number of events.
    pub fn poll_sockaddr(&self) -> usize {
        let Some(epoll) = self.cm.epoll.borrow().clone() else {
            return 0;
        };
        let mut events = [Event::default(); EVENTS];
        let n = epoll.poll(&mut events);
        for event in events.iter().take(n) {
            if event.key == TIMER {
                self.sockaddr_timer();
                continue;
            }
            // An earlier event may have removed it.
            let Some(socket) = self.cm.find(event.key) else {
                continue;
            };
            let before = socket.watch().map(|(_, interest)| interest);
            self.socket_ready(event.key, &socket);
            drop(socket);
            if let Some((fd, interest)) = self.cm.find(event.key).and_then(|s| s.watch())
                && before != Some(interest)
            {
                let _ = epoll.modify(fd, interest, event.key);
            }
        }
        n
    }

    fn socket_ready(&self, key: u64, socket: &Socket) {
        match socket {
            Socket::Listener(listener, _) => self.take_clients(key, listener),
            Socket::Silent(place, listener) => self.silent_ready(key, place, *listener),
            Socket::Answered(conn, token, knows) => {
                if !self.answered_client(conn, *token, knows) {
                    self.cm.remove(key);
                }
            }
            Socket::Client(conn, token, answered) => match conn.poll() {
                Polled::Nothing => {}
                Polled::Frame(frame) if frame.kind == kind::ACCEPT && !answered.get() => {
                    answered.set(true);
                    say(conn, kind::WIRED, Vec::new());
                    self.server_accepts(*token, &frame);
                }
                Polled::Frame(frame) if frame.kind == kind::END && answered.get() => {
                    self.cm.remove(key);
                }
                // It was closed before it knew that we know of it.
                Polled::Frame(_) if answered.get() => {
                    self.cm.remove(key);
                    if let Some(ep) = self.endpoint_by_token(*token) {
                        self.peer_closed(ep.peer_origin(), false, None);
                    }
                }
                Polled::Frame(frame) => {
                    self.cm.remove(key);
                    let status = decode_reject(&frame.body).and_then(|s| Error::from_code(s.0));
                    self.connect_failed(*token, status.unwrap_or(Error::Rejected));
                }
                Polled::Failed(error) => {
                    self.cm.remove(key);
                    // Who has gone without a word was perhaps no server.
                    let error = match error {
                        Error::ConnectionReset if !conn.has_heard() => Error::NotConnected,
                        error => error,
                    };
                    if !answered.get() {
                        self.connect_failed(*token, error);
                    }
                }
            },
        }
    }

    /// What a client that was accepted has to say. False at the end.
    fn answered_client(&self, conn: &CmConn, token: u64, knows: &Cell<bool>) -> bool {
        let polled = conn.poll();
        let ep = self.endpoint_by_token(token);
        match polled {
            Polled::Nothing => return true,
            Polled::Frame(frame) if frame.kind == kind::WIRED && !knows.replace(true) => {
                match ep {
                    Some(ep) => {
                        ep.client_knows();
                        say(conn, kind::END, Vec::new());
                    }
                    // Closed before the client knew of it.
                    None => {
                        let status = Error::ConnectionReset.into();
                        say(conn, kind::REJECT, encode_reject(status));
                    }
                }
                return true;
            }
            _ => {}
        }
        if let (Some(ep), false) = (ep, knows.get()) {
            ep.come_to_nothing(Error::ConnectionReset);
        }
        false
    }

    fn server_accepts(&self, token: u64, frame: &Frame) {
        let Some(ep) = self.endpoint_by_token(token) else {
            return;
        };
        match address::decode(&frame.body) {
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
        }
    }

    fn connect_failed(&self, token: u64, error: Error) {
        if let Some(ep) = self.endpoint_by_token(token) {
            ep.come_to_nothing(error);
        }
    }
}
