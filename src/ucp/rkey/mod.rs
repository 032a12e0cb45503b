//! Remote keys: the right, and the ways, to access a region of a peer.

pub mod wire;

use core::cmp::Ordering;
use std::rc::Rc;
use std::sync::Arc;

use crate::sys::usermem::UserMem;
use crate::ucp::ep::Endpoint;
use crate::ucp::mem::{Memory, RegionId, Registered, offset_in};
use crate::ucs::status::{Error, Result};

/// Memory of a region that this process can load from and store to.
enum Mapped {
    /// A region of this very context.
    Own(Arc<Memory>),
}

/// A key (`ucp_rkey_h`), unpacked for one endpoint. Operations in flight count as users of it, so
/// the user may destroy it at any time.
pub struct RemoteKey {
    packed: wire::Packed,
    mapped: Option<Mapped>,
}

/// The bytes by which a peer gets at this region.
pub fn pack(memory: &Registered) -> Result<Vec<u8>> {
    let packed = wire::Packed {
        kind: wire::Kind::Key,
        context: memory.context().uid,
        region: memory.id(),
        address: memory.memory().address() as u64,
        len: memory.memory().len() as u64,
        memory_type: 0,
        flags: 0,
        entries: smallvec::SmallVec::new(),
    };
    Ok(wire::encode(&packed))
}

/// Logs why packed bytes are refused, and gives the error for it.
pub fn refuse(problem: &str) -> Error {
    crate::ucs_error!("refused a packed key: {problem}");
    Error::InvalidParam
}

impl RemoteKey {
    /// # Errors
    /// `InvalidParam` for what is no key or a damaged one.
    pub fn unpack(ep: &Rc<Endpoint>, bytes: &[u8]) -> Result<Arc<RemoteKey>> {
        let packed = wire::decode(bytes).map_err(refuse)?;
        if packed.kind != wire::Kind::Key {
            return Err(refuse("it is an exported memory handle"));
        }
        let context = ep.worker().context();
        let mapped = (packed.context == context.uid)
            .then(|| context.regions.find(packed.region))
            .flatten()
            .map(Mapped::Own);
        Ok(Arc::new(RemoteKey { packed, mapped }))
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
        match self.mapped.as_ref()? {
            Mapped::Own(memory) => memory.slice(remote, len),
        }
    }

    /// The byte at `remote` and those after it, to the end of the region (`ucp_rkey_ptr`).
    ///
    /// # Errors
    /// `InvalidAddr` outside of the region, `Unreachable` where the memory can't be mapped.
    pub fn pointer(&self, remote: u64) -> Result<UserMem> {
        self.check(remote, 1)?;
        let rest = self.packed.address + self.packed.len - remote;
        let rest = usize::try_from(rest).map_err(|_| Error::Unreachable)?;
        self.mapped(remote, rest).ok_or(Error::Unreachable)
    }

    /// True if a lane that needs no key of its own (CMA) may access the region.
    pub fn allows_copy(&self) -> bool {
        true
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
