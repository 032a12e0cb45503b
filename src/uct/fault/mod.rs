//! Faults on purpose: a wrapper around any interface that makes its lanes fail as networks do, so
//! that users can test what their programs do then. In release builds too; where no fault is asked
//! for, nothing is wrapped.
//!
//! `UCX_FAULT_LANES` names the lanes (`tcp/eth1`, `tcp`, `all`), the other `UCX_FAULT_*` variables
//! the faults; see [`FAULT`].
#![forbid(unsafe_code)]

mod config;
mod ep;
mod plan;
#[cfg(test)]
mod tests;

pub use config::FAULT;
pub use plan::Registrations;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::os::fd::RawFd;
use std::rc::{Rc, Weak};
use std::sync::OnceLock;

use crate::ucs::config::Config;
use crate::ucs::status::{Error, Result};

use super::ep::{Ep, EpParams};
use super::iface::{Arm, Events, Iface, IfaceAttr, Place};
use crate::uct::gate::Gate;
use ep::{FaultEp, Lane};
use plan::Plan;

/// The interface, with the faults that the configuration wants of it.
pub fn wrap(iface: Rc<dyn Iface>, config: &Config, tl: &str, device: &str) -> Rc<dyn Iface> {
    match Plan::read(config, tl, device) {
        Some(plan) => Rc::new(FaultIface::new(iface, plan)),
        None => iface,
    }
}

/// What a message is called, from its id and its first bytes. Those who send messages know.
pub type Namer = fn(u8, &[u8]) -> &'static str;

static NAMER: OnceLock<Namer> = OnceLock::new();

/// Says how messages are called in `UCX_FAULT_MESSAGES`.
pub fn name_messages_by(namer: Namer) {
    NAMER.get_or_init(|| namer);
}

fn name_of(id: u8, head: &[u8]) -> &'static str {
    NAMER.get().map_or("", |namer| namer(id, head))
}

/// An event that is made up, or held back.
enum Told {
    Completed(u64, Result<()>),
    Failed(Rc<Lane>, Error),
}

/// What an interface and its endpoints share.
struct Shared {
    plan: Plan,
    queue: RefCell<VecDeque<Told>>,
    lanes: RefCell<Vec<Weak<Lane>>>,
    /// Tokens of operations that fail whatever the transport says.
    doomed: RefCell<Vec<(u64, Rc<Lane>)>>,
}

struct FaultIface {
    inner: Rc<dyn Iface>,
    shared: Rc<Shared>,
}

impl FaultIface {
    fn new(inner: Rc<dyn Iface>, plan: Plan) -> FaultIface {
        FaultIface {
            inner,
            shared: Rc::new(Shared {
                plan,
                queue: RefCell::default(),
                lanes: RefCell::default(),
                doomed: RefCell::default(),
            }),
        }
    }
}

impl Drop for FaultIface {
    /// What was not told any more belongs to lanes that belong to this.
    fn drop(&mut self) {
        let untold = (self.shared.queue.take(), self.shared.doomed.take());
        drop(untold);
    }
}

impl Shared {
    fn tell(&self, what: Told) {
        self.queue.borrow_mut().push_back(what);
    }

    /// The fate of a completion that the transport reports.
    fn doomed(&self, token: u64) -> Option<Rc<Lane>> {
        let mut doomed = self.doomed.borrow_mut();
        let index = doomed.iter().position(|(other, _)| *other == token)?;
        Some(doomed.swap_remove(index).1)
    }

    fn ended(&self, token: u64) {
        let lanes = self.lanes.borrow().clone();
        lanes
            .iter()
            .filter_map(Weak::upgrade)
            .for_each(|lane| lane.ended(token));
    }

    /// Messages that a lane had no room for.
    fn send_held(&self) {
        if !self.plan.is_choosy() {
            return;
        }
        let lanes = self.lanes.borrow().clone();
        let lanes = lanes.iter().filter_map(Weak::upgrade);
        lanes.for_each(|lane| {
            lane.send_held();
        });
    }

