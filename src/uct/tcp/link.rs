//! Whether a connection still leads anywhere, for those who have another one.

use std::rc::Rc;

use crate::sys::netlink::LinkEvents;
use crate::sys::{epoll, net, netdev};
use crate::ucs::status::Error;
use crate::ucs_diag;
use crate::uct::Vitals;

use super::conn::{Conn, State};
use super::iface::{LINKS, Shared, Source};

impl Shared {
    /// As `Ep::watch`.
    pub fn watch_link(&self, conn: &Conn) {
        conn.watched.set(true);
        self.links.get_or_init(|| {
            let links = LinkEvents::new().and_then(|links| {
                self.epoll.add(links.as_raw_fd(), epoll::IN, LINKS)?;
                Ok(links)
            });
            links
                .inspect_err(|error| ucs_diag!("tcp: links can't be watched: {error}"))
                .ok()
        });
    }

    /// Some link of this host has changed.
    pub fn links_changed(&self) {
        if let Some(Some(links)) = self.links.get() {
            links.clear();
        }
        if netdev::is_running(&self.device.name) == Some(true) {
            return;
        }
        let sources = self.sources.borrow().values();
        let mut ended = 0;
        for source in sources {
            if let Source::Conn(conn) = source
                && conn.watched.get()
            {
                ended += 1;
                self.cut(&conn, Error::Unreachable);
            }
        }
        if ended > 0 {
            ucs_diag!(
                "tcp: link {} is down: {ended} connections end",
                self.device.name
            );
        }
    }

    /// As `Ep::cut`. What the peer's kernel knows to have arrived here is read before the end, or it
    /// would be lost without the peer's hearing of it.
    pub fn cut(&self, conn: &Rc<Conn>, error: Error) {
        match conn.state.get() {
            State::Failed(_) | State::Closed => {}
            State::Up => {
                if let Some(socket) = &*conn.socket.borrow() {
                    // What the kernel has not sent yet never goes, and the peer is told, if it can
                    // be.
                    let _ = socket.set_linger(Some(std::time::Duration::ZERO));
                }
                self.give_up(conn, error);
            }
            _ => self.fail(conn, error),
        }
    }

    /// As `Ep::vitals`.
    pub fn vitals(conn: &Conn) -> Option<Vitals> {
        if conn.state.get() != State::Up {
            return Some(Vitals {
                // It answered before it closed; what is sent now connects again.
                answered: conn.state.get() == State::Idle,
                ..Vitals::default()
            });
        }
        let info = net::tcp_info(conn.fd.get())?;
        Some(Vitals {
            up: true,
            answered: true,
            // A peer that does not read answers probes, too.
            unacked: info.unacked != 0 || info.probes != 0,
            acked: info.bytes_acked,
            retransmits: u32::from(info.retransmits.max(info.probes)),
        })
    }
}
