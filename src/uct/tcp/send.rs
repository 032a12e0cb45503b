//! Sending, and how a connection ends.

use std::io::{self, ErrorKind};
use std::rc::Rc;

use smallvec::SmallVec;

use crate::sys::epoll;
use crate::sys::net::{self, io_slice};
use crate::ucs::status::{Error, Result};
use crate::uct::{IoVec, Post, Which};
use crate::{ucs_debug, ucs_diag};

use super::conn::{Conn, State};
use super::iface::{Deferred, Shared};
use super::io as tcp_io;
use super::tx::{MAX_PARTS, Parts};
use super::wire::Frame;

/// Gathering sends per call and connection, so that one can't starve the others.
const SENDS: usize = 16;

/// Passing failures: the socket will take more later.
fn passing(error: &io::Error) -> bool {
    error.kind() == ErrorKind::WouldBlock
        || matches!(error.raw_os_error(), Some(libc::ENOBUFS | libc::ENOMEM))
}

impl Shared {
    /// Copied bytes that may wait per connection.
    fn limit(&self) -> usize {
        (4 * self.config.tx_seg_size).max(64 << 10)
    }

    /// Whether a message would be accepted now. Wakes up a connection that the peer has closed.
    pub fn room(&self, conn: &Rc<Conn>) -> Result<bool> {
        if conn.ready.get() {
            return Ok(true);
        }
        if conn.send_error.get().is_some() && conn.state.get() == State::Up {
            // The endpoint is told by progress. Were every send refused until then, a program that
            // progresses only while something is pending would never hear of it.
            return Ok(false);
        }
        match conn.state.get() {
            State::Failed(error) => return Err(error),
            State::Closed => return Err(Error::NotConnected),
            State::Idle => self.dial(conn)?,
            _ => {}
        }
        Ok(conn.with_tx(|tx| tx.has_room(self.limit())))
    }

    /// Sends a frame that lies in our memory. The caller has asked for [`Shared::room`].
    pub fn send_frame(&self, conn: &Rc<Conn>, frame: &[u8]) -> Result<Post> {
        let mut rest = frame;
        if conn.ready.get() {
            match net::send(conn.fd.get(), frame) {
                Ok(n) if n == frame.len() => return Ok(Post::Done),
                Ok(n) => rest = frame.get(n..).unwrap_or_default(),
                Err(error) if passing(&error) => {}
                Err(error) => return Err(self.broke(conn, &error)),
            }
            self.wait_writable(conn);
        }
        conn.with_tx(|tx| tx.push_copied(rest));
        Ok(Post::Done)
    }

    /// Sends `head` (ours) and `body` (readable during the call only).
    pub fn send_gathered(&self, conn: &Rc<Conn>, head: &[u8], body: &[u8]) -> Result<Post> {
        let mut sent = 0;
        if conn.ready.get() {
            let parts = [
                io_slice(head.as_ptr(), head.len()),
                io_slice(body.as_ptr(), body.len()),
            ];
            match tcp_io::send_vector(conn.fd.get(), &parts) {
                Ok(n) if n == head.len() + body.len() => return Ok(Post::Done),
                Ok(n) => sent = n,
                Err(error) if passing(&error) => {}
                Err(error) => return Err(self.broke(conn, &error)),
            }
            self.wait_writable(conn);
        }
        conn.with_tx(|tx| {
            tx.push_copied(head.get(sent..).unwrap_or_default());
            let rest = body.get(sent.saturating_sub(head.len())..);
            tx.push_copied(rest.unwrap_or_default());
        });
        Ok(Post::Done)
    }

    /// Sends `head` (copied if it must wait) and `iov` from where it lies.
    pub fn send_in_place(
        &self,
        conn: &Rc<Conn>,
        head: &[u8],
        iov: &[IoVec],
        token: u64,
    ) -> Result<Post> {
        let total = head.len() + iov.iter().map(|part| part.len).sum::<usize>();
        let mut sent = 0;
        if conn.ready.get() {
            let mut parts = Parts::new();
            parts.push(io_slice(head.as_ptr(), head.len()));
            parts.extend(
                iov.iter()
                    .take(MAX_PARTS - 1)
                    .map(|part| io_slice(part.ptr, part.len)),
            );
            match tcp_io::send_vector(conn.fd.get(), &parts) {
                Ok(n) if n == total => return Ok(Post::Done),
                Ok(n) => sent = n,
                Err(error) if passing(&error) => {}
                Err(error) => return Err(self.broke(conn, &error)),
            }
            self.wait_writable(conn);
        }
        conn.with_tx(|tx| {
            tx.push_copied(head.get(sent..).unwrap_or_default());
            tx.push_in_place(iov, sent.saturating_sub(head.len()), token);
        });
        Ok(Post::Pending)
    }

