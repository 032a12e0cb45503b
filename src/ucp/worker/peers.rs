//! The endpoints of a worker, and how the two ends of a connection find each other.
//!
//! Endpoints between two workers are numbered on each side as they are created, and equal
//! numbers belong together. An endpoint that a peer has announced and the user has not made is
//! made then, and waits for the user to ask for it.

use std::rc::Rc;

use super::Worker;
use crate::ucp::address::WorkerAddress;
use crate::ucp::ep::{Endpoint, EpConfig, EpOptions, ErrorMode};
use crate::ucp::print::{Scope, used_transports};
use crate::ucp::select::Lanes;
use crate::ucp::wire::Origin;
use crate::ucp::wire::sockaddr::SERVER;
use crate::ucp::wire::wireup;
use crate::ucs::status::{Error, Result};
use crate::uct::DeviceKind;

/// In the numbers of endpoints to the own worker that don't lead back to themselves; they are counted apart.
const APART: u32 = 1 << 29;

impl Worker {
    /// An endpoint for the user.
    pub fn create_endpoint(
        self: &Rc<Self>,
        address: &WorkerAddress<'_>,
        options: EpOptions,
    ) -> Result<Rc<Endpoint>> {
        let mut conn = self
            .connections
            .borrow()
            .get(&address.uuid)
            .copied()
            .unwrap_or(0);
        let of = |conn| Origin {
            worker: address.uuid,
            conn,
        };
        while self.is_spent(of(conn)) {
            conn = conn.wrapping_add(1);
        }
        let peer = of(conn);
        let ep = self.give_endpoint(address, conn, peer, options)?;
        self.connections
            .borrow_mut()
            .insert(address.uuid, conn.wrapping_add(1));
        Ok(ep)
    }

    /// The peer has made its endpoint of this number already, and their link, or our end of it, has failed:
    /// no other takes its place on either side.
    fn is_spent(&self, peer: Origin) -> bool {
        let ours = || self.endpoint_of(peer).and_then(|ep| ep.failure());
        self.links.has_failed(peer) || self.links.find(peer).is_some() && ours().is_some()
    }

    /// The same, but to this very worker: it does not lead back to itself. Two of them, in the order
    /// in which they are made, are each other's ends (`UCP_EP_PARAMS_FLAGS_NO_LOOPBACK`).
    pub fn create_apart(
        self: &Rc<Self>,
        address: &WorkerAddress<'_>,
        options: EpOptions,
    ) -> Result<Rc<Endpoint>> {
        if address.uuid != self.uid() {
            return self.create_endpoint(address, options);
        }
        let number = self.apart.get();
        let conn = APART | number;
        let peer = Origin {
            worker: address.uuid,
            conn: self.answer_to(Origin {
                worker: address.uuid,
                conn,
            }),
        };
        let ep = self.give_endpoint(address, conn, peer, options)?;
        self.apart.set(number.wrapping_add(1) & (APART - 1));
        Ok(ep)
    }

    /// The endpoint `conn` here, which leads to `peer`, for the user.
    fn give_endpoint(
        self: &Rc<Self>,
        address: &WorkerAddress<'_>,
        conn: u32,
        peer: Origin,
        options: EpOptions,
    ) -> Result<Rc<Endpoint>> {
        let waiting = self.by_origin.get(peer);
        let ep = match waiting {
            Some(ep) if ep.failure().is_none() && ep.serves(&options) => {
                ep.set_options(options);
                ep
            }
            _ => Endpoint::create_for(self, address, conn, peer, options)?,
        };
        ep.set_owned(true);
        ep.list_stream();
        Ok(ep)
    }

    /// The number of the endpoint here that a peer's endpoint belongs to.
    fn answer_to(&self, origin: Origin) -> u32 {
        let apart = origin.worker == self.uid() && origin.conn & !(APART - 1) == APART;
        origin.conn ^ u32::from(apart)
    }

    /// The endpoint with this id in the worker's table.
    pub fn endpoint_by_token(&self, token: u64) -> Option<Rc<Endpoint>> {
        self.endpoints.borrow().get(token).cloned()
    }

    /// The endpoint of this number whose server has not answered yet.
    fn unwired_endpoint(&self, conn: u32) -> Option<Rc<Endpoint>> {
        let endpoints = self.endpoints.borrow();
        let mut all = endpoints.values();
        all.find(|ep| ep.origin().conn == conn && !ep.is_wired())
            .cloned()
    }

