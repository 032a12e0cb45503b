//! An interface: copies that are under way.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::rc::{Rc, Weak};

use hashbrown::HashMap;
use smallvec::SmallVec;

use crate::sys::hostid::{HostIds, hash, host_ids, start_time};
use crate::sys::vmcopy::{self, Direction, Piece};
use crate::ucs::config::Config;
use crate::ucs::status::{Error, Result};
use crate::uct::ep::{Ep, EpParams, Which};
use crate::uct::iface::{Arm, Events, Iface, IfaceAttr, IfaceCaps, PerfAttr};
use crate::uct::lease::Term;

use super::ep::{CmaEp, Peer};

/// Host and namespaces.
const DEVICE_ADDR_LEN: usize = 8;
/// Process id and start time (its lower half), which tells a later process with that id.
const IFACE_ADDR_LEN: usize = 8;

pub struct CmaIface {
    attr: IfaceAttr,
    queue: Rc<Queue>,
    next_ep: Cell<u64>,
    /// By what addresses say. Looked at once, as long as there are endpoints.
    peers: RefCell<HashMap<(u32, u32), Weak<Peer>>>,
    /// Steps in one round of progress.
    quota: u32,
}

/// Copies that go on at each progress, in the order in which they were posted.
pub struct Queue {
    copies: RefCell<VecDeque<Copy>>,
    /// How many: for a look without a borrow.
    len: Rc<Cell<usize>>,
    /// Bytes of one step.
    pub step: usize,
    pub max_iov: usize,
    complained: Cell<bool>,
}

/// A copy, or what is left of it.
pub struct Copy {
    pub direction: Direction,
    /// Id of the endpoint.
    pub ep: u64,
    pub pid: u32,
    pub local: SmallVec<[Piece; 4]>,
    pub remote: u64,
    /// What has to be in force when the last byte has been read.
    pub term: Option<Term>,
    pub token: u64,
}

impl CmaIface {
    pub fn open(config: &Config) -> CmaIface {
        let max_iov = usize::try_from(config.count("CMA_MAX_IOV").unwrap_or(16)).unwrap_or(16);
        let max_iov = max_iov.clamp(1, vmcopy::MAX_PIECES);
        let bandwidth = config.bandwidth("CMA_BW");
        CmaIface {
            attr: attr(max_iov, bandwidth.unwrap_or(11145.0 * 1024.0 * 1024.0)),
            queue: Rc::new(Queue {
                copies: RefCell::default(),
                len: Rc::default(),
                step: config.size("CMA_SEG_SIZE").clamp(1, vmcopy::MAX_LEN),
                max_iov,
                complained: Cell::new(false),
            }),
            next_ep: Cell::new(0),
            peers: RefCell::default(),
            quota: config.uint("CMA_TX_QUOTA").max(1),
        }
    }
}

impl CmaIface {
    fn known(&self, pid: u32, start: u32) -> Option<Rc<Peer>> {
        self.peers.borrow().get(&(pid, start))?.upgrade()
    }

