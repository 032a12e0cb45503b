//! Puts: which ones the peer has written, so that a flush can wait for them.

use std::rc::Rc;

use super::conn::{Conn, Puts};
use super::iface::{Deferred, Shared};
use super::wire::Frame;
use crate::uct::Which;

impl Puts {
    /// One was posted here.
    pub fn posted(&self) {
        self.posted.set(self.posted.get().wrapping_add(1));
    }

    /// One of the peer's was written here.
    pub fn arrived(&self) {
        self.received.set(self.received.get().wrapping_add(1));
    }

    pub fn outstanding(&self) -> bool {
        self.posted.get() != self.written.get()
    }

    /// The flush with this token waits for all that were posted.
    pub fn wait(&self, token: u64) {
        let mut flushes = self.flushes.borrow_mut();
        flushes.push_back((self.posted.get(), token));
    }

    /// Flushes that wait are given up; false if there were none.
    pub fn let_go(&self, which: Which) -> bool {
        let mut flushes = self.flushes.borrow_mut();
        let before = flushes.len();
        flushes.retain(|(_, token)| !which.includes(*token));
        flushes.len() < before
    }

    /// The next flush for which `written` are enough.
    fn reached(&self) -> Option<u64> {
        let mut flushes = self.flushes.borrow_mut();
        let (wanted, token) = *flushes.front()?;
        // Numbers go round; what is wanted lies less than half a round ahead.
        if wanted.wrapping_sub(self.written.get()).cast_signed() > 0 {
            return None;
        }
        flushes.pop_front();
        Some(token)
    }
}

impl Shared {
    /// Tells the peer how many of its puts are written.
    #[cold]
    pub fn tell_puts(&self, conn: &Rc<Conn>) {
        let puts = conn.puts();
        let count = puts.received.get();
        puts.told.set(count);
        if !conn.close_queued.get() && conn.fd.get() >= 0 {
            // A failure is noted like any other.
            let _ = self.send_frame(conn, &Frame::PutDone { count }.encode());
        }
    }

    /// The peer has written `count` puts, all in all.
    pub fn puts_written(&self, conn: &Rc<Conn>, count: u32) {
        let puts = conn.puts();
        puts.written.set(count);
        while let Some(token) = puts.reached() {
            if conn.tx_is_empty() {
                self.defer(Deferred::Completed(token, Ok(())));
            } else {
                conn.with_tx(|tx| tx.push_flush(token));
            }
        }
    }
}