    /// The endpoint that leads back to a peer's endpoint.
    pub fn endpoint_of(&self, origin: Origin) -> Option<Rc<Endpoint>> {
        self.by_origin.get(origin)
    }

    /// What to call a peer in messages.
    pub(in crate::ucp) fn name_of(&self, origin: Origin) -> String {
        let worker = || format!("worker {:#x}", origin.worker);
        self.endpoint_of(origin)
            .map_or_else(worker, |ep| ep.peer_name())
    }

    /// A peer has announced its endpoint.
    pub fn peer_connected(&self, origin: Origin, address: &WorkerAddress<'_>) -> Result<()> {
        if let Some(ep) = self.endpoint_of(origin) {
            ep.peer_is_back();
            return Ok(());
        }
        let Some(this) = self.this.upgrade() else {
            return Ok(());
        };
        if origin.is_by_sockaddr() {
            // A server may speak before its answer has come by the other way.
            if let Some(ep) = self.unwired_endpoint(origin.conn & !SERVER) {
                ep.wire(address, origin);
            }
            return Ok(());
        }
        let conn = self.answer_to(origin);
        let ep = Endpoint::create_for_peer(&this, address, conn, origin, false)?;
        ep.peer_is_back();
        Ok(())
    }

    /// A peer's endpoint numbers its messages, and so does the one that answers it. One that is here
    /// already and doesn't will at least hear them once each.
    pub(in crate::ucp) fn peer_numbers(
        &self,
        origin: Origin,
        address: &WorkerAddress<'_>,
    ) -> Result<()> {
        let Some(this) = self.this.upgrade() else {
            return Ok(());
        };
        if origin.is_by_sockaddr() {
            self.peer_connected(origin, address)?;
        }
        if self.links.find(origin).is_some() {
            return Ok(());
        }
        match self.endpoint_of(origin) {
            Some(ep) => {
                ep.set_announced(true);
                ep.hear_numbers(address)
            }
            None => {
                let conn = self.answer_to(origin);
                Endpoint::create_for_peer(&this, address, conn, origin, true)?;
                Ok(())
            }
        }
    }

    /// A peer has closed its endpoint; `aborted`: what was in flight there was given up. It waits for
    /// an answer if it says where to send it.
    pub fn peer_closed(
        &self,
        origin: Origin,
        aborted: bool,
        answer_to: Option<&WorkerAddress<'_>>,
    ) {
        if let Some(link) = self.links.find(origin) {
            link.peer_has_closed();
        }
        // It may have sent them to an endpoint that is closed here.
        self.end_parts_from(origin, Error::ConnectionReset);
        self.mercy_of(origin);
        let ep = self.endpoint_of(origin);
        if origin.is_by_sockaddr() {
            return match ep.filter(|ep| ep.failure().is_none()) {
                Some(ep) => ep.over_with_peer(aborted, answer_to.is_some()),
                None => self.answer_for_none(origin, answer_to),
            };
        }
        // Between workers that know each other by their addresses, an orderly close concerns one side
        // only.
        let Some(ep) = ep else { return };
        ep.set_announced(false);
        ep.set_peer_stopped(true);
        if aborted && (ep.awaits_peer() || ep.awaits_bytes()) {
            return ep.fail_with_peer(Error::ConnectionReset);
        }
        if ep.is_lingering() {
            // The peer hears of that by our own word.
            return ep.go();
        }
        ep.peer_has_closed();
        if ep.is_owned() && aborted && ep.error_mode() != ErrorMode::None {
            ep.fail_with_peer(Error::ConnectionReset);
        }
        if ep.failure().is_none() && ep.awaits_peer() {
            // What has arrived there and is received later has to be answered.
            ep.announce();
        } else if ep.failure().is_none() && !aborted {
            ep.say_heard();
        }
        if !ep.is_held() {
            ep.drop_unowned();
        }
    }

    /// A peer knows that the endpoint here is closed.
    pub fn peer_has_heard(&self, origin: Origin) {
        if let Some(ep) = self.endpoint_of(origin).filter(|ep| ep.is_lingering()) {
            ep.go();
        }
    }

    /// One more endpoint lingers, or one less.
    pub(in crate::ucp) fn count_lingering(&self, more: bool) {
        let n = self.lingering.get();
        let n = match more {
            true => n + 1,
            false => n.saturating_sub(1),
        };
        self.lingering.set(n);
    }