    /// # Errors
    /// `Unreachable` if that process is gone.
    fn peer(&self, pid: u32, start: u32) -> Result<Rc<Peer>> {
        if let Some(peer) = self.known(pid, start) {
            return Ok(peer);
        }
        let start_time = start_time(pid)
            .filter(|now| *now as u32 == start)
            .ok_or(Error::Unreachable)?;
        let peer = Rc::new(Peer { pid, start_time });
        let mut peers = self.peers.borrow_mut();
        if peers.len() == peers.capacity() {
            peers.retain(|_, peer| peer.strong_count() > 0);
        }
        peers.insert((pid, start), Rc::downgrade(&peer));
        Ok(peer)
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

/// Process id and half a start time.
fn parse(address: &[u8]) -> Option<(u32, u32)> {
    let (pid, start) = address.split_at_checked(4)?;
    let pid = u32::from_ne_bytes(pid.try_into().ok()?);
    let start = u32::from_ne_bytes(start.try_into().ok()?);
    (1..=i32::MAX as u32).contains(&pid).then_some((pid, start))
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
    }

    fn reachable(&self, device_addr: &[u8], iface_addr: &[u8]) -> core::result::Result<(), String> {
        if device_addr != device_address() {
            return Err("it is on another host or in another namespace".to_owned());
        }
        let (pid, start) = parse(iface_addr).ok_or("that is no address")?;
        if self.known(pid, start).is_some() {
            return Ok(());
        }
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
        let (pid, start) = parse(params.iface_addr).ok_or(Error::InvalidAddr)?;
        let id = self.next_ep.get();
        self.next_ep.set(id + 1);
        Ok(Rc::new(CmaEp {
            queue: self.queue.clone(),
            id,
            peer: self.peer(pid, start)?,
        }))
    }

    fn progress(&self, events: &dyn Events) -> usize {
        if self.queue.is_empty() {
            return 0;
        }
        let mut count = 0;
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

    fn outstanding(&self) -> Option<Rc<Cell<usize>>> {
        Some(self.queue.len.clone())
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

impl Queue {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len.get() == 0
    }

    pub fn push(&self, copy: Copy) {
        self.copies.borrow_mut().push_back(copy);
        self.len.set(self.len.get() + 1);
    }

    /// As `Ep::let_go` of the endpoint with this id.
    pub fn let_go(&self, ep: u64, which: Which) -> bool {
        let mut copies = self.copies.borrow_mut();
        let before = copies.len();
        copies.retain(|copy| copy.ep != ep || !which.includes(copy.token));
        self.len.set(copies.len());
        copies.len() < before
    }

    /// Takes the oldest copy one step on; `None` if there is none. Returns token and result of
    /// one that has ended. Nothing is borrowed when this returns.
    fn advance(&self) -> Option<Option<(u64, Result<()>)>> {
        let mut copies = self.copies.borrow_mut();
        let copy = copies.front_mut()?;
        let result = self.step(copy);
        if matches!(result, Ok(false)) {
            return Some(None);
        }
        let token = copy.token;
        copies.pop_front();
        self.len.set(copies.len());
        Some(Some((token, result.map(|_| ()))))
    }

    /// Copies [`Queue::step`] bytes at most; true when all is done.
    pub fn step(&self, copy: &mut Copy) -> Result<bool> {
        let mut pieces: SmallVec<[Piece; 16]> = SmallVec::new();
        let mut room = self.step;
        for piece in &copy.local {
            if room == 0 || pieces.len() == vmcopy::MAX_PIECES {
                break;
            }
            let len = piece.len.min(room);
            pieces.push(Piece { len, ..*piece });
            room -= len;
        }
        if pieces.is_empty() {
            return Ok(true);
        }
        let len = self.step - room;
        let Some(term) = copy.term.filter(|_| copy.left() == len) else {
            let from = [piece(copy.remote, len)];
            let done = transfer(copy.direction, copy.pid, &pieces, &from)
                .map_err(|error| self.explain(copy, &error))?;
            copy.used(done);
            return Ok(copy.local.is_empty());
        };
        self.last_step(copy, pieces, len, term)
    }

    /// The last `len` bytes, and behind them the word that says whether the peer has taken its
    /// memory back.
    fn last_step(
        &self,
        copy: &mut Copy,
        mut pieces: SmallVec<[Piece; 16]>,
        len: usize,
        term: Term,
    ) -> Result<bool> {
        const WORD: usize = size_of::<u64>();
        let mut word = 0u64;
        pieces.push(piece(&raw mut word as u64, WORD));
        let from = [piece(copy.remote, len), piece(term.address, WORD)];
        let done = match transfer(copy.direction, copy.pid, &pieces, &from) {
            Ok(done) if done < len => {
                copy.used(done);
                return Ok(false);
            }
            Ok(done) if done == len + WORD && term.holds(word) => done,
            Ok(_) => return Err(Error::Canceled),
            Err(error) => return Err(self.explain(copy, &error)),
        };
        copy.used(done - WORD);
        Ok(true)
    }

    /// The status for a failed copy, with a line in the log the first time.
    fn explain(&self, copy: &Copy, error: &io::Error) -> Error {
        let pid = copy.pid;
        let fault = error.raw_os_error() == Some(libc::EFAULT);
        if let Some(term) = copy.term.filter(|_| fault)
            && !in_force(pid, term)
        {
            // It may be unmapped by now.
            return Error::Canceled;
        }
        if !self.complained.replace(true) {
            crate::ucs_diag!("cma: failed to access the memory of process {pid}: {error}");
        }
        match error.raw_os_error() {
            Some(libc::ESRCH) => Error::ConnectionReset,
            // The kernel forbids it (any more).
            Some(libc::EPERM | libc::ENOSYS) => Error::Unsupported,
            Some(libc::ENOMEM) => Error::NoMemory,
            _ => Error::IoError,
        }
    }
}

#[allow(unsafe_code)]
fn transfer(
    direction: Direction,
    pid: u32,
    local: &[Piece],
    remote: &[Piece],
) -> io::Result<usize> {
    // SAFETY: the pieces are what the caller of `get_zcopy` gave to be written, until the
    // operation completes, or a local of ours.
    match unsafe { vmcopy::copy(direction, pid, local, remote) } {
        // Nothing at all although something was asked for: there is no progress to be had.
        Ok(0) => Err(io::Error::from_raw_os_error(libc::EFAULT)),
        other => other,
    }
}

fn piece(address: u64, len: usize) -> Piece {
    Piece { address, len }
}

/// Whether the memory has not been taken back so far, as far as can be seen.
fn in_force(pid: u32, term: Term) -> bool {
    let mut word = 0u64;
    let to = [piece(&raw mut word as u64, size_of::<u64>())];
    let read = transfer(
        Direction::Read,
        pid,
        &to,
        &[piece(term.address, size_of::<u64>())],
    );
    read.is_ok() && term.holds(word)
}

impl Copy {
    /// Bytes that remain.
    fn left(&self) -> usize {
        self.local.iter().map(|piece| piece.len).sum()
    }

    /// `done` bytes, from the start, need not be copied any more.
    fn used(&mut self, done: usize) {
        self.remote = self.remote.wrapping_add(done as u64);
        let mut left = done;
        let mut gone = 0;
        for piece in &mut self.local {
            let len = piece.len.min(left);
            piece.address = piece.address.wrapping_add(len as u64);
            piece.len -= len;
            left -= len;
            if piece.len > 0 {
                break;
            }
            gone += 1;
        }
        self.local.drain(..gone);
    }
}
