//! Transports that do what the library's own do, but hand over messages with flipped bits while a
//! switch is on.

use std::cell::{Cell, RefCell};
use std::os::fd::RawFd;
use std::rc::Rc;

use ucx::ucs::config::Config;
use ucx::ucs::status::{Error, Result};
use ucx::uct::{
    AllocRequest, Arm, Component, Ep, EpParams, Events, Iface, IfaceAttr, IfaceParams, Md, MdAttr,
    Place, Shared, TlDevice,
};

use crate::random::Random;

thread_local! {
    /// One message in so many is hit; 0 for none.
    pub static ONE_IN: Cell<usize> = const { Cell::new(0) };
    /// Messages hit so far.
    pub static HITS: Cell<usize> = const { Cell::new(0) };
    static RANDOM: RefCell<Random> = RefCell::new(Random::new(0x9e37_79b9_7f4a_7c15));
}

struct Flipping(&'static dyn Component);

/// The library's components, wrapped.
pub fn components() -> &'static [&'static dyn Component] {
    let wrap = |component: &&'static dyn Component| -> &'static dyn Component {
        Box::leak(Box::new(Flipping(*component)))
    };
    let all: Vec<_> = ucx::uct::registry::components().iter().map(wrap).collect();
    all.leak()
}

impl Component for Flipping {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn query_mds(&self) -> Vec<String> {
        self.0.query_mds()
    }
    fn open_md(&'static self, name: &str, config: &Config) -> Result<Rc<dyn Md>> {
        Ok(Rc::new(FlippingMd {
            component: self,
            md: self.0.open_md(name, config)?,
        }))
    }
    fn alloc(&self, config: &Config, request: &AllocRequest) -> Result<Option<Shared>> {
        self.0.alloc(config, request)
    }
    fn attach(&self, config: &Config, key: &[u8]) -> Result<Shared> {
        self.0.attach(config, key)
    }
}

struct FlippingMd {
    component: &'static Flipping,
    md: Rc<dyn Md>,
}

impl Md for FlippingMd {
    fn component(&self) -> &'static dyn Component {
        self.component
    }
    fn name(&self) -> &str {
        self.md.name()
    }
    fn attr(&self) -> MdAttr {
        self.md.attr()
    }
    fn devices(&self) -> Result<Vec<TlDevice>> {
        self.md.devices()
    }
    fn open_iface(
        &self,
        device: &TlDevice,
        config: &Config,
        params: &IfaceParams,
    ) -> Result<Rc<dyn Iface>> {
        Ok(Rc::new(FlippingIface(
            self.md.open_iface(device, config, params)?,
        )))
    }
}

struct FlippingIface(Rc<dyn Iface>);

impl Iface for FlippingIface {
    fn attr(&self) -> &IfaceAttr {
        self.0.attr()
    }
    fn device_address(&self, out: &mut Vec<u8>) {
        self.0.device_address(out);
    }
    fn iface_address(&self, out: &mut Vec<u8>) {
        self.0.iface_address(out);
    }
    fn reachable(&self, device: &[u8], iface: &[u8]) -> core::result::Result<(), String> {
        self.0.reachable(device, iface)
    }
    fn create_ep(&self, params: &EpParams<'_>) -> Result<Rc<dyn Ep>> {
        self.0.create_ep(params)
    }
    fn progress(&self, events: &dyn Events) -> usize {
        self.0.progress(&FlippingEvents(events))
    }
    fn event_fd(&self) -> Option<RawFd> {
        self.0.event_fd()
    }
    fn arm(&self, tx_blocked: bool) -> Result<Arm> {
        self.0.arm(tx_blocked)
    }
    fn shutdown(&self) {
        self.0.shutdown();
    }
}

/// Most of a message that is hit: headers are, payload mostly is not.
const HEADERS: usize = 80;

/// A changed copy, now and then.
fn hit(bytes: &[u8]) -> Option<Vec<u8>> {
    let one_in = ONE_IN.get();
    RANDOM.with_borrow_mut(|random| {
        if one_in == 0 || bytes.is_empty() || random.below(one_in) != 0 {
            return None;
        }
        HITS.set(HITS.get() + 1);
        let mut copy = bytes.to_vec();
        for _ in 0..1 + random.below(3) {
            let at = random.below(copy.len().min(HEADERS));
            copy[at] ^= 1 << random.below(8);
        }
        if random.below(8) == 0 {
            let len = random.below(copy.len());
            copy.truncate(len);
        }
        Some(copy)
    })
}

struct FlippingEvents<'a>(&'a dyn Events);

impl Events for FlippingEvents<'_> {
    fn am(&self, id: u8, data: &[u8]) {
        let flipped = hit(data);
        let id = match &flipped {
            Some(bytes) if bytes.len() % 16 == 3 => id ^ (1 << (bytes.len() / 16 % 5)),
            _ => id,
        };
        self.0.am(id, flipped.as_deref().unwrap_or(data));
    }
    fn place(&self, id: u8, header: &[u8], offset: usize, total: usize) -> Place {
        // A transport asks with the same header each time.
        self.0.place(id, header, offset, total)
    }
    fn placed(&self, id: u8, header: &[u8], total: usize) {
        let flipped = hit(header);
        self.0
            .placed(id, flipped.as_deref().unwrap_or(header), total);
    }
    fn completed(&self, token: u64, result: Result<()>) {
        self.0.completed(token, result);
    }
    fn ep_failed(&self, ep_token: u64, error: Error) {
        self.0.ep_failed(ep_token, error);
    }
}
