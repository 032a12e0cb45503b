//! Transport `self`: messages of a worker to itself.
//!
//! A message is copied when it is posted and delivered, in order, by the next progress: a
//! handler is never called from inside the call that posts.
#![forbid(unsafe_code)]

mod queue;

use std::cell::Cell;
use std::os::fd::RawFd;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::sys::doorbell::Doorbell;
use crate::ucs::config::Config;
use crate::ucs::status::{Error, Result};

use super::AM_ID_MAX;
use super::ep::{Ep, EpParams, Post};
use super::iface::{Arm, Events, Iface, IfaceAttr, IfaceCaps, IfaceParams, PerfAttr};
use super::md::{Component, DeviceKind, Md, MdAttr, TlDevice};
use super::registry::Transport;
use queue::Queue;

/// The component `self`.
pub static COMPONENT: SelfComponent = SelfComponent;

/// Bytes of an interface address: worker uid, then the number of the interface in its process.
const ADDR_LEN: usize = 12;
/// Bytes that the header of a short message takes.
const HEADER_LEN: usize = 8;

/// Of a message, all headers included.
const LEAST_SEG: usize = 64;
const MOST_SEG: usize = 1 << 30;

/// See [`COMPONENT`].
pub struct SelfComponent;

impl Component for SelfComponent {
    fn name(&self) -> &'static str {
        "self"
    }

    fn query_mds(&self) -> Vec<String> {
        vec!["self".to_owned()]
    }

    fn open_md(&'static self, name: &str, config: &Config) -> Result<Rc<dyn Md>> {
        if name != "self" {
            return Err(Error::NoDevice);
        }
        let devices = config.int("SELF_NUM_DEVICES").clamp(1, 64) as usize;
        Ok(Rc::new(SelfMd { devices }))
    }
}

struct SelfMd {
    devices: usize,
}

impl Md for SelfMd {
    fn component(&self) -> &'static dyn Component {
        &COMPONENT
    }

    fn name(&self) -> &str {
        "self"
    }

    fn attr(&self) -> MdAttr {
        MdAttr {
            max_reg: usize::MAX,
            rkey_ptr: true,
            ..MdAttr::default()
        }
    }

    fn devices(&self) -> Result<Vec<TlDevice>> {
        let name = |index: usize| match self.devices {
            1 => "memory".to_owned(),
            _ => format!("memory{index}"),
        };
        let device = |index| TlDevice {
            tl_name: "self",
            dev_name: name(index),
            kind: DeviceKind::Loopback,
        };
        Ok((0..self.devices).map(device).collect())
    }

    fn open_iface(
        &self,
        device: &TlDevice,
        config: &Config,
        params: &IfaceParams,
    ) -> Result<Rc<dyn Iface>> {
        if !self.devices()?.contains(device) {
            return Err(Error::NoDevice);
        }
        Ok(Rc::new(SelfIface::open(config, params)?))
    }
}

pub struct SelfIface {
    attr: IfaceAttr,
    address: [u8; ADDR_LEN],
    shared: Rc<Shared>,
    busy: Cell<bool>,
}

/// What an interface and its endpoints have in common.
struct Shared {
    queue: Queue,
    max_bcopy: usize,
    bell: Option<Doorbell>,
    /// Somebody may sleep: the next message rings.
    armed: Cell<bool>,
}

impl SelfIface {
    fn open(config: &Config, params: &IfaceParams) -> Result<SelfIface> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mut address = [0; ADDR_LEN];
        let (uid, number) = address.split_at_mut(8);
        uid.copy_from_slice(&params.worker_uid.to_ne_bytes());
        number.copy_from_slice(&NEXT.fetch_add(1, Ordering::Relaxed).to_ne_bytes());
        let seg_size = config.size("SELF_SEG_SIZE");
        if !(LEAST_SEG..=MOST_SEG).contains(&seg_size) {
            crate::ucs_error!(
                "UCX_SELF_SEG_SIZE={seg_size}: at least {LEAST_SEG} and at most {MOST_SEG} bytes"
            );
            return Err(Error::InvalidParam);
        }
        let bell = params.wakeup.then(Doorbell::new).transpose();
        let bell = bell.map_err(|error| {
            crate::ucs_error!("self: failed to create a pipe for wake-up: {error}");
            Error::IoError
        })?;
        Ok(SelfIface {
            attr: attr(seg_size, params.wakeup),
            address,
            shared: Rc::new(Shared {
                queue: Queue::default(),
                max_bcopy: seg_size,
                bell,
                armed: Cell::new(false),
            }),
            busy: Cell::new(false),
        })
    }
}

