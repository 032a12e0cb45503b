//! Remote keys: the right, and the ways, to access a region of a peer.

pub mod config;
pub mod wire;

use core::cmp::Ordering;
use std::rc::Rc;
use std::sync::{Arc, OnceLock, Weak};

use config::RkeyConfig;

use crate::sys::usermem::UserMem;
use crate::ucp::address::TlId;
use crate::ucp::context::Context;
use crate::ucp::ep::Endpoint;
use crate::ucp::mem::attach::{self, Attached};
use crate::ucp::mem::device;
use crate::ucp::mem::{Memory, RegionId, Registered, Window, offset_in};
use crate::ucs::memory::MemoryType;
use crate::ucs::status::{Error, Result};
use crate::uct::cuda::ipc::cache::Unused;
use crate::uct::cuda::ipc::{self, Named};

/// Memory of a region that this process can load from and store to.
enum Mapped {
    /// A region of this very context, while it is registered.
    Own(Weak<Memory>, Window),
    /// Memory of another process.
    Peer(#[allow(dead_code)] Arc<Attached>, Window),
}

/// A key (`ucp_rkey_h`), unpacked for one endpoint. Operations in flight count as users of it, so
/// the user may destroy it at any time.
pub struct RemoteKey {
    packed: wire::Packed,
    config: Arc<RkeyConfig>,
    /// Memory of a device, as `cuda_ipc` knows it.
    device: Option<Named>,
    /// Mapped when first needed: a key may be for a region that is only ever used by other means.
    mapped: OnceLock<Option<Mapped>>,
    context: Arc<Context>,
}

/// The bytes by which a peer gets at this region.
pub fn pack(memory: &Registered) -> Vec<u8> {
    wire::encode(&memory.packed(wire::Kind::Key))
}

/// The bytes by which other processes of this host can map this region.
///
/// # Errors
/// `Unsupported` if they can't.
pub fn export(memory: &Registered) -> Result<Vec<u8>> {
    let packed = memory.packed(wire::Kind::Exported);
    if packed.len != 0 && packed.entries.is_empty() {
        crate::ucs_diag!(
            "{} bytes at {:#x} can't be exported: only memory that ucp_mem_map allocated on shared \
             memory can",
            packed.len,
            packed.address
        );
        return Err(Error::Unsupported);
    }
    Ok(wire::encode(&packed))
}

/// Reads a key or an exported handle.
///
/// # Errors
/// `InvalidParam` for what is neither, a damaged one, or one of the other kind, after a message.
pub fn read(bytes: &[u8], kind: wire::Kind) -> Result<wire::Packed> {
    let packed = wire::decode(bytes).map_err(refuse)?;
    if packed.kind == kind {
        return Ok(packed);
    }
    Err(refuse(match kind {
        wire::Kind::Key => "it is an exported memory handle, no remote key",
        wire::Kind::Exported => "it is a remote key, no exported memory handle",
    }))
}

/// Logs why packed bytes are refused, and gives the error for it.
pub fn refuse(problem: &str) -> Error {
    crate::ucs_error!("refused a packed key: {problem}");
    Error::InvalidParam
}

impl RemoteKey {
    /// # Errors
    /// `InvalidParam` for what is no key or a damaged one, after a message.
    pub fn unpack(ep: &Rc<Endpoint>, bytes: &[u8]) -> Result<Arc<RemoteKey>> {
        let key = RemoteKey::of_context(ep.worker().context(), bytes)?;
        crate::ucp::print::key_info(ep, &key);
        Ok(key)
    }

    fn of_context(context: &Arc<Context>, bytes: &[u8]) -> Result<Arc<RemoteKey>> {
        let packed = read(bytes, wire::Kind::Key)?;
        crate::ucs_trace!(
            "unpacked a key of region {:#x} of context {:#x}: {} bytes at {:#x}, {} ways to map it",
            packed.region,
            packed.context,
            packed.len,
            packed.address,
            packed.entries.len()
        );
        Ok(Arc::new(RemoteKey {
            config: context.rkey_configs.of(context, &packed),
            // The user is told that nothing is left of a key when it is destroyed.
            device: device::key(context, &packed, Unused::Closes),
            packed,
            mapped: OnceLock::new(),
            context: context.clone(),
        }))
    }

