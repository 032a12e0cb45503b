//! An interface, and its endpoints.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;

use super::cache::{Peer, Process, Unused};
use super::copies::{Copies, Direction, Order, Settings};
use super::opener::Ours;
use super::{key, owner};
use crate::sys::hostid::host_ids;
use crate::ucs::config::{Config, Ternary};
use crate::ucs::memory::MemoryType;
use crate::ucs::status::{Error, Result};
use crate::uct::DeviceMemory;
use crate::uct::cuda::driver::{Driver, has_links};
use crate::uct::cuda::memory::{self, Allocation};
use crate::uct::cuda::mover;
use crate::uct::ep::{Ep, EpParams, IoVec, IoVecMut, Post, Transfer, Which};
use crate::uct::gate::Gate;
use crate::uct::iface::{Arm, Events, Iface, IfaceAttr, IfaceCaps, PerfAttr};
use crate::uct::registry::Transport;

const DEVICE_ADDR_LEN: usize = 8;
/// Most streams, as in UCX.
const MAX_STREAMS: u32 = 128;
/// What code on a device reads of an endpoint: `UCT_DEVICE_TL_CUDA_IPC`, and nothing.
const DEVICE_EP: [u8; 8] = [1, 0, 0, 0, 0, 0, 0, 0];
const MIB: f64 = 1024.0 * 1024.0;

pub struct IpcIface {
    attr: IfaceAttr,
    copies: Rc<Copies>,
    next_ep: Cell<u64>,
}

pub struct IpcEp {
    copies: Rc<Copies>,
    /// Tells its copies from those of others.
    id: u64,
    /// What was mapped of the process goes with the last endpoint to it.
    _peer: Peer<Ours>,
    device_ep: OnceCell<Allocation>,
}

impl Transport for IpcIface {
    type Ep = IpcEp;
}

impl IpcIface {
    /// # Errors
    /// `InvalidParam` for too many streams, after a message; `NoDevice`.
    pub fn open(config: &Config) -> Result<IpcIface> {
        let (driver, _) = key::mappings()?;
        let streams = config.uint("CUDA_IPC_MAX_STREAMS");
        if streams == 0 || streams > MAX_STREAMS {
            crate::ucs_error!(
                "UCX_CUDA_IPC_MAX_STREAMS={streams} is not between 1 and {MAX_STREAMS}"
            );
            return Err(Error::InvalidParam);
        }
        let keeps = config.bool_("CUDA_IPC_CACHE");
        let settings = Settings {
            max_poll: config.uint("CUDA_IPC_MAX_POLL").max(1) as usize,
            max_streams: streams as usize,
            max_events: config.uint("CUDA_IPC_MAX_EVENTS").max(1) as usize,
            unused: if keeps { Unused::Stays } else { Unused::Closes },
        };
        let bandwidth = config.bandwidth("CUDA_IPC_BW");
        let reads = match config.ternary("CUDA_IPC_ENABLE_GET_ZCOPY") {
            Ternary::Yes => true,
            Ternary::No => false,
            Ternary::Try | Ternary::Auto => has_links(),
        };
        Ok(IpcIface {
            attr: attr(bandwidth.unwrap_or_else(|| bandwidth_of(driver)), reads),
            copies: Rc::new(Copies::new(driver, settings)),
            next_ep: Cell::new(0),
        })
    }
}

/// Bytes per second between devices, by the generation of the first.
fn bandwidth_of(driver: &Driver) -> f64 {
    let device = driver.devices().next();
    let generation = device.and_then(|device| driver.generation(device).ok());
    let mebibytes = match generation {
        Some(6) => 80_000.0,
        Some(7) => 250_000.0,
        Some(8) => 300_000.0,
        Some(9) => 400_000.0,
        Some(10) => 800_000.0,
        _ => 6_911.0,
    };
    mebibytes * MIB
}

fn attr(bandwidth: f64, reads: bool) -> IfaceAttr {
    let reading = if reads {
        IfaceCaps::GET_ZCOPY
    } else {
        IfaceCaps::empty()
    };
    IfaceAttr {
        caps: reading
            | IfaceCaps::PUT_ZCOPY
            | IfaceCaps::ERR_PEER
            | IfaceCaps::DEVICE_ONLY
            | IfaceCaps::LISTS
            | IfaceCaps::DEVICE_EP,
        max_short: 0,
        max_bcopy: 0,
        max_zcopy: 0,
        max_zcopy_header: 0,
        max_iov: 1,
        max_rma: usize::MAX,
        device_addr_len: DEVICE_ADDR_LEN,
        iface_addr_len: address_of(owner::this_process()).len(),
        perf: PerfAttr {
            latency: 1e-6,
            overhead: 7e-6,
            bw_shared: bandwidth,
            bw_dedicated: 0.0,
            priority: 0,
        },
    }
}

/// The kernel's number of the pid namespace in which all others are.
const FIRST_NAMESPACE: u32 = 0xefff_fffc;

/// Process id, and its namespace if it isn't the first.
fn address_of(process: Process) -> Vec<u8> {
    let mut out = process.pid.to_ne_bytes().to_vec();
    if process.pid_ns != FIRST_NAMESPACE {
        out.extend_from_slice(&process.pid_ns.to_ne_bytes());
    }
    out
}