fn attr(seg_size: usize, wakeup: bool) -> IfaceAttr {
    let mut caps =
        IfaceCaps::AM_SHORT | IfaceCaps::AM_BCOPY | IfaceCaps::ERR_PEER | IfaceCaps::ORDERED;
    caps.set(IfaceCaps::EVENT_FD, wakeup);
    IfaceAttr {
        caps,
        max_short: seg_size - HEADER_LEN,
        max_bcopy: seg_size,
        max_zcopy: 0,
        max_zcopy_header: 0,
        max_iov: 1,
        max_rma: 0,
        device_addr_len: 0,
        iface_addr_len: ADDR_LEN,
        perf: PerfAttr {
            latency: 0.0,
            overhead: 10e-9,
            bw_shared: 0.0,
            bw_dedicated: 19360.0 * 1024.0 * 1024.0,
            priority: 0,
        },
    }
}

impl Iface for SelfIface {
    fn attr(&self) -> &IfaceAttr {
        &self.attr
    }

    fn device_address(&self, _: &mut Vec<u8>) {}

    fn iface_address(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.address);
    }

    fn reachable(&self, device_addr: &[u8], iface_addr: &[u8]) -> core::result::Result<(), String> {
        if !device_addr.is_empty() || iface_addr.len() != ADDR_LEN {
            return Err("the address has the wrong length".to_owned());
        }
        if iface_addr != self.address {
            return Err("it leads to the own worker only".to_owned());
        }
        Ok(())
    }

    fn create_ep(&self, params: &EpParams<'_>) -> Result<Rc<dyn Ep>> {
        self.reachable(params.device_addr, params.iface_addr)
            .map_err(|_| Error::Unreachable)?;
        Ok(Rc::new(SelfEp(self.shared.clone())))
    }

    fn progress(&self, events: &dyn Events) -> usize {
        let queue = &self.shared.queue;
        // What handlers post now is for the next round, or one that answers itself would stay.
        let count = queue.len();
        if count == 0 || self.busy.replace(true) {
            return 0;
        }
        self.shared.armed.set(false);
        for _ in 0..count {
            let Some(message) = queue.pop() else { break };
            events.am(message.id, &message.data);
            queue.recycle(message.data);
        }
        self.busy.set(false);
        count
    }

    fn event_fd(&self) -> Option<RawFd> {
        self.shared.bell.as_ref().map(Doorbell::fd)
    }

    fn arm(&self, _tx_blocked: bool) -> Result<Arm> {
        let bell = self.shared.bell.as_ref().ok_or(Error::Unsupported)?;
        bell.clear();
        if self.shared.queue.len() > 0 {
            return Ok(Arm::Busy);
        }
        self.shared.armed.set(true);
        Ok(Arm::Armed)
    }
}

pub struct SelfEp(Rc<Shared>);

impl Transport for SelfIface {
    type Ep = SelfEp;
}

impl Shared {
    fn post(&self, id: u8, data: Vec<u8>) {
        self.queue.push(queue::Message { id, data });
        if self.armed.replace(false)
            && let Some(bell) = &self.bell
        {
            bell.ring();
        }
    }
}

impl Ep for SelfEp {
    fn am_short(&self, id: u8, header: u64, payload: &[u8]) -> Result<Post> {
        let len = HEADER_LEN + payload.len();
        if id >= AM_ID_MAX || len > self.0.max_bcopy {
            return Err(Error::InvalidParam);
        }
        if !self.0.queue.has_room(len) {
            return Ok(Post::NoResource);
        }
        let mut data = self.0.queue.buffer();
        data.extend_from_slice(&header.to_ne_bytes());
        data.extend_from_slice(payload);
        self.0.post(id, data);
        Ok(Post::Done)
    }

    fn am_bcopy(
        &self,
        id: u8,
        max_len: usize,
        pack: &mut dyn FnMut(&mut [u8]) -> usize,
    ) -> Result<Post> {
        if id >= AM_ID_MAX || max_len > self.0.max_bcopy {
            return Err(Error::InvalidParam);
        }
        if !self.0.queue.has_room(max_len) {
            return Ok(Post::NoResource);
        }
        let mut data = self.0.queue.buffer();
        data.resize(max_len, 0);
        let len = pack(&mut data);
        if len > max_len {
            return Err(Error::InvalidParam);
        }
        data.truncate(len);
        self.0.post(id, data);
        Ok(Post::Done)
    }
}

#[cfg(test)]
crate::uct::conformance::suite!(tests, &super::COMPONENT, "memory", &[]);
