//! Whether a connection still leads anywhere, for those who have another one.

use std::rc::Rc;
use std::time::Instant;

use crate::sys::netlink::LinkEvents;
use crate::sys::{epoll, net, netdev};
use crate::ucs::status::{Error, Result};
use crate::ucs_diag;
use crate::uct::Vitals;

use super::conn::{Conn, State};
use super::iface::{LINKS, Shared};

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
        let conns = self.sources.borrow().values();
        let mut ended = 0;
        for conn in conns.iter().filter(|conn| conn.watched.get()) {
            ended += 1;
            self.cut(conn, Error::Unreachable);
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
                // What the kernel has not sent yet never goes, and the peer is told, if it can be.
                let zero = Some(std::time::Duration::ZERO);
                let _ = conn.with_socket(|socket| socket.set_linger(zero));
                self.give_up(conn, error);
            }
            _ => self.fail(conn, error),
        }
    }

    /// As `Ep::check_host`. The kernel looks after what is silent. What it has sent and nobody
    /// acknowledges it goes on sending for a quarter of an hour, so that is looked at here.
    pub fn check_host(&self, conn: &Conn) -> Result<()> {
        let (State::Up, Some(longest)) = (conn.state.get(), self.config.longest_silence()) else {
            return Ok(());
        };
        if !conn.kept_alive.replace(true) {
            conn.with_socket(|socket| self.keep_alive(socket));
        }
        let Some(vitals) = Shared::vitals(conn) else {
            return Ok(());
        };
        let stall = conn.take_stall();
        if !vitals.unacked {
            return Ok(());
        }
        let mut stall = stall.unwrap_or_default();
        let stuck = stall.look(vitals, Instant::now());
        conn.set_stall(stall);
        if stuck < longest {
            return Ok(());
        }
        ucs_diag!("{conn}: the peer's host has not answered for {stuck:?}");
        Err(Error::EndpointTimeout)
    }

    /// As `Ep::vitals`.
    pub fn vitals(conn: &Conn) -> Option<Vitals> {
        let state = conn.state.get();
        if !matches!(state, State::Up | State::Greeting) {
            return Some(Vitals {
                // It answered before it closed; what is sent now connects again.
                answered: state == State::Idle,
                ..Vitals::default()
            });
        }
        let info = net::tcp_info(conn.fd.get())?;
        let up = state == State::Up;
        // A peer that does not read answers probes, too.
        let unacked = info.unacked != 0 || info.probes != 0;
        Some(Vitals {
            up,
            answered: up,
            reached: !unacked,
            unacked,
            acked: info.bytes_acked,
            retransmits: u32::from(info.retransmits.max(info.probes)),
        })
    }
}