    /// As `Ep::let_go`. A frame that has begun has to be sent to its end, so what waits in place is
    /// copied; if that is too much, the connection ends.
    pub fn let_go(&self, conn: &Rc<Conn>, which: Which) -> bool {
        const MOST: usize = 64 << 20;
        let mut found = conn.puts_so_far().is_some_and(|puts| puts.let_go(which));
        let too_much = conn.with_tx(|tx| {
            let too_much = tx.in_place_bytes(which) > MOST;
            // After a failure nothing more is sent.
            let send = !too_much && conn.send_error.get().is_none();
            found |= tx.let_go(which, send);
            too_much
        });
        if too_much {
            self.fail(conn, Error::Canceled);
        }
        found
    }

    /// As `Ep::flush`.
    pub fn flush_conn(&self, conn: &Rc<Conn>, token: u64) -> Result<Post> {
        if let Some(error) = conn.send_error.get() {
            return Err(error);
        }
        if let State::Failed(error) = conn.state.get() {
            return Err(error);
        }
        if let Some(puts) = conn.puts_so_far()
            && puts.outstanding()
            && !conn.peer_closed.get()
        {
            puts.wait(token);
            return Ok(Post::Pending);
        }
        if conn.tx_is_empty() {
            return Ok(Post::Done);
        }
        conn.with_tx(|tx| tx.push_flush(token));
        Ok(Post::Pending)
    }

    /// The queue isn't empty any more.
    fn wait_writable(&self, conn: &Conn) {
        conn.ready.set(false);
        self.watch_write(conn, true);
    }

    fn watch_write(&self, conn: &Conn, on: bool) {
        if conn.want_write.replace(on) != on {
            let events = epoll::IN | if on { epoll::OUT } else { 0 };
            if let Err(error) = self.epoll.modify(conn.fd.get(), events, conn.key.get()) {
                ucs_diag!("{conn}: epoll_ctl failed: {error}");
            }
        }
    }

    /// Sends what waits, as far as the socket takes it.
    pub fn flush_queue(&self, conn: &Rc<Conn>) {
        for _ in 0..SENDS {
            let mut parts = Parts::new();
            conn.with_tx(|tx| tx.gather(&mut parts));
            let n = if parts.is_empty() {
                0
            } else {
                match tcp_io::send_vector(conn.fd.get(), &parts) {
                    Ok(n) => n,
                    Err(error) if passing(&error) => break,
                    Err(error) => {
                        self.broke(conn, &error);
                        return;
                    }
                }
            };
            let done = |token| self.defer(Deferred::Completed(token, Ok(())));
            conn.with_tx(|tx| tx.advance(n, done));
            if conn.tx_is_empty() {
                conn.ready.set(true);
                self.watch_write(conn, false);
                self.finish_close(conn);
                return;
            }
        }
        self.watch_write(conn, true);
    }

    /// Sending has failed. What the peer sent before is read first, by `progress`.
    fn broke(&self, conn: &Rc<Conn>, error: &io::Error) -> Error {
        ucs_debug!("{conn}: sending failed: {error}");
        let status = match error.raw_os_error() {
            Some(libc::ETIMEDOUT) => Error::EndpointTimeout,
            // The user's memory, not the connection; but the frame has begun.
            Some(libc::EFAULT) => Error::IoError,
            _ => Error::ConnectionReset,
        };
        self.give_up(conn, status);
        status
    }

    /// Nothing more is sent; what has come is read, then the connection fails with `error`.
    pub fn give_up(&self, conn: &Rc<Conn>, error: Error) {
        conn.ready.set(false);
        if conn.send_error.replace(Some(error)).is_none() {
            self.watch_write(conn, false);
            self.broken.borrow_mut().push((conn.clone(), 0));
            self.work.set(true);
        }
    }

