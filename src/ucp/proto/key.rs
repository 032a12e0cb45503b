//! Who may let go of a remote key, and of memory that a peer can access.
//!
//! A [`Key`] is the right to access memory of the peer. It belongs to a stage, never to an
//! attempt, and goes when the stage does: on success, abort and the endpoint's death alike.
//! [`Exposed`] is the other side: memory of ours that the peer may still write. Both are counted,
//! so that a worker can tell at its end whether each was let go exactly once.
#![forbid(unsafe_code)]

use core::cell::{Cell, OnceCell};
use core::fmt;
use std::rc::Rc;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::sys::usermem::UserMem;
use crate::ucp::context::Context;
use crate::ucp::mem::attach::{self, Attached};
use crate::ucp::mem::{RegionId, Registered, Window};
use crate::ucp::rkey::RemoteKey;
use crate::ucp::rkey::wire::{Entry, Kind, Packed};

/// Keys of a worker's rendezvous: packed for peers and released, unpacked from peers and
/// destroyed.
#[derive(Default, Debug)]
pub struct Counts {
    packed: Cell<u64>,
    released: Cell<u64>,
    unpacked: Cell<u64>,
    destroyed: Cell<u64>,
}

impl Counts {
    /// Nothing is held.
    pub fn is_balanced(&self) -> bool {
        self.packed == self.released && self.unpacked == self.destroyed
    }

    /// All counts, by name.
    pub fn all(&self) -> [(&'static str, u64); 4] {
        [
            ("packed", self.packed.get()),
            ("released", self.released.get()),
            ("unpacked", self.unpacked.get()),
            ("destroyed", self.destroyed.get()),
        ]
    }

    /// Memory is exposed of which its owner keeps no [`Exposed`].
    pub fn exposed(&self) {
        up(&self.packed);
    }

    /// That is over.
    pub fn let_go(&self) {
        up(&self.released);
    }

    /// A key was unpacked, used and let go in one call.
    pub fn used(&self) {
        up(&self.unpacked);
        up(&self.destroyed);
    }

    /// Keys packed, and unpacked, so far.
    pub fn made(&self) -> (u64, u64) {
        (self.packed.get(), self.unpacked.get())
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "keys packed {} released {}, unpacked {} destroyed {}",
            self.packed.get(),
            self.released.get(),
            self.unpacked.get(),
            self.destroyed.get()
        )
    }
}

fn up(count: &Cell<u64>) {
    count.set(count.get() + 1);
}

/// Ways to map memory, each for a transport of its own.
pub type Entries = SmallVec<[Entry; 1]>;

/// Memory of the peer, as a message told of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remote {
    pub address: u64,
    pub len: usize,
    /// The region's id there, 0 where none is needed to access it.
    pub region: RegionId,
    pub entries: Entries,
}

/// A key that only a message of the peer could supply: once it is gone, it can't be had again.
pub struct OwnedKey {
    remote: Remote,
    /// Mapped when first needed.
    mapped: OnceCell<Option<(Arc<Attached>, Window)>>,
    counts: Rc<Counts>,
}

impl OwnedKey {
    pub fn unpack(remote: Remote, counts: &Rc<Counts>) -> OwnedKey {
        up(&counts.unpacked);
        OwnedKey {
            remote,
            mapped: OnceCell::new(),
            counts: counts.clone(),
        }
    }

    fn mapped(&self, context: &Context, remote: u64, len: usize) -> Option<UserMem> {
        let map = || {
            let packed = Packed {
                kind: Kind::Exported,
                context: 0,
                region: self.remote.region,
                address: self.remote.address,
                len: self.remote.len as u64,
                memory_type: 0,
                flags: 0,
                entries: self.remote.entries.clone(),
            };
            let attached = attach::first(context, &packed)?;
            let window = Window::of_peer(attached.memory(), packed.address, packed.len);
            Some((attached, window))
        };
        let (_, window) = self.mapped.get_or_init(map).as_ref()?;
        window.slice(remote, len)
    }
}

impl Drop for OwnedKey {
    fn drop(&mut self) {
        up(&self.counts.destroyed);
    }
}

/// A remote key in a stage, by who lets it go.
pub enum Key {
    /// The stage itself.
    Owned(OwnedKey),
    /// The user, by `ucp_rkey_destroy`. The stage counts as a user of it, so that destroying it
    /// during the operation is safe.
    User(Arc<RemoteKey>),
    /// The operation that this one is a part of.
    Parent(Rc<OwnedKey>),
}