    fn map(&self) -> Option<Mapped> {
        // What no processor may touch is not mapped.
        if !self.memory_type().is_host() {
            return None;
        }
        let packed = &self.packed;
        if packed.context == self.context.uid {
            let memory = self.context.regions.find(packed.region)?;
            let window = memory.window();
            return Some(Mapped::Own(Arc::downgrade(&memory), window));
        }
        let attached = attach::first(&self.context, packed)?;
        let window = Window::of_peer(attached.memory(), packed.address, packed.len);
        Some(Mapped::Peer(attached, window))
    }

    /// The first byte of the region, at the peer.
    pub fn address(&self) -> u64 {
        self.packed.address
    }

    /// The region is one of this context.
    pub fn is_own(&self) -> bool {
        self.packed.context == self.context.uid
    }

    /// Those that the region can be mapped by, somewhere.
    pub fn transports(&self) -> impl Iterator<Item = TlId> + '_ {
        self.packed.entries.iter().map(|entry| entry.tl)
    }

    /// What it has in common with others.
    pub fn config(&self) -> &RkeyConfig {
        &self.config
    }

    /// The region's id at the peer, for operations that the peer carries out.
    pub fn region(&self) -> RegionId {
        self.packed.region
    }

    /// # Errors
    /// `InvalidAddr` when the bytes are not all in the region. No bytes are anywhere.
    pub fn check(&self, remote: u64, len: usize) -> Result<()> {
        let within = || offset_in(self.packed.address, self.packed.len, remote, len).is_some();
        if len == 0 || within() {
            Ok(())
        } else {
            Err(Error::InvalidAddr)
        }
    }

    /// The peer's bytes as memory of this process, where both can access it.
    pub fn mapped(&self, remote: u64, len: usize) -> Option<UserMem> {
        if !self.config.may_map {
            return None;
        }
        match self.mapped.get_or_init(|| self.map()).as_ref()? {
            Mapped::Own(memory, window) if memory.strong_count() != 0 => window.slice(remote, len),
            Mapped::Own(..) => None,
            Mapped::Peer(_, window) => window.slice(remote, len),
        }
    }

    /// The byte at `remote` and those after it, to the end of the region (`ucp_rkey_ptr`).
    ///
    /// # Errors
    /// `InvalidAddr` outside of the region, `Unreachable` where the memory can't be mapped.
    pub fn pointer(&self, remote: u64) -> Result<UserMem> {
        if let Some(device) = &self.device {
            self.check(remote, 1)?;
            return device::pointer(device, remote);
        }
        // What can't be mapped at all is so wherever the pointer leads.
        self.mapped(self.packed.address, 1)
            .ok_or(Error::Unreachable)?;
        self.check(remote, 1)?;
        let rest = self.packed.address + self.packed.len - remote;
        let rest = usize::try_from(rest).map_err(|_| Error::Unreachable)?;
        self.mapped(remote, rest).ok_or(Error::Unreachable)
    }

    /// True if a lane that needs no key of its own (CMA) may access the region.
    pub fn allows_copy(&self) -> bool {
        self.memory_type().is_host()
    }

    /// Of the peer's memory.
    pub fn memory_type(&self) -> MemoryType {
        MemoryType::of(self.packed.memory_type.into())
    }

    /// What the lane for device memory is to be given, if the region is of that kind.
    pub fn device(&self) -> Option<u64> {
        self.device.as_ref().map(Named::number)
    }

    /// The region as memory of a device.
    pub fn device_key(&self) -> Option<&ipc::Key> {
        self.device.as_ref().map(|named| &**named.key())
    }

    /// An order of keys; equal ones are for the same memory and are used alike.
    pub fn compare(&self, other: &RemoteKey) -> Ordering {
        let rank = |key: &RemoteKey| {
            let packed = &key.packed;
            (packed.context, packed.region, packed.address, packed.len)
        };
        rank(self).cmp(&rank(other))
    }
}

#[cfg(test)]
mod tests;
