//! An interface.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::os::fd::RawFd;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use crate::sys::hostid::{HostIds, hash, host_ids, start_time};
use crate::sys::vmcopy;
use crate::ucs::config::Config;
use crate::ucs::status::{Error, Result};
use crate::uct::ep::{Ep, EpParams};
use crate::uct::gate::Gate;
use crate::uct::iface::{Arm, Events, Iface, IfaceAttr, IfaceCaps, PerfAttr};
use crate::uct::lease::page::Page;

use super::ep::{CmaEp, Peer};
use super::lessor::Lessor;
use super::queue::Queue;
use super::share::{self, Board, Helper};

/// Host and namespaces.
const DEVICE_ADDR_LEN: usize = 8;
/// Process id, start time (its lower half), which tells a later process with that id, and the
/// descriptor of the board.
const IFACE_ADDR_LEN: usize = 12;

pub struct CmaIface {
    attr: IfaceAttr,
    queue: Rc<Queue>,
    next_ep: Cell<u64>,
    /// Where peers ask for help with large copies.
    board: Option<Rc<Board>>,
    /// By what addresses say. Looked at once, as long as there are endpoints.
    peers: RefCell<HashMap<Address, Weak<Peer>>>,
    /// Steps in one round of progress.
    quota: u32,
    /// Leases of this process have their words there as long as this holds it.
    _leases: Option<Arc<Page>>,
}

impl CmaIface {
    pub fn open(config: &Config) -> CmaIface {
        let max_iov = usize::try_from(config.count("CMA_MAX_IOV").unwrap_or(16)).unwrap_or(16);
        let max_iov = max_iov.clamp(1, vmcopy::MAX_PIECES);
        let bandwidth = config.bandwidth("CMA_BW");
        CmaIface {
            attr: attr(max_iov, bandwidth.unwrap_or(11145.0 * 1024.0 * 1024.0)),
            queue: Rc::new(Queue::new(config.size("CMA_SEG_SIZE"), max_iov)),
            next_ep: Cell::new(0),
            board: share::allowed()
                .then(Board::new)
                .and_then(|board| board.inspect_err(no_board).ok())
                .map(Rc::new),
            peers: RefCell::default(),
            quota: config.uint("CMA_TX_QUOTA").max(1),
            _leases: Page::open().inspect_err(no_page).ok(),
        }
    }
}

impl CmaIface {
    fn known(&self, address: Address) -> Option<Rc<Peer>> {
        self.peers.borrow().get(&address)?.upgrade()
    }

    /// # Errors
    /// `Unreachable` if that process is gone.
    fn peer(&self, address: Address) -> Result<Rc<Peer>> {
        if let Some(peer) = self.known(address) {
            return Ok(peer);
        }
        let start_time = start_time(address.pid)
            .filter(|now| *now as u32 == address.start)
            .ok_or(Error::Unreachable)?;
        let peer = Rc::new(Peer {
            pid: address.pid,
            start_time,
            helper: Rc::new(Helper::new(address.pid, start_time, address.board)),
            lessor: Lessor::new(address.pid, start_time),
        });
        let mut peers = self.peers.borrow_mut();
        if peers.len() == peers.capacity() {
            peers.retain(|_, peer| peer.strong_count() > 0);
        }
        peers.insert(address, Rc::downgrade(&peer));
        Ok(peer)
    }

    /// Takes a part in a copy that a peer wants.
    #[inline]
    fn help(&self) -> usize {
        match &self.board {
            Some(board) if board.is_called() => usize::from(board.help()),
            _ => 0,
        }
    }
}

fn attr(max_iov: usize, bw_dedicated: f64) -> IfaceAttr {
    IfaceAttr {
        caps: IfaceCaps::GET_ZCOPY | IfaceCaps::PUT_ZCOPY | IfaceCaps::ERR_PEER,
        max_short: 0,
        max_bcopy: 0,
        max_zcopy: 0,
        max_zcopy_header: 0,
        max_iov,
        max_rma: usize::MAX,
        device_addr_len: DEVICE_ADDR_LEN,
        iface_addr_len: IFACE_ADDR_LEN,
        perf: PerfAttr {
            latency: 80e-9,
            overhead: 2e-6,
            bw_shared: 0.0,
            bw_dedicated,
            priority: 0,
        },
    }
}

