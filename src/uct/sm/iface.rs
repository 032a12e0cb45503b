//! An interface: a segment to receive in, and the peers that it sends to.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::os::fd::RawFd;
use std::rc::{Rc, Weak};

use bitflags::bitflags;

use crate::sys::doorbell::Doorbell;
use crate::sys::hostid::{host_ids, is_alive, start_time};
use crate::ucs::config::Config;
use crate::ucs::status::{Error, Result};
use crate::uct::ep::{Ep, EpParams};
use crate::uct::iface::{Arm, Events, Iface, IfaceAttr, IfaceCaps, IfaceParams, PerfAttr};

use super::ep::SmEp;
use super::fifo::area::{Area, Facts, RingState};
use super::fifo::layout::{Geometry, PRIVATE_RINGS, RINGS, SHARED_RING};
use super::fifo::rx::Rx;
use super::remote::Remote;
use super::segment::{DEVICE_ADDR_LEN, Kind, Settings, posix};
use super::warm::Warm;
use crate::sys::barrier;

bitflags! {
    /// Why progress has more to do than to look at two rings.
    #[derive(Clone, Copy, PartialEq, Eq)]
    struct Special: u32 {
        /// It is running already.
        const BUSY = 1 << 0;
        const CLOSING = 1 << 1;
        /// More than one private ring is in use.
        const MANY = 1 << 2;
        /// The shared ring has senders.
        const SHARED = 1 << 3;
    }
}

/// So many polls of the shared ring without a message are followed by a look whether a dead
/// sender is in the way.
const STUCK_CHECK: u32 = 4096;

/// Addresses that are remembered to be good.
const MAX_PROBED: usize = 4096;

pub struct SmIface {
    attr: IfaceAttr,
    kind: Kind,
    settings: Settings,
    address: Vec<u8>,
    // The order of these fields matters: `rings` point into `area`.
    rings: [Rx; RINGS],
    area: Area,
    _keep: Option<posix::Keep>,
    /// The private rings in use, a bit each.
    active: Cell<u32>,
    /// Those of them whose sender is done.
    closing: Cell<u32>,
    generation: Cell<u32>,
    /// If one private ring is in use, that; else the shared one.
    only: Cell<usize>,
    /// Polls of the shared ring since it gave something.
    stuck: Cell<u32>,
    /// Set while a look at two rings is not all there is to do.
    special: Cell<Special>,
    max_poll: usize,
    bell: Option<Doorbell>,
    /// Senders know that it may sleep.
    sleeps: Cell<bool>,
    /// By address. Endpoints to the same peer share what they have, so that their messages
    /// arrive in order.
    peers: RefCell<HashMap<Vec<u8>, Weak<Remote>>>,
    /// Addresses of segments that could be opened. One that has gone since is found when it is used.
    probed: RefCell<HashSet<Vec<u8>>>,
    warm: Rc<Warm>,
}

impl SmIface {
    pub fn open(
        kind: Kind,
        settings: Settings,
        config: &Config,
        params: &IfaceParams,
    ) -> Result<SmIface> {
        let name = |variable: &str| format!("{}{variable}", kind.prefix());
        let geometry = geometry(kind, config)?;
        // Its private rings get memory when they get a sender.
        let needed = geometry.ring(SHARED_RING + 1);
        let created = settings.create(geometry.segment_len(), needed)?;
        let pid = std::process::id();
        let start = start_time(pid).unwrap_or(0);
        let facts = Facts::new(geometry, created.nonce, pid, start, host_ids().pid_ns);
        let mut area = Area::create(created.map, facts)?;
        let bell = params.wakeup.then(Doorbell::new).transpose();
        let bell = bell.map_err(|error| {
            crate::ucs_error!("{}: no pipe for wake-up: {error}", kind.name());
            Error::IoError
        })?;
        let sleeps = !(params.seldom_sleeps && barrier::is_possible());
        if let Some(bell) = &bell {
            area.set_bell(bell.fd(), bell.inode());
            if sleeps {
                area.will_sleep();
            }
        }
        let factor = config.double(&name("FIFO_RELEASE_FACTOR")).clamp(0.0, 1.0);
        let release = (f64::from(geometry.slots) * factor) as u32;
        let max_poll = config.count(&name("FIFO_MAX_POLL")).unwrap_or(16).max(1);
        Ok(SmIface {
            attr: attr(kind, &geometry, &settings, config, bell.is_some()),
            kind,
            settings,
            address: created.address,
            rings: core::array::from_fn(|ring| Rx::new(&area, ring, release)),
            area,
            _keep: created.keep,
            active: Cell::new(0),
            closing: Cell::new(0),
            generation: Cell::new(0),
            only: Cell::new(SHARED_RING),
            stuck: Cell::new(0),
            special: Cell::new(Special::empty()),
            max_poll: usize::try_from(max_poll).unwrap_or(usize::MAX),
            bell,
            sleeps: Cell::new(sleeps),
            peers: RefCell::default(),
            probed: RefCell::default(),
            warm: Rc::new(Warm::new()),
        })
    }

