//! One suite that every transport has to pass, through the traits.
//!
//! `suite!(name, &COMPONENT, "device", [("VARIABLE", "value")])` makes a module of tests, one per
//! property. Tests of what an interface doesn't advertise check that it is refused.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::ucs::config::Config;
use crate::ucs::status::{Error, Result};

use super::{
    AM_ID_MAX, Component, DeviceKind, Ep, EpParams, Events, Iface, IfaceAttr, IfaceCaps,
    IfaceParams, IoVec, IoVecMut, Lease, Md, Post, Which,
};

mod am;
mod misc;
mod rma;

pub use am::*;
pub use misc::*;
pub use rma::*;

/// A test that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// What is tested.
#[derive(Clone, Copy)]
pub struct Subject {
    pub component: &'static dyn Component,
    /// The device, or nothing for the first one.
    pub device: &'static str,
    pub config: &'static [(&'static str, &'static str)],
}

impl Subject {
    pub fn config(&self) -> Config {
        let mut config = Config::default();
        for (name, value) in self.config {
            config.set(name, value);
        }
        config
    }

    /// An interface of a worker of its own.
    pub fn open(&self, params: &IfaceParams) -> Side {
        let config = self.config();
        let names = self.component.query_mds();
        let name = names.first().expect("a memory domain");
        let md = self.component.open_md(name, &config).expect("open md");
        let devices = md.devices().expect("devices");
        let wanted = |name: &str| self.device.is_empty() || name == self.device;
        let device = devices.iter().find(|dev| wanted(&dev.dev_name));
        let device = device.expect("the device");
        let iface = md.open_iface(device, &config, params).expect("open iface");
        Side {
            kind: device.kind,
            iface,
            _md: md,
            seen: Seen::default(),
        }
    }

    /// Two interfaces, or one twice where only loopback is possible, and an endpoint each way.
    pub fn pair(&self) -> Pair {
        self.pair_with(&IfaceParams {
            err_handling: true,
            remote_put: true,
            ..IfaceParams::default()
        })
    }

    pub fn pair_with(&self, params: &IfaceParams) -> Pair {
        let side = |worker_uid| {
            Rc::new(self.open(&IfaceParams {
                worker_uid,
                ..params.clone()
            }))
        };
        let a = side(1);
        let b = match a.kind {
            DeviceKind::Loopback => a.clone(),
            _ => side(2),
        };
        let to_b = a.connect(&b, 100);
        let to_a = b.connect(&a, 200);
        Pair { a, b, to_a, to_b }
    }
}

/// An interface with what it was told.
pub struct Side {
    pub iface: Rc<dyn Iface>,
    pub kind: DeviceKind,
    pub seen: Seen,
    _md: Rc<dyn Md>,
}

pub struct Pair {
    pub a: Rc<Side>,
    pub b: Rc<Side>,
    pub to_b: Rc<dyn Ep>,
    pub to_a: Rc<dyn Ep>,
}

/// Called for each message, instead of keeping it.
pub type Handler = Box<dyn FnMut(u8, &[u8])>;

/// What an interface has told.
#[derive(Default)]
pub struct Seen {
    pub messages: RefCell<Vec<(u8, Vec<u8>)>>,
    pub completed: RefCell<HashMap<u64, Result<()>>>,
    pub failed: RefCell<Vec<(u64, Error)>>,
    pub handler: RefCell<Option<Handler>>,
}

impl Events for Seen {
    fn am(&self, id: u8, data: &[u8]) {
        if let Some(handler) = self.handler.borrow_mut().as_mut() {
            return handler(id, data);
        }
        self.messages.borrow_mut().push((id, data.to_vec()));
    }

    fn completed(&self, token: u64, result: Result<()>) {
        let before = self.completed.borrow_mut().insert(token, result);
        assert!(before.is_none(), "operation {token} completed twice");
    }

    fn ep_failed(&self, ep_token: u64, error: Error) {
        self.failed.borrow_mut().push((ep_token, error));
    }
}

impl Side {
    pub fn attr(&self) -> &IfaceAttr {
        self.iface.attr()
    }