    /// The end of a connection by socket address that could answer has failed, or is gone.
    fn answer_for_none(&self, origin: Origin, answer_to: Option<&WorkerAddress<'_>>) {
        let (Some(this), Some(address)) = (self.this.upgrade(), answer_to) else {
            return;
        };
        match Endpoint::create_to_answer(&this, address, origin.conn ^ SERVER, origin) {
            Ok(ep) => {
                ep.say_closed(wireup::Kind::Closed);
                ep.go();
            }
            Err(error) => {
                let name = address.peer_name();
                crate::ucs_diag!("{name} can't be told that its peer is closed: {error}");
            }
        }
    }

    /// A peer's endpoint is being closed in order; `drained`: nothing that was sent to it will be
    /// received any more.
    pub fn peer_closing(&self, origin: Origin, drained: bool) {
        let by_sockaddr = origin.is_by_sockaddr();
        let Some(ep) = self.endpoint_of(origin).filter(|_| by_sockaddr) else {
            return;
        };
        if ep.failure().is_some() {
            return;
        }
        ep.peer_is_closing();
        if drained {
            ep.peer_receives_no_more();
        }
    }

    pub(in crate::ucp) fn register_endpoint(
        &self,
        is_known: bool,
        make: impl FnOnce(u64) -> Result<Rc<Endpoint>>,
    ) -> Result<Rc<Endpoint>> {
        let token = self.next_token.get() + 1;
        self.next_token.set(token);
        let ep = make(token)?;
        self.endpoints.borrow_mut().insert(token, ep.clone());
        if is_known {
            self.bind_origin(&ep);
        }
        self.watch_peer(&ep);
        Ok(ep)
    }

    /// Messages of its peer's endpoint, which is known, are for `ep`.
    pub(in crate::ucp) fn bind_origin(&self, ep: &Rc<Endpoint>) {
        self.by_origin.insert(ep.clone());
    }

    pub(in crate::ucp) fn forget_endpoint(&self, ep: &Rc<Endpoint>) {
        ep.lingers_no_more();
        let entry = self.endpoints.borrow_mut().remove(ep.token());
        drop(entry);
        self.unwatch_peer(ep);
        self.forget_one_sided(ep);
        if self.cm.is_active() {
            self.cm.forget_endpoint(ep.token());
        }
        let origin = ep.peer_origin();
        if let Some(link) = self.links.find(origin) {
            link.orphan(ep.token());
        }
        if let Some(word) = ep.last_word() {
            self.last_words.keep(word);
        }
        self.am.forget_origin(origin);
        self.by_origin.remove(ep);
    }

    /// The shared configuration for these lanes.
    pub(in crate::ucp) fn ep_config(
        &self,
        lanes: &Lanes,
        make: impl FnOnce() -> EpConfig,
    ) -> Rc<EpConfig> {
        let found = self
            .configs
            .borrow()
            .iter()
            .find(|c| c.lanes == *lanes)
            .cloned();
        found.unwrap_or_else(|| {
            let config = Rc::new(make());
            let index = self.configs.borrow().len();
            self.configs.borrow_mut().push(config.clone());
            let scope = Scope::of(&self.context, lanes);
            crate::ucs_info!("  {}", used_transports(&self.context, scope, index, lanes));
            config
        })
    }

    /// Number that the next new configuration gets.
    pub fn config_count(&self) -> usize {
        self.configs.borrow().len()
    }

    /// Number of a configuration among those of this worker.
    pub fn config_index(&self, config: &EpConfig) -> usize {
        let configs = self.configs.borrow();
        let mut all = configs.iter();
        all.position(|other| core::ptr::eq(&**other, config))
            .unwrap_or(configs.len())
    }

    /// Whether the interface only reaches this host.
    pub(in crate::ucp) fn is_intra_node(&self, local: u8) -> bool {
        let open = self.ifaces.get(usize::from(local));
        let rsc = open.and_then(|o| self.context.resources.get(usize::from(o.rsc_index)));
        rsc.is_some_and(|rsc| rsc.kind() != DeviceKind::Net)
    }

    pub(in crate::ucp) fn activate(&self, local: u8) {
        let index = usize::from(local);
        if !self.gated.iter().any(|(gated, _)| *gated == index) {
            self.poll_always(index);
        }
    }
}