    /// Looks which rings have senders.
    #[cold]
    fn rescan(&self, generation: u32) {
        self.generation.set(generation);
        let (mut active, mut closing) = (0, 0);
        for ring in 1..=PRIVATE_RINGS {
            match self.area.ring_state(ring) {
                RingState::Active => active |= 1 << ring,
                RingState::Closed => {
                    active |= 1 << ring;
                    closing |= 1 << ring;
                }
                RingState::Free | RingState::Claimed => {}
            }
        }
        self.set_rings(active, closing);
        let shared = self.area.ring_state(SHARED_RING) == RingState::Active;
        self.mark(Special::SHARED, shared);
    }

    fn set_rings(&self, active: u32, closing: u32) {
        self.active.set(active);
        self.closing.set(closing);
        let only = bits(active).next().unwrap_or(SHARED_RING);
        self.only.set(only);
        self.mark(Special::MANY, active.count_ones() > 1);
        self.mark(Special::CLOSING, closing != 0);
    }

    fn mark(&self, flag: Special, on: bool) {
        let mut special = self.special.get();
        special.set(flag, on);
        self.special.set(special);
    }

    /// Gives back the rings whose sender is done and from which everything was read.
    #[cold]
    fn free_closed(&self) {
        for ring in bits(self.closing.get()) {
            let Some(rx) = self.rings.get(ring).filter(|rx| rx.is_empty()) else {
                continue;
            };
            rx.tell();
            self.area.free(ring);
            let others = !(1 << ring);
            self.set_rings(self.active.get() & others, self.closing.get() & others);
        }
    }

    fn poll_rings(&self, events: &dyn Events) -> usize {
        let mut count = 0;
        for ring in bits(self.active.get()) {
            if let Some(rx) = self.rings.get(ring) {
                count += rx.poll(events, self.max_poll);
            }
        }
        count + self.poll_shared(events)
    }

    fn poll_shared(&self, events: &dyn Events) -> usize {
        let shared = &self.rings[SHARED_RING];
        let count = shared.poll(events, self.max_poll);
        let stuck = if count == 0 { self.stuck.get() + 1 } else { 0 };
        self.stuck.set(stuck);
        if stuck == STUCK_CHECK {
            self.stuck.set(0);
            shared.skip_dead(&self.area, is_alive);
        }
        count
    }

    fn is_idle(&self) -> bool {
        let generation = self.area.generation();
        if generation != self.generation.get() {
            self.rescan(generation);
        }
        let empty = |ring: usize| self.rings.get(ring).is_none_or(Rx::is_empty);
        empty(SHARED_RING)
            && bits(self.active.get()).all(empty)
            && !self.rings[SHARED_RING].skip_dead(&self.area, is_alive)
    }

    /// Delivers from the only two rings in use. Not inlined, so that a poll without a message has
    /// no registers to save.
    #[inline(never)]
    fn poll_two(&self, shared: &Rx, only: &Rx, events: &dyn Events) -> usize {
        self.special.set(Special::BUSY);
        let mut count = only.poll(events, self.max_poll);
        if !core::ptr::eq(shared, only) {
            count += shared.poll(events, self.max_poll);
        }
        self.mark(Special::BUSY, false);
        self.warm.heard();
        count
    }

    #[inline(never)]
    fn progress_busy(&self, events: &dyn Events) -> usize {
        let special = self.special.get();
        if special.contains(Special::BUSY) {
            return 0;
        }
        let generation = self.area.generation();
        if generation != self.generation.get() {
            self.rescan(generation);
        }
        self.mark(Special::BUSY, true);
        let count = self.poll_rings(events);
        self.mark(Special::BUSY, false);
        if self.closing.get() != 0 {
            self.free_closed();
        }
        if count == 0 {
            self.warm.step();
        }
        count
    }

    fn remote(&self, address: &[u8]) -> Result<Rc<Remote>> {
        if let Some(remote) = self.peers.borrow().get(address).and_then(Weak::upgrade) {
            return Ok(remote);
        }
        let remote = Rc::new(Remote::attach(self.kind, self.settings.open(address)?)?);
        let mut peers = self.peers.borrow_mut();
        if peers.len()
            >= 2 * peers
                .values()
                .filter(|peer| peer.strong_count() > 0)
                .count()
                + 16
        {
            peers.retain(|_, peer| peer.strong_count() > 0);
        }
        peers.insert(address.to_vec(), Rc::downgrade(&remote));
        Ok(remote)
    }
}

/// The positions of the set bits.
fn bits(mut mask: u32) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let bit = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (bit < 32).then_some(bit as usize)
    })
}