    pub fn has(&self, caps: IfaceCaps) -> bool {
        self.attr().caps.contains(caps)
    }

    pub fn addresses(&self) -> (Vec<u8>, Vec<u8>) {
        let (mut device, mut iface) = (Vec::new(), Vec::new());
        self.iface.device_address(&mut device);
        self.iface.iface_address(&mut iface);
        assert_eq!(device.len(), self.attr().device_addr_len);
        assert_eq!(iface.len(), self.attr().iface_addr_len);
        (device, iface)
    }

    pub fn connect(&self, peer: &Side, token: u64) -> Rc<dyn Ep> {
        let (device_addr, iface_addr) = peer.addresses();
        self.iface
            .reachable(&device_addr, &iface_addr)
            .expect("reachable");
        let params = EpParams {
            device_addr: &device_addr,
            iface_addr: &iface_addr,
            token,
        };
        self.iface.create_ep(&params).expect("create ep")
    }

    pub fn progress(&self) -> usize {
        self.iface.progress(&self.seen)
    }
}

impl Pair {
    pub fn progress(&self) -> usize {
        self.a.progress() + self.b.progress()
    }

    /// Progresses both sides until `done`.
    pub fn until(&self, what: &str, mut done: impl FnMut() -> bool) {
        let start = Instant::now();
        while !done() {
            if self.progress() == 0 {
                std::thread::yield_now();
            }
            assert!(start.elapsed() < LIMIT, "{what} takes too long");
        }
    }

    /// Posts until it is accepted, and waits for the completion if there is to be one.
    pub fn post(&self, token: u64, mut post: impl FnMut() -> Result<Post>) -> Result<()> {
        let start = Instant::now();
        loop {
            match post()? {
                Post::Done => return Ok(()),
                Post::Pending => break,
                Post::NoResource => {
                    self.progress();
                    assert!(start.elapsed() < LIMIT, "no resource for too long");
                }
            }
        }
        let ended = || self.a.seen.completed.borrow().contains_key(&token);
        self.until("completion", ended);
        let result = self.a.seen.completed.borrow_mut().remove(&token);
        result.expect("completed")
    }

    /// Waits for the next message at `b`.
    pub fn next(&self) -> (u8, Vec<u8>) {
        self.until("arrival", || !self.b.seen.messages.borrow().is_empty());
        self.b.seen.messages.borrow_mut().remove(0)
    }
}

/// Bytes that differ by place and message.
pub fn pattern(seed: usize, len: usize) -> Vec<u8> {
    (0..len)
        .map(|i| (i.wrapping_mul(31) ^ (i >> 8) ^ seed.wrapping_mul(131)) as u8)
        .collect()
}

/// Sizes from 0 to `max` that cross the usual borders.
pub fn sizes(max: usize) -> Vec<usize> {
    let mut sizes: Vec<usize> = (0..=300.min(max)).collect();
    for shift in 8..32 {
        let size = 1usize << shift;
        sizes.extend([size - 1, size, size + 1]);
    }
    sizes.extend([max.saturating_sub(1), max]);
    sizes.retain(|size| *size <= max);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Makes a module with all tests for a transport.
macro_rules! suite {
    ($name:ident, $component:expr, $device:expr, $config:expr) => {
        mod $name {
            use $crate::uct::conformance as suite;
            const SUBJECT: suite::Subject = suite::Subject {
                component: $component,
                device: $device,
                config: $config,
            };
            $crate::uct::conformance::suite!(@tests short_messages, bcopy_messages,
                zcopy_messages, wrong_ids, order_is_kept, flood_and_recovery, answers_from_handler,
                drop_endpoint_in_handler, flush_completes, strange_addresses, attributes,
                get_and_put, leases, given_up, limits, wakes_up, many_endpoints,
                messages_survive_their_endpoint);
        }
    };
    (@tests $($test:ident),*) => {
        $(#[test]
        fn $test() {
            suite::$test(&SUBJECT);
        })*
    };
}
pub(crate) use suite;
