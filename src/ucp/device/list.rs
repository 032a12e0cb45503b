//! Lists of memory.
//!
//! ```text
//! version 2 | lanes 2 | length 4
//!   local    address 8
//!   remote   address 8 | endpoint 8 | distance from the owner's address to ours 8
//! the endpoint: kind 1 | 0 7
//! ```
//!
//! A list is in memory of the device, and what it leads to stays mapped until it is released,
//! whatever becomes of its keys. One lane leads to remote memory, `cuda_ipc`; it needs nothing to be
//! known of local memory but where it is.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::ucp::rkey::RemoteKey;
use crate::ucs::memory::MemoryType;
use crate::ucs::status::{Error, Result};
use crate::uct::DeviceMemory;
use crate::uct::cuda::driver::Device;
use crate::uct::cuda::ipc::cache::Unused;
use crate::uct::cuda::ipc::{Access, key as ipc};
use crate::uct::cuda::memory::{Allocation, allocate};
use crate::uct::cuda::mover;

/// `UCP_DEVICE_MEM_LIST_VERSION_V1`
const VERSION: u16 = 2;
/// `UCT_DEVICE_TL_CUDA_IPC`
const CUDA_IPC: u8 = 1;

/// A piece of remote memory.
pub struct Remote<'a> {
    pub address: u64,
    pub key: &'a RemoteKey,
}

struct List {
    length: u32,
    memory: Allocation,
    _mapped: Vec<Access>,
}

/// Those that there are, by their addresses.
static LISTS: Mutex<BTreeMap<usize, List>> = Mutex::new(BTreeMap::new());

fn header(lanes: u16, length: usize) -> Result<(Vec<u8>, u32)> {
    let length = u32::try_from(length).map_err(|_| Error::ExceedsLimit)?;
    let mut bytes = VERSION.to_ne_bytes().to_vec();
    bytes.extend_from_slice(&lanes.to_ne_bytes());
    bytes.extend_from_slice(&length.to_ne_bytes());
    Ok((bytes, length))
}

fn room(len: usize) -> Result<Allocation> {
    allocate(MemoryType::CUDA, len, false)
}

/// Fills the list and makes it known; nothing is left of one that can't be filled.
fn publish(memory: Allocation, length: u32, bytes: &[u8], mapped: Vec<Access>) -> Result<usize> {
    let at = memory.address();
    let to = mover::remote(at as u64, bytes.len());
    mover::write(to, Some(memory.owner()?), bytes)?;
    let list = List {
        length,
        memory,
        _mapped: mapped,
    };
    LISTS.lock().insert(at, list);
    Ok(at)
}

/// A list of local memory.
///
/// # Errors
/// `NoMemory`; `Unsupported` without a device.
pub fn local(addresses: &[u64]) -> Result<usize> {
    let (mut bytes, length) = header(0, addresses.len())?;
    for address in addresses {
        bytes.extend_from_slice(&address.to_ne_bytes());
    }
    publish(room(bytes.len())?, length, &bytes, Vec::new())
}

/// A list of remote memory, with gaps.
///
/// # Errors
/// `InvalidParam` for memory that is not to be reached from the device, after a message.
pub fn remote(pieces: &[Option<Remote<'_>>]) -> Result<usize> {
    let (mut bytes, length) = header(1, pieces.len())?;
    let (driver, _) = ipc::mappings()?;
    let device = driver.current_device()?;
    let device = device.map_or_else(|| ipc::usable_device(None), Ok)?;
    let end = bytes.len() + pieces.len() * 24;
    let memory = room(end + 8)?;
    let ep = memory.address() as u64 + end as u64;
    let mut mapped = Vec::new();
    for piece in pieces {
        let [address, ep, distance] = match piece {
            None => [0; 3],
            Some(piece) => {
                let (access, distance) = open(piece, device)?;
                mapped.push(access);
                [piece.address, ep, distance]
            }
        };
        for word in [address, ep, distance] {
            bytes.extend_from_slice(&word.to_ne_bytes());
        }
    }
    bytes.extend_from_slice(&[CUDA_IPC, 0, 0, 0, 0, 0, 0, 0]);
    publish(memory, length, &bytes, mapped)
}

fn open(piece: &Remote<'_>, device: Device) -> Result<(Access, u64)> {
    let Some(key) = piece.key.device_key() else {
        crate::ucs_error!("a remote memory list needs memory of a device that cuda_ipc reaches");
        return Err(Error::InvalidParam);
    };
    let base = key.wire().what.base;
    let access = key.map(device, base, 0, Unused::Stays)?;
    let distance = access.address().wrapping_sub(base);
    Ok((access, distance))
}

/// Elements of a list; `None` if there is no such list.
pub fn length(at: usize) -> Option<u32> {
    LISTS.lock().get(&at).map(|list| list.length)
}

/// False if there is no such list.
pub fn release(at: usize) -> bool {
    let list = LISTS.lock().remove(&at);
    // What it holds is let go without the lock.
    list.is_some_and(|list| list.memory.len() != 0)
}