fn geometry(kind: Kind, config: &Config) -> Result<Geometry> {
    let prefix = kind.prefix();
    let slots = config.uint(&format!("{prefix}FIFO_SIZE"));
    let slot_len = config.uint(&format!("{prefix}FIFO_ELEM_SIZE"));
    let seg_size = config.size(&format!("{prefix}SEG_SIZE"));
    Geometry::new(slots, slot_len, seg_size).inspect_err(|_| {
        crate::ucs_error!(
            "UCX_{prefix}FIFO_SIZE={slots} must be a power of two from 2 to 65536, \
             UCX_{prefix}FIFO_ELEM_SIZE={slot_len} from 17 to 4096, and \
             UCX_{prefix}SEG_SIZE={seg_size} from 64 bytes to 1 MB"
        );
    })
}

fn attr(
    kind: Kind,
    geometry: &Geometry,
    settings: &Settings,
    config: &Config,
    wakeup: bool,
) -> IfaceAttr {
    let mut caps =
        IfaceCaps::AM_SHORT | IfaceCaps::AM_BCOPY | IfaceCaps::ERR_PEER | IfaceCaps::ORDERED;
    caps.set(IfaceCaps::EVENT_FD, wakeup);
    let name = |variable: &str| format!("{}{variable}", kind.prefix());
    let overhead = config.keyed_time(&name("SEND_OVERHEAD"), "am_short");
    IfaceAttr {
        caps,
        max_short: geometry.max_inline() - 8,
        max_bcopy: geometry.max_message as usize,
        max_zcopy: 0,
        max_zcopy_header: 0,
        max_iov: 1,
        max_rma: 0,
        device_addr_len: DEVICE_ADDR_LEN,
        iface_addr_len: settings.address_len(),
        perf: PerfAttr {
            latency: 80e-9,
            overhead,
            bw_shared: 0.0,
            bw_dedicated: config
                .bandwidth(&name("BW"))
                .unwrap_or(15360.0 * 1024.0 * 1024.0),
            priority: 0,
        },
    }
}

impl Iface for SmIface {
    fn attr(&self) -> &IfaceAttr {
        &self.attr
    }

    fn device_address(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.settings.device_address());
    }

    fn iface_address(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.address);
    }

    fn reachable(&self, device_addr: &[u8], iface_addr: &[u8]) -> core::result::Result<(), String> {
        if device_addr != self.settings.device_address() {
            return Err("it is on another host, or in another namespace or folder".to_owned());
        }
        let known = self.peers.borrow().get(iface_addr).and_then(Weak::upgrade);
        if let Some(remote) = known {
            return match remote.is_gone() {
                true => Err("the peer has closed its segment".to_owned()),
                false => Ok(()),
            };
        }
        let mut probed = self.probed.borrow_mut();
        if !probed.contains(iface_addr) {
            self.settings.probe(iface_addr)?;
            if probed.len() >= MAX_PROBED {
                probed.clear();
            }
            probed.insert(iface_addr.to_vec());
        }
        Ok(())
    }

    fn create_ep(&self, params: &EpParams<'_>) -> Result<Rc<dyn Ep>> {
        if params.device_addr != self.settings.device_address() {
            return Err(Error::Unreachable);
        }
        let remote = self.remote(params.iface_addr)?;
        Ok(Rc::new(SmEp::new(remote, self.warm.clone())))
    }

    #[inline]
    fn progress(&self, events: &dyn Events) -> usize {
        let (shared, only) = (&self.rings[SHARED_RING], self.rings.get(self.only.get()));
        let same = self.area.generation() == self.generation.get();
        let Some(only) = only.filter(|_| same && self.special.get().is_empty()) else {
            return self.progress_busy(events);
        };
        // What an idle interface costs: three words that stay in the cache.
        if only.is_empty() && shared.is_empty() {
            self.warm.wait();
            return 0;
        }
        self.poll_two(shared, only, events)
    }

    fn event_fd(&self) -> Option<RawFd> {
        self.bell.as_ref().map(Doorbell::fd)
    }

    fn arm(&self, tx_blocked: bool) -> Result<Arm> {
        let bell = self.bell.as_ref().ok_or(Error::Unsupported)?;
        if tx_blocked {
            // Receivers free room without a word.
            return Ok(Arm::Busy);
        }
        if !self.sleeps.get() {
            self.area.will_sleep();
            barrier::everywhere()?;
            self.sleeps.set(true);
        }
        bell.clear();
        self.area.arm();
        if !self.is_idle() {
            self.area.disarm();
            return Ok(Arm::Busy);
        }
        // Progress leaves it so until a sender rings, and the bell ringing until the next arming:
        // a program may sleep again without arming anew, and misses nothing that way.
        Ok(Arm::Armed)
    }
}

impl Drop for SmIface {
    fn drop(&mut self) {
        self.area.set_gone();
    }
}