impl Key {
    /// The region's id at the peer.
    pub fn region(&self) -> RegionId {
        match self {
            Key::Owned(key) => key.remote.region,
            Key::User(key) => key.region(),
            Key::Parent(key) => key.remote.region,
        }
    }

    /// The peer's bytes as memory of this process, where both can access it. It stays mapped as
    /// long as the key lives.
    pub fn mapped(&self, context: &Context, remote: u64, len: usize) -> Option<UserMem> {
        match self {
            Key::Owned(key) => key.mapped(context, remote, len),
            Key::User(key) => key.mapped(remote, len),
            Key::Parent(key) => key.mapped(context, remote, len),
        }
    }
}

/// Who writes to memory that is exposed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Writer {
    /// Nobody: it is only read.
    Nobody,
    /// This process, on behalf of messages that name the region: invalidating that is enough.
    Us,
    /// The peer, through the kernel or mapped memory: it can't be stopped from here.
    Peer,
}

/// Why exposed memory may be let go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Proof {
    /// The peer has said that it is done (ATP, ATS).
    Confirmed,
    /// The peer has said that it has stopped.
    Stopped,
    /// The region is invalid from now on, and only we write.
    Invalidated,
    /// The peer is dead.
    Dead,
}

/// Memory that the peer may access, until there is a [`Proof`] that it will not any more.
pub struct Exposed<B> {
    buf: Option<B>,
    registered: Option<Registered>,
    writer: Writer,
    counts: Rc<Counts>,
}

impl<B> Exposed<B> {
    /// `registered`: the region that messages name, if the access needs one.
    pub fn pack(
        buf: B,
        writer: Writer,
        registered: Option<Registered>,
        counts: &Rc<Counts>,
    ) -> Exposed<B> {
        up(&counts.packed);
        Exposed {
            buf: Some(buf),
            registered,
            writer,
            counts: counts.clone(),
        }
    }

    /// The same for what [`Counts::exposed`] has counted, which needs no region.
    pub fn counted(buf: B, writer: Writer, counts: &Rc<Counts>) -> Exposed<B> {
        Exposed {
            buf: Some(buf),
            registered: None,
            writer,
            counts: counts.clone(),
        }
    }

    /// For looking, and for what arrives by other ways.
    pub fn buf(&self) -> Option<&B> {
        self.buf.as_ref()
    }

    pub fn region(&self) -> RegionId {
        self.registered.as_ref().map_or(0, Registered::id)
    }

    /// Whether the buffer is nobody else's business once this is let go.
    pub fn can_invalidate(&self) -> bool {
        self.writer != Writer::Peer
    }

    /// The buffer is the owner's again.
    pub fn release(mut self, _proof: Proof) -> Option<B> {
        self.registered = None;
        self.buf.take()
    }
}

impl<B> Drop for Exposed<B> {
    fn drop(&mut self) {
        if self.buf.is_some() && self.writer == Writer::Peer {
            crate::ucs_debug!("memory that a peer may still write was let go");
        }
        up(&self.counts.released);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote() -> Remote {
        Remote {
            address: 4096,
            len: 100,
            region: 7,
            entries: Entries::new(),
        }
    }

    #[test]
    fn every_key_is_let_go_once() {
        let counts = Rc::<Counts>::default();
        let key = Key::Owned(OwnedKey::unpack(remote(), &counts));
        assert!(!counts.is_balanced());
        drop(key);
        assert!(counts.is_balanced());

        let parent = Rc::new(OwnedKey::unpack(remote(), &counts));
        let children = [Key::Parent(parent.clone()), Key::Parent(parent.clone())];
        drop(parent);
        assert!(!counts.is_balanced());
        assert_eq!(children[1].region(), 7);
        drop(children);
        assert!(counts.is_balanced());

        let exposed = Exposed::pack(3, Writer::Peer, None, &counts);
        assert!(!exposed.can_invalidate());
        assert!(!counts.is_balanced());
        assert_eq!(exposed.release(Proof::Confirmed), Some(3));
        drop(Exposed::pack(4, Writer::Nobody, None, &counts));
        assert!(counts.is_balanced());
        assert_eq!(counts.made(), (2, 2));
    }
}
