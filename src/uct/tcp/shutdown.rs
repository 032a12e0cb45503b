//! The end of an interface: what was accepted gets to the peers' kernels, within a bounded time.

use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::sys::net;
use crate::ucs_diag;

use super::conn::{Conn, State};
use super::iface::Shared;
use super::wire::Frame;

/// How long peers that take nothing can hold up the end.
const PATIENCE: Duration = Duration::from_secs(5);

impl Shared {
    /// Sends what waits and closes all. A socket that is closed while bytes are still coming in
    /// is reset by the kernel, and a reset destroys what the peer's kernel has not taken yet:
    /// so what comes in is read (and dropped) until our own bytes are acknowledged.
    pub fn shutdown(&self) {
        if self.closed.replace(true) {
            return;
        }
        self.accept();
        let deadline = Instant::now() + PATIENCE;
        let mut scratch = vec![0; 64 << 10];
        let mut pause = 0;
        loop {
            let left: Vec<(i32, bool)> = self
                .connections()
                .iter()
                .filter_map(|conn| self.wind_down(conn, &mut scratch))
                .collect();
            let waiting = self.waiting.borrow().iter().any(|conn| !conn.close_only());
            if left.is_empty() && !waiting {
                break;
            }
            if Instant::now() >= deadline {
                ucs_diag!(
                    "tcp: {} peers did not take all data within {PATIENCE:?} of the end",
                    left.len()
                );
                break;
            }
            // Acknowledgements aren't signalled, so look again soon.
            pause = (pause * 2).clamp(1, 16);
            net::poll(&left, pause);
            self.step_connecting();
        }
        self.listener.close();
        for conn in self.connections() {
            self.detach(&conn);
            conn.state.set(State::Closed);
        }
        self.table.borrow_mut().clear();
        self.waiting.borrow_mut().clear();
        self.broken.borrow_mut().clear();
        self.deferred.borrow_mut().clear();
        self.hot.take();
        self.sources.take();
        self.handshakes.take();
    }

    fn connections(&self) -> Vec<Rc<Conn>> {
        self.sources.borrow().values()
    }

    /// Connections under way with something to send go on.
    fn step_connecting(&self) {
        for conn in self.connections() {
            match conn.state.get() {
                State::Connecting => self.connected(&conn),
                State::Greeting => self.read_answer(&conn),
                _ => {}
            }
        }
        self.accept();
        let now = Instant::now();
        if self.deadline.get().is_some_and(|at| at <= now) {
            self.on_timer();
        }
    }

    /// One step; `None` when the connection may be closed. Else what to wait for.
    fn wind_down(&self, conn: &Rc<Conn>, scratch: &mut [u8]) -> Option<(i32, bool)> {
        let fd = conn.fd.get();
        match conn.state.get() {
            State::Connecting | State::Greeting => {
                if conn.close_only() {
                    // Nothing of value: the close follows the greeting, the peer reads both.
                    if conn.state.get() == State::Greeting {
                        let _ = net::send(fd, &Frame::Close.encode());
                    }
                    return None;
                }
                return Some((fd, conn.state.get() == State::Connecting));
            }
            State::Up if conn.send_error.get().is_none() => {}
            _ => return None,
        }
        let ended = loop {
            match net::recv(fd, scratch) {
                Ok(0) => break true,
                Ok(_) => {}
                Err(error) => break error.kind() != std::io::ErrorKind::WouldBlock,
            }
        };
        if !conn.close_queued.get() {
            conn.with_tx(|tx| tx.push_copied(&Frame::Close.encode()));
            conn.close_queued.set(true);
        }
        if !conn.tx_is_empty() {
            self.flush_queue(conn);
            let unsent = conn.fd.get() >= 0 && conn.send_error.get().is_none();
            if unsent && !conn.tx_is_empty() {
                return Some((fd, true));
            }
            if !unsent {
                return None;
            }
        }
        net::shutdown_write(fd);
        (!ended && net::unacknowledged(fd) > 0).then_some((fd, false))
    }
}