/// Processes see each other's ids in one pid namespace, and may look into each other's memory in
/// one user namespace.
fn device_address() -> [u8; DEVICE_ADDR_LEN] {
    let HostIds {
        boot,
        pid_ns,
        user_ns,
        ..
    } = *host_ids();
    let [boot, pid_ns, user_ns] = [boot, pid_ns, user_ns].map(u64::to_ne_bytes);
    hash(&[b"cma", &boot, &pid_ns, &user_ns]).to_ne_bytes()
}

/// What an address says.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Address {
    pid: u32,
    start: u32,
    board: i32,
}

fn parse(address: &[u8]) -> Option<Address> {
    let (words, []) = address.as_chunks::<4>() else {
        return None;
    };
    let &[pid, start, board] = words else {
        return None;
    };
    let pid = u32::from_ne_bytes(pid);
    (1..=i32::MAX as u32).contains(&pid).then_some(Address {
        pid,
        start: u32::from_ne_bytes(start),
        board: i32::from_ne_bytes(board),
    })
}

#[cold]
fn no_board(error: &io::Error) {
    crate::ucs_diag!("cma: no memory to share work with peers: {error}");
}

#[cold]
fn no_page(error: &io::Error) {
    crate::ucs_diag!("cma: no memory to tell peers what is lent: {error}");
}

impl Iface for CmaIface {
    fn attr(&self) -> &IfaceAttr {
        &self.attr
    }

    fn device_address(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&device_address());
    }

    fn iface_address(&self, out: &mut Vec<u8>) {
        let pid = std::process::id();
        out.extend_from_slice(&pid.to_ne_bytes());
        let start = start_time(pid).unwrap_or(0) as u32;
        out.extend_from_slice(&start.to_ne_bytes());
        let board = self.board.as_ref().and_then(|board| board.fd());
        out.extend_from_slice(&board.unwrap_or(-1).to_ne_bytes());
    }

    fn reachable(&self, device_addr: &[u8], iface_addr: &[u8]) -> core::result::Result<(), String> {
        if device_addr != device_address() {
            return Err("it is on another host or in another namespace".to_owned());
        }
        let address = parse(iface_addr).ok_or("that is no address")?;
        if self.known(address).is_some() {
            return Ok(());
        }
        let Address { pid, start, .. } = address;
        vmcopy::probe(pid)
            .map_err(|error| format!("the memory of process {pid} can't be read: {error}"))?;
        match start_time(pid) {
            Some(now) if now as u32 == start => Ok(()),
            _ => Err(format!("process {pid} is gone")),
        }
    }

    fn create_ep(&self, params: &EpParams<'_>) -> Result<Rc<dyn Ep>> {
        if params.device_addr != device_address() {
            return Err(Error::Unreachable);
        }
        let address = parse(params.iface_addr).ok_or(Error::InvalidAddr)?;
        let id = self.next_ep.get();
        self.next_ep.set(id + 1);
        Ok(Rc::new(CmaEp {
            queue: self.queue.clone(),
            id,
            peer: self.peer(address)?,
        }))
    }

    fn progress(&self, events: &dyn Events) -> usize {
        let mut count = self.help();
        while count < self.quota as usize {
            let Some(ended) = self.queue.advance() else {
                break;
            };
            count += 1;
            if let Some((token, result)) = ended {
                events.completed(token, result);
            }
        }
        count
    }

    fn gate(&self) -> Option<Gate> {
        Some(Gate::new(
            self.queue.len(),
            self.board.as_deref().map(Board::bell),
        ))
    }

    fn event_fd(&self) -> Option<RawFd> {
        None
    }

    fn arm(&self, _tx_blocked: bool) -> Result<Arm> {
        if self.queue.is_empty() {
            Ok(Arm::Armed)
        } else {
            Ok(Arm::Busy)
        }
    }
}
