//! The server's side before its user decides: clients are accepted and say who they are.

use core::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::sockets::Socket;
use crate::ucp::ep::EpOptions;
use crate::ucp::listener::{ConnRequest, Handler};
use crate::ucp::wire::sockaddr::{Hello, kind};
use crate::ucp::worker::Worker;
use crate::uct::tcp::cm::{Accepted, CmConn, CmListener, Polled};

/// Clients accepted at once.
const ACCEPTS: usize = 64;
/// Clients that may be connected without having said who they are.
const MAX_SILENT: usize = 512;
/// How long such a client may be silent when others wait for its place,
const SILENCE_IN_A_CROWD: Duration = Duration::from_secs(1);
/// and when not.
const SILENCE: Duration = Duration::from_secs(10);
/// How long to wait when no descriptor is left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

impl Worker {
    pub(super) fn take_clients(&self, key: u64, listener: &CmListener) {
        for _ in 0..ACCEPTS {
            if !self.has_place() {
                return;
            }
            match listener.accept() {
                Accepted::Conn(conn) => self.new_client(key, conn),
                Accepted::Nobody => return,
                Accepted::NoRoom => return self.pause_accepting(Instant::now() + ACCEPT_PAUSE),
            }
            // The user may have destroyed it.
            if self.cm.find(key).is_none() {
                return;
            }
        }
    }

    /// Whether another client may be accepted. When there are many silent ones, the oldest of
    /// them makes room, unless it is young; then those who wait do so in the kernel.
    fn has_place(&self) -> bool {
        if self.cm.silent.get() < MAX_SILENT {
            return true;
        }
        let Some((oldest, since)) = self.oldest_silent() else {
            return true;
        };
        if since.elapsed() < SILENCE_IN_A_CROWD {
            self.pause_accepting(since + SILENCE_IN_A_CROWD);
            return false;
        }
        crate::ucs_diag!(
            "{}: turned away a client that has not said who it is, as {MAX_SILENT} others",
            self.name()
        );
        self.cm.remove(oldest);
        true
    }

    fn oldest_silent(&self) -> Option<(u64, Instant)> {
        let mut order = self.cm.silent_order.borrow_mut();
        while let Some((key, since)) = order.front().copied() {
            if self.cm.find(key).is_some() {
                return Some((key, since));
            }
            order.pop_front();
        }
        None
    }

    /// Clients wait in the kernel for a while.
    fn pause_accepting(&self, until: Instant) {
        self.cm.watch_listeners(0);
        self.cm.paused.set(Some(until));
        self.cm.wake_at(until);
    }

    fn new_client(&self, listener: u64, conn: CmConn) {
        match conn.poll() {
            // Mostly it has spoken already.
            Polled::Frame(frame) if frame.kind == kind::HELLO => {
                self.client_says(conn, listener, &frame.body);
            }
            Polled::Frame(_) | Polled::Failed(_) => {}
            Polled::Nothing => {
                let silent = Socket::Silent(RefCell::new(Some(conn)), listener);
                if let Ok(key) = self.cm.insert(self, silent) {
                    let now = Instant::now();
                    self.cm.silent.set(self.cm.silent.get() + 1);
                    // Those that have gone don't pile up.
                    self.oldest_silent();
                    self.cm.silent_order.borrow_mut().push_back((key, now));
                    self.cm.wake_at(now + SILENCE);
                }
            }
        }
    }

    /// A silent client's socket is ready.
    pub(super) fn silent_ready(&self, key: u64, place: &RefCell<Option<CmConn>>, listener: u64) {
        let Some(conn) = place.take() else { return };
        match conn.poll() {
            Polled::Nothing => {
                place.replace(Some(conn));
            }
            Polled::Frame(frame) if frame.kind == kind::HELLO => {
                self.cm.unwatch(key, &conn);
                self.client_says(conn, listener, &frame.body);
            }
            _ => self.cm.remove(key),
        }
    }

    /// The timer has gone off.
    pub(super) fn sockaddr_timer(&self) {
        self.cm.timer_is_off();
        let now = Instant::now();
        while let Some((key, since)) = self.oldest_silent() {
            if now.saturating_duration_since(since) < SILENCE {
                self.cm.wake_at(since + SILENCE);
                break;
            }
            self.cm.remove(key);
        }
        self.cm.end_leaving(now);
        self.cm.dial_again(self, now);
        match self.cm.paused.get() {
            Some(until) if until <= now => self.cm.resume(),
            Some(until) => self.cm.wake_at(until),
            None => {}
        }
    }

    /// A client has said who it is: the user is told.
    fn client_says(&self, conn: CmConn, listener: u64, body: &[u8]) {
        let Some((hello, address)) = Hello::decode(body) else {
            crate::ucs_diag!("closed a connection with {}: malformed", conn.peer());
            return;
        };
        let request = ConnRequest::new(conn, hello, address);
        self.cm.keep(request.unanswered());
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
                let (_, client) = request.addresses();
                match this.accept_request(request, EpOptions::default(), None) {
                    // SAFETY: as above; the worker's table keeps the endpoint alive.
                    Ok(ep) => unsafe { cb(Rc::as_ptr(&ep).cast_mut().cast(), arg) },
                    Err(error) => {
                        crate::ucs_error!("client {client} could not be accepted: {error}")
                    }
                }
            }
        }
    }
}