fn parse(address: &[u8]) -> Option<Process> {
    let (pid, rest) = address.split_first_chunk()?;
    let pid_ns = match rest {
        [] => FIRST_NAMESPACE,
        _ => u32::from_ne_bytes(rest.try_into().ok()?),
    };
    let pid = i32::from_ne_bytes(*pid);
    (pid > 0).then_some(Process { pid, pid_ns })
}

impl Iface for IpcIface {
    fn attr(&self) -> &IfaceAttr {
        &self.attr
    }

    fn device_address(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&host_ids().boot.to_ne_bytes());
    }

    fn iface_address(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&address_of(owner::this_process()));
    }

    fn reachable(&self, device_addr: &[u8], iface_addr: &[u8]) -> core::result::Result<(), String> {
        let process = parse(iface_addr).ok_or("that is no address")?;
        if device_addr != host_ids().boot.to_ne_bytes() {
            return Err("different machine and no MNNVL".to_owned());
        }
        if process == owner::this_process() {
            return Err("same process".to_owned());
        }
        Ok(())
    }

    fn create_ep(&self, params: &EpParams<'_>) -> Result<Rc<dyn Ep>> {
        let process = parse(params.iface_addr).ok_or(Error::InvalidAddr)?;
        let id = self.next_ep.get();
        self.next_ep.set(id + 1);
        Ok(Rc::new(IpcEp {
            copies: self.copies.clone(),
            id,
            _peer: key::mappings()?.1.peer(process),
            device_ep: OnceCell::new(),
        }))
    }

    fn progress(&self, events: &dyn Events) -> usize {
        if self.copies.in_flight().get() == 0 {
            return 0;
        }
        let ended = self.copies.advance();
        let count = ended.len();
        for (token, result) in ended {
            events.completed(token, result);
        }
        count
    }

    fn gate(&self) -> Option<Gate> {
        Some(Gate::new(self.copies.in_flight().clone(), None))
    }

    fn arm(&self, _tx_blocked: bool) -> Result<Arm> {
        match self.copies.in_flight().get() {
            0 => Ok(Arm::Armed),
            _ => Ok(Arm::Busy),
        }
    }
}

impl IpcEp {
    fn post(&self, direction: Direction, list: &[Transfer], token: u64) -> Result<Post> {
        self.copies.post(&Order {
            ep: self.id,
            token,
            direction,
            list,
        })
    }

    /// The endpoint as code on a device sees it, made when it is first asked for.
    fn make_device_ep(&self) -> Result<Allocation> {
        let memory = memory::allocate(MemoryType::CUDA, DEVICE_EP.len(), false)?;
        let at = mover::remote(memory.address() as u64, DEVICE_EP.len());
        mover::write(at, Some(memory.owner()?), &DEVICE_EP)?;
        Ok(memory)
    }
}

/// The one piece of an I/O vector, if any.
fn only<T>(iov: &[T], of: impl Fn(&T) -> Transfer) -> Result<Option<Transfer>> {
    match iov {
        [] => Ok(None),
        [piece] => Ok(Some(of(piece))),
        _ => Err(Error::InvalidParam),
    }
}

impl Ep for IpcEp {
    fn get_zcopy(&self, iov: &[IoVecMut], remote: u64, rkey: u64, token: u64) -> Result<Post> {
        let piece = only(iov, |v| Transfer {
            local: v.ptr,
            len: v.len,
            remote,
            rkey,
        })?;
        self.post(Direction::Get, piece.as_slice(), token)
    }

    fn put_zcopy(&self, iov: &[IoVec], remote: u64, rkey: u64, token: u64) -> Result<Post> {
        let piece = only(iov, |v| Transfer {
            local: v.ptr.cast_mut(),
            len: v.len,
            remote,
            rkey,
        })?;
        self.post(Direction::Put, piece.as_slice(), token)
    }

    fn get_list(&self, list: &[Transfer], token: u64) -> Result<Post> {
        self.post(Direction::Get, list, token)
    }

    fn put_list(&self, list: &[Transfer], token: u64) -> Result<Post> {
        self.post(Direction::Put, list, token)
    }

    fn device_ep(&self) -> Result<u64> {
        if let Some(memory) = self.device_ep.get() {
            return Ok(memory.address() as u64);
        }
        let memory = self.make_device_ep()?;
        Ok(self.device_ep.get_or_init(|| memory).address() as u64)
    }

    fn flush(&self, token: u64) -> Result<Post> {
        Ok(self.copies.flush(self.id, token))
    }

    fn let_go(&self, which: Which) -> bool {
        self.copies.let_go(self.id, which)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for pid_ns in [FIRST_NAMESPACE, 7] {
            let process = Process { pid: 12, pid_ns };
            assert_eq!(parse(&address_of(process)), Some(process));
        }
        for damaged in [&[][..], &[1, 2, 3], &[0; 4], &[255; 4], &[1; 7], &[1; 9]] {
            assert_eq!(parse(damaged), None, "{damaged:?}");
        }
    }
}
