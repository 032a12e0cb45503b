//! A listening socket of the connection manager.

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};

use socket2::{Domain, Socket, Type};

use super::{CmConn, CmSettings};
use crate::ucs::status::{Error, Result};

/// See the module.
pub struct CmListener {
    socket: Socket,
    address: SocketAddr,
    settings: CmSettings,
    /// Accepting has failed, which has been said.
    failing: Cell<bool>,
}

/// What accepting came to.
pub enum Accepted {
    Conn(CmConn),
    /// Nobody waits.
    Nobody,
    /// This process has no descriptor or memory for another: the clients wait.
    NoRoom,
}

impl CmListener {
    /// Listens at `address`; port 0 takes a free one. `backlog`: connections that wait to be
    /// accepted, `None` for the system's limit.
    ///
    /// # Errors
    /// `Busy` if the address is in use, else `IoError`, after a message.
    pub fn open(
        address: SocketAddr,
        backlog: Option<usize>,
        settings: CmSettings,
    ) -> Result<CmListener> {
        let reuse = settings.reuse_addr;
        let start = || -> io::Result<Socket> {
            let ty = Type::STREAM.nonblocking().cloexec();
            let socket = Socket::new(Domain::for_address(address), ty, None)?;
            socket.set_reuse_address(reuse)?;
            socket.bind(&address.into())?;
            let backlog = backlog.and_then(|n| i32::try_from(n).ok());
            socket.listen(backlog.unwrap_or(libc::SOMAXCONN).max(1))?;
            Ok(socket)
        };
        let socket = start().map_err(|error| refuse(address, reuse, &error))?;
        let bound = socket.local_addr().ok().and_then(|a| a.as_socket());
        Ok(CmListener {
            socket,
            address: bound.unwrap_or(address),
            settings,
            failing: Cell::new(false),
        })
    }

    pub fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Where it listens, with the port that was chosen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The next connection, if one waits.
    pub fn accept(&self) -> Accepted {
        loop {
            match self
                .socket
                .accept4(libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK)
            {
                Ok((socket, peer)) => {
                    self.failing.set(false);
                    self.settings.apply(&socket);
                    // Without an address of the Internet there is nobody to connect to.
                    match peer.as_socket() {
                        Some(peer) => return Accepted::Conn(CmConn::new(socket, peer, false)),
                        None => continue,
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Accepted::Nobody,
                Err(e) if is_about_one_connection(&e) => continue,
                Err(e) => {
                    if !self.failing.replace(true) {
                        crate::ucs_error!(
                            "tcp: accepting connections at {} failed, trying again until it \
                             works: {e}",
                            self.address
                        );
                    }
                    return Accepted::NoRoom;
                }
            }
        }
    }
}

/// Errors of a connection that ended before it was accepted.
fn is_about_one_connection(error: &io::Error) -> bool {
    !matches!(
        error.raw_os_error(),
        Some(
            libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM | libc::EINVAL | libc::EBADF
        )
    )
}

fn refuse(address: SocketAddr, reuse: bool, error: &io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::EADDRINUSE) => {
            let hint = match reuse {
                true => "",
                false => {
                    " (connections of an earlier process may linger there: \
                          UCX_TCP_CM_REUSEADDR=y listens all the same)"
                }
            };
            crate::ucs_error!("tcp: listening at {address} failed: {error}{hint}");
            Error::Busy
        }
        _ => {
            crate::ucs_error!("tcp: listening at {address} failed: {error}");
            Error::IoError
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::{Frame, Polled};
    use super::*;
    use crate::ucs::config::Config;

    fn settings() -> CmSettings {
        CmSettings::read(&Config::default())
    }

    fn accepted(listener: &CmListener) -> Option<CmConn> {
        match listener.accept() {
            Accepted::Conn(conn) => Some(conn),
            _ => None,
        }
    }

    fn until<T>(mut f: impl FnMut() -> Option<T>) -> T {
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(value) = f() {
                return value;
            }
            assert!(Instant::now() < end, "nothing happens any more");
            std::thread::yield_now();
        }
    }

    fn frame_of(conn: &CmConn) -> Frame {
        until(|| match conn.poll() {
            Polled::Nothing => None,
            Polled::Frame(frame) => Some(frame),
            Polled::Failed(error) => panic!("{error:?}"),
        })
    }

    fn listener() -> CmListener {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        CmListener::open(address, None, settings()).expect("listens")
    }

    #[test]
    fn frames_go_both_ways() {
        let listener = listener();
        assert_ne!(listener.address().port(), 0);
        let client = CmConn::connect(listener.address(), None, &settings()).expect("connects");
        let hello = Frame {
            kind: 1,
            body: vec![7; 60_000],
        };
        client.send(&hello).expect("fits");
        let server = until(|| {
            client.poll();
            accepted(&listener)
        });
        let got = until(|| {
            client.poll();
            match server.poll() {
                Polled::Frame(frame) => Some(frame),
                _ => None,
            }
        });
        assert_eq!(got, hello);
        let answer = Frame {
            kind: 2,
            body: b"yes".to_vec(),
        };
        server.send(&answer).expect("fits");
        assert_eq!(frame_of(&client), answer);
        drop(server);
        let end = until(|| match client.poll() {
            Polled::Failed(error) => Some(error),
            _ => None,
        });
        assert_eq!(end, Error::ConnectionReset);
    }

    #[test]
    fn nobody_listening_is_told() {
        let address = listener().address();
        let client = CmConn::connect(address, None, &settings()).expect("begins");
        let end = until(|| match client.poll() {
            Polled::Failed(error) => Some(error),
            _ => None,
        });
        assert_eq!(end, Error::NotConnected);
    }

    #[test]
    fn strangers_are_turned_away() {
        use std::io::Write;
        let listener = listener();
        let mut stranger = std::net::TcpStream::connect(listener.address()).expect("connects");
        stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("sent");
        let server = until(|| accepted(&listener));
        let end = until(|| match server.poll() {
            Polled::Failed(error) => Some(error),
            _ => None,
        });
        assert_eq!(end, Error::Rejected);
    }

    #[test]
    fn another_version_learns_ours() {
        use std::io::{Read, Write};
        let listener = listener();
        let mut other = std::net::TcpStream::connect(listener.address()).expect("connects");
        other.write_all(b"UXCM\x07").expect("sent");
        let server = until(|| accepted(&listener));
        let end = until(|| match server.poll() {
            Polled::Failed(error) => Some(error),
            _ => None,
        });
        assert_eq!(end, Error::Rejected);
        drop(server);
        let mut answer = Vec::new();
        other.read_to_end(&mut answer).expect("an answer");
        assert_eq!(answer.get(..5), Some(&b"UXCM\x01"[..]));
    }

    #[test]
    fn a_second_listener_finds_the_address_busy() {
        let first = listener();
        let second = CmListener::open(first.address(), None, settings());
        assert_eq!(second.err(), Some(Error::Busy));
    }
}
