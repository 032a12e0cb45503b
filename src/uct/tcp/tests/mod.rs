//! Tests of the transport as a whole, on loopback.

mod basic;
mod ends;
mod foreign;
#[allow(unsafe_code)]
mod limits;
mod peer;
mod settings;

crate::uct::conformance::suite!(v4, &crate::uct::tcp::TCP, "lo", &[]);

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ptr::NonNull;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::ucs::config::Config;
use crate::ucs::status::{Error, Result};
use crate::uct::{Ep, EpParams, Events, Iface, IfaceParams, IoVec, Place, Post, TlDevice};

use super::config::MdConfig;
use super::iface::{Shared, TcpIface};
use super::{TcpMd, random};

/// Limit of every test.
pub const LIMIT: Duration = Duration::from_secs(60);

/// What an interface has told.
#[derive(Default)]
pub struct Log {
    pub messages: RefCell<Vec<(u8, Vec<u8>)>>,
    pub count: Cell<usize>,
    pub completed: RefCell<Vec<(u64, Result<()>)>>,
    pub failed: RefCell<Vec<(u64, Error)>>,
    /// Where large messages go, by the first byte of their header, and how many bytes per call.
    pub places: RefCell<HashMap<u8, (Vec<u8>, usize)>>,
    pub placed: RefCell<Vec<(u8, Vec<u8>, usize)>>,
    pub keep: Cell<bool>,
}

impl Log {
    pub fn new() -> Log {
        let log = Log::default();
        log.keep.set(true);
        log
    }
}

impl Events for Log {
    fn am(&self, id: u8, data: &[u8]) {
        self.count.set(self.count.get() + 1);
        if self.keep.get() {
            self.messages.borrow_mut().push((id, data.to_vec()));
        }
    }

    fn place(&self, _id: u8, header: &[u8], offset: usize, total: usize) -> Place {
        let mut places = self.places.borrow_mut();
        match header.first().and_then(|key| places.get_mut(key)) {
            Some((buffer, step)) => {
                assert_eq!(buffer.len(), total);
                let room = (*step).min(total - offset);
                if room == 0 {
                    return Place::Discard;
                }
                let ptr = NonNull::new(&raw mut buffer[offset]).unwrap();
                Place::Buffer(ptr, room)
            }
            None => Place::Copy,
        }
    }

    fn placed(&self, id: u8, header: &[u8], total: usize) {
        self.placed.borrow_mut().push((id, header.to_vec(), total));
    }

    fn completed(&self, token: u64, result: Result<()>) {
        self.completed.borrow_mut().push((token, result));
    }

    fn ep_failed(&self, token: u64, error: Error) {
        self.failed.borrow_mut().push((token, error));
    }
}

pub fn config(values: &[(&str, &str)]) -> Config {
    let mut config = Config::default();
    for (name, value) in values {
        config.set(name, value);
    }
    config
}

pub fn open_on(device: &str, config: &Config) -> Result<TcpIface> {
    let md = TcpMd {
        config: MdConfig::read(config)?,
    };
    let device = TlDevice {
        tl_name: "tcp",
        dev_name: device.to_owned(),
        kind: crate::uct::DeviceKind::Net,
    };
    let params = IfaceParams {
        worker_uid: random(),
        wakeup: true,
        seldom_sleeps: false,
        err_handling: true,
        remote_put: true,
        keyed_put: false,
    };
    md.open_tcp(&device, config, &params)
}

#[derive(Clone)]
pub struct Addr {
    pub device: Vec<u8>,
    pub iface: Vec<u8>,
}

pub fn addr(iface: &Rc<dyn Iface>) -> Addr {
    let (mut device, mut address) = (Vec::new(), Vec::new());
    iface.device_address(&mut device);
    iface.iface_address(&mut address);
    assert_eq!(device.len(), iface.attr().device_addr_len);
    assert_eq!(address.len(), iface.attr().iface_addr_len);
    Addr {
        device,
        iface: address,
    }
}

/// Port that an interface listens on.
pub fn port(iface: &Rc<dyn Iface>) -> u16 {
    let addr = addr(iface).iface;
    u16::from_le_bytes([addr[0], addr[1]])
}

pub fn connect(iface: &Rc<dyn Iface>, to: &Addr, token: u64) -> Result<Rc<dyn Ep>> {
    iface.create_ep(&EpParams {
        device_addr: &to.device,
        iface_addr: &to.iface,
        token,
    })
}

/// An interface with its log.
pub struct Node {
    pub iface: Rc<dyn Iface>,
    pub shared: Rc<Shared>,
    pub log: Log,
}

impl Node {
    pub fn new() -> Node {
        Node::with(&Config::default())
    }

    pub fn with(config: &Config) -> Node {
        Node::on("lo", config)
    }

    pub fn on(device: &str, config: &Config) -> Node {
        let iface = open_on(device, config).unwrap();
        Node {
            shared: iface.shared.clone(),
            iface: Rc::new(iface),
            log: Log::new(),
        }
    }

    pub fn addr(&self) -> Addr {
        addr(&self.iface)
    }

    pub fn connect(&self, to: &Node, token: u64) -> Rc<dyn Ep> {
        connect(&self.iface, &to.addr(), token).unwrap()
    }

    /// Sockets beside the listening one.
    pub fn live(&self) -> usize {
        let shared = &self.shared;
        shared.sources.borrow().values().len() + shared.handshakes.borrow().values().len()
    }

    pub fn progress(&self) -> usize {
        self.iface.progress(&self.log)
    }

    /// Posts until it is accepted; true when it is pending.
    pub fn post(&self, others: &[&Node], mut post: impl FnMut() -> Result<Post>) -> bool {
        let start = Instant::now();
        loop {
            match post().unwrap() {
                Post::NoResource => {
                    self.progress();
                    others.iter().for_each(|node| {
                        node.progress();
                    });
                    assert!(start.elapsed() < LIMIT, "no resources for too long");
                }
                done => return done == Post::Pending,
            }
        }
    }
}

/// Progresses all until `done`.
pub fn until(nodes: &[&Node], done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        nodes.iter().for_each(|node| {
            node.progress();
        });
        assert!(start.elapsed() < LIMIT, "too long");
    }
}

/// Progresses all until nothing has happened for a while.
pub fn settle(nodes: &[&Node]) {
    let mut quiet = Instant::now();
    while quiet.elapsed() < Duration::from_millis(30) {
        if nodes.iter().map(|node| node.progress()).sum::<usize>() > 0 {
            quiet = Instant::now();
        }
    }
}

pub fn io_vec(data: &[u8]) -> IoVec {
    IoVec {
        ptr: data.as_ptr(),
        len: data.len(),
    }
}

/// Bytes that tell their place.
pub fn pattern(len: usize, seed: u64) -> Vec<u8> {
    (0..len as u64)
        .map(|i| ((i.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ seed.wrapping_mul(77)) >> 32) as u8)
        .collect()
}
