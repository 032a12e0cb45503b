//! Remote keys: the right, and the ways, to access a region of a peer.

pub mod wire;

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
        context: memory.context().uid,
        region: memory.id(),
        address: memory.memory().address() as u64,
        len: memory.memory().len() as u64,
    };
    Ok(wire::encode(&packed))
}

impl RemoteKey {
    /// # Errors
    /// `InvalidParam` for what is no key or a damaged one, `Unreachable` for the key of another
    /// peer than `ep`'s.
    pub fn unpack(ep: &Rc<Endpoint>, bytes: &[u8]) -> Result<Arc<RemoteKey>> {
        let packed = wire::decode(bytes).map_err(|problem| {
            crate::ucs_error!("refused a remote key: {problem}");
            Error::InvalidParam
        })?;
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
    /// `InvalidAddr` when the bytes are not all in the region.
    pub fn check(&self, remote: u64, len: usize) -> Result<()> {
        offset_in(self.packed.address, self.packed.len, remote, len)
            .map(|_| ())
            .ok_or(Error::InvalidAddr)
    }

    /// The peer's bytes as memory of this process, where both can access it (`ucp_rkey_ptr`).
    pub fn mapped(&self, remote: u64, len: usize) -> Option<UserMem> {
        match self.mapped.as_ref()? {
            Mapped::Own(memory) => memory.slice(remote, len),
        }
    }

    /// True if a lane that needs no key of its own (CMA) may access the region.
    pub fn allows_copy(&self) -> bool {
        true
    }
}