    /// A connection that failed in sending has been read to its end.
    pub fn fail_broken(&self, conn: &Rc<Conn>) {
        if let (State::Up, Some(error)) = (conn.state.get(), conn.send_error.get()) {
            self.fail(conn, error);
        }
    }

    /// The endpoint is gone: tells the peer after the last message. Memory whose end nobody is told of
    /// is its owner's again, who knows of no other time.
    pub fn release(&self, conn: &Rc<Conn>) {
        conn.set_token(None);
        self.let_go(conn, Which::One(0));
        match conn.state.get() {
            State::Closed => {}
            State::Failed(_) | State::Idle => {
                self.unlist(conn);
                conn.state.set(State::Closed);
            }
            _ => self.queue_close(conn),
        }
    }

    fn queue_close(&self, conn: &Rc<Conn>) {
        if conn.close_queued.replace(true) {
            return;
        }
        // A failure is noted like any other; nobody waits for the close.
        let _ = self.send_frame(conn, &Frame::Close.encode());
        // Nothing may follow.
        conn.ready.set(false);
        self.finish_close(conn);
    }

    /// The peer's close frame has come.
    pub fn peer_closes(&self, conn: &Rc<Conn>) {
        conn.peer_closed.set(true);
        // It has read all before that, and tells no more.
        if let Some(puts) = conn.puts_so_far() {
            self.puts_written(conn, puts.posted.get());
        }
        if conn.token().is_none() {
            // No endpoint here, and none will be needed for this one.
            self.unlist(conn);
            self.queue_close(conn);
        }
    }

    /// Closes the socket when both sides have closed and all is sent: nothing is under way then.
    pub fn finish_close(&self, conn: &Rc<Conn>) {
        if conn.state.get() == State::Up
            && conn.close_queued.get()
            && conn.peer_closed.get()
            && conn.tx_is_empty()
        {
            ucs_debug!("{conn} is closed by both sides");
            self.close(conn);
        }
    }

    fn close(&self, conn: &Rc<Conn>) {
        self.detach(conn);
        self.unlist(conn);
        conn.state.set(State::Closed);
    }

    /// End of stream or an error in reading; `boundary`: not in the middle of a frame.
    pub fn peer_gone(&self, conn: &Rc<Conn>, error: Option<io::Error>, boundary: bool) {
        let graceful = conn.peer_closed.get()
            && boundary
            && conn.send_error.get().is_none()
            && conn.close_only();
        if graceful {
            if conn.token().is_some() {
                self.detach(conn);
                conn.state.set(State::Idle);
                self.defer(Deferred::Left(conn.clone()));
            } else {
                self.close(conn);
            }
            return;
        }
        match &error {
            Some(error) => ucs_debug!("{conn}: receiving failed: {error}"),
            None => ucs_debug!("{conn}: the peer has gone"),
        }
        let status = match error.and_then(|error| error.raw_os_error()) {
            Some(libc::ETIMEDOUT) => Error::EndpointTimeout,
            _ => Error::ConnectionReset,
        };
        self.fail(conn, status);
    }

    /// The connection is of no use any more: ends what waits, and tells the endpoint.
    pub fn fail(&self, conn: &Rc<Conn>, error: Error) {
        self.detach(conn);
        self.unlist(conn);
        if matches!(conn.state.get(), State::Failed(_) | State::Closed) {
            return;
        }
        conn.end_setup();
        let mut tokens: SmallVec<[u64; 8]> = SmallVec::new();
        conn.with_tx(|tx| tx.clear(|token| tokens.push(token)));
        if let Some(puts) = conn.puts_so_far() {
            tokens.extend(puts.flushes.take().into_iter().map(|(_, token)| token));
        }
        for token in tokens {
            self.defer(Deferred::Completed(token, Err(error)));
        }
        if conn.token().is_some() {
            ucs_diag!("{conn} failed: {error}");
            conn.state.set(State::Failed(error));
            self.defer(Deferred::Failed(conn.clone(), error));
        } else {
            conn.state.set(State::Closed);
        }
    }
}