    fn lane_of(&self, token: u64) -> Option<Rc<Lane>> {
        let mut lanes = self.lanes.borrow_mut();
        lanes.retain(|lane| lane.strong_count() != 0);
        let mut all = lanes.iter().filter_map(Weak::upgrade);
        all.find(|lane| lane.token == token)
    }
}

/// Passes on what the transport tells, but for what faults change.
struct Filter<'a> {
    shared: &'a Rc<Shared>,
    events: &'a dyn Events,
}

impl Events for Filter<'_> {
    fn am(&self, id: u8, data: &[u8]) {
        self.events.am(id, data);
    }

    fn pauses(&self) -> bool {
        self.events.pauses()
    }

    fn place(&self, id: u8, header: &[u8], offset: usize, total: usize) -> Place {
        self.events.place(id, header, offset, total)
    }

    fn placed(&self, id: u8, header: &[u8], total: usize) {
        self.events.placed(id, header, total);
    }

    fn place_put(&self, key: u64, address: u64, offset: usize, total: usize) -> Place {
        self.events.place_put(key, address, offset, total)
    }

    fn put_written(&self) {
        self.events.put_written();
    }

    fn completed(&self, token: u64, result: Result<()>) {
        self.shared.ended(token);
        match self.shared.doomed(token) {
            Some(lane) => {
                self.events.completed(token, Err(Error::ConnectionReset));
                lane.kill(Error::ConnectionReset);
            }
            None => self.events.completed(token, result),
        }
    }

    fn peer_left(&self, ep_token: u64) {
        self.events.peer_left(ep_token);
    }

    fn ep_failed(&self, ep_token: u64, error: Error) {
        if let Some(lane) = self.shared.lane_of(ep_token) {
            lane.dead.set(Some(error));
            if lane.told.replace(true) {
                return;
            }
        }
        self.events.ep_failed(ep_token, error);
    }
}

impl Iface for FaultIface {
    fn attr(&self) -> &IfaceAttr {
        self.inner.attr()
    }

    fn device_address(&self, out: &mut Vec<u8>) {
        self.inner.device_address(out);
    }

    fn iface_address(&self, out: &mut Vec<u8>) {
        self.inner.iface_address(out);
    }

    fn device_addr_len(&self, byte: &mut dyn FnMut(usize) -> u8) -> usize {
        self.inner.device_addr_len(byte)
    }

    fn reachable(&self, device_addr: &[u8], iface_addr: &[u8]) -> core::result::Result<(), String> {
        self.inner.reachable(device_addr, iface_addr)
    }

    fn create_ep(&self, params: &EpParams<'_>) -> Result<Rc<dyn Ep>> {
        let inner = self.inner.create_ep(params)?;
        let lane = Rc::new(Lane::new(self.shared.clone(), inner, params.token));
        self.shared.lanes.borrow_mut().push(Rc::downgrade(&lane));
        Ok(Rc::new(FaultEp::new(lane)))
    }

    fn progress(&self, events: &dyn Events) -> usize {
        let filter = Filter {
            shared: &self.shared,
            events,
        };
        self.shared.send_held();
        let mut count = self.inner.progress(&filter);
        loop {
            let next = self.shared.queue.borrow_mut().pop_front();
            match next {
                None => return count,
                Some(Told::Completed(token, result)) => events.completed(token, result),
                Some(Told::Failed(lane, error)) => {
                    if !lane.told.replace(true) {
                        events.ep_failed(lane.token, error);
                    }
                }
            }
            count += 1;
        }
    }

    fn gate(&self) -> Option<Gate> {
        // Polled always: there may be something of ours to tell.
        None
    }

    fn event_fd(&self) -> Option<RawFd> {
        self.inner.event_fd()
    }

    fn arm(&self, tx_blocked: bool) -> Result<Arm> {
        if self.shared.queue.borrow().is_empty() {
            self.inner.arm(tx_blocked)
        } else {
            Ok(Arm::Busy)
        }
    }

    fn shutdown(&self) {
        self.inner.shutdown();
    }
}
