//! Memory of other processes that is open here: who holds it, and when it is closed.
//!
//! The life of a mapping is a counted value. There are two kinds of holders:
//! - [`Pin`]: somebody has the address and may use it at any time: an operation in flight, a pointer
//!   given to the user, a memory element. An address can be had only through a pin, and while there
//!   is one the mapping is never closed.
//! - [`Interest`]: a key that has mapped, and may map again. It keeps the mapping from being closed
//!   for want of use, but not from being given up for a newer one; then the key's next use maps anew.
//!   Its release is where a mapping goes that nobody else holds.
//!
//! So a key that has never mapped has nothing to let go, and a release that comes twice, or after
//! the mapping was replaced, can't be written.
//!
//! Mappings are kept per [`Place`]: the process whose memory it is, and our device that uses it. In
//! a place the owner's addresses tell them apart; what lies at the addresses of a newer allocation
//! is stale, since its owner must have freed it. All driver calls that open and close are made under
//! one lock: they are seldom, and a mapping that is being closed can't be found.

mod holders;
mod limits;
mod region;
mod state;
#[cfg(test)]
mod tests;

pub use holders::{Interest, Peer, Pin};
pub use limits::Limits;
pub use region::{Allocation, Place, Process};

use std::sync::Arc;

use parking_lot::Mutex;

use crate::ucs::status::{Error, Result};
use state::State;

/// What a cache needs of the driver.
pub trait Opener: Send + Sync {
    /// What an owner sends so that its allocation can be opened.
    type Handle: ?Sized;
    /// Memory that is open.
    type Open: Send;

    /// Opens an allocation on our device.
    ///
    /// # Errors
    /// `AlreadyExists` if something that is still open is in the way.
    fn open(&self, place: Place, what: &Allocation, handle: &Self::Handle) -> Result<Self::Open>;

    /// Where its first byte is in this process.
    fn address(&self, open: &Self::Open) -> u64;

    /// Called once for each that was opened. There is nothing to be done about a failure.
    fn close(&self, place: Place, what: &Allocation, open: Self::Open);
}

/// Whether a mapping stays open when nobody holds it any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unused {
    /// Until its place in the cache is wanted or its owner is forgotten.
    Stays,
    Closes,
}

/// See the module.
pub struct Cache<O: Opener> {
    opener: O,
    state: Mutex<State<O::Open>>,
}

impl<O: Opener> Cache<O> {
    pub fn new(opener: O) -> Arc<Cache<O>> {
        Arc::new(Cache {
            opener,
            state: Mutex::new(State::default()),
        })
    }

    /// Makes the limits at least as tight as these.
    pub fn limit(&self, limits: Limits) {
        self.state.lock().limits.tighten(limits);
    }

    /// Opens the allocation, or finds it open, and holds it. `interest` is the key's, from now on.
    /// With [`Unused::Closes`] the mapping is closed with its last holder (a cache that is off).
    ///
    /// # Errors
    /// The driver's; `Busy` if an older mapping that is still in use is in the way.
    pub fn map(
        self: &Arc<Self>,
        place: Place,
        what: &Allocation,
        handle: &O::Handle,
        interest: Option<&mut Vec<Interest<O>>>,
        unused: Unused,
    ) -> Result<Pin<O>> {
        let (id, address, wanted) = {
            let mut state = self.state.lock();
            let id = state.find_or_open(&self.opener, place, what, handle)?;
            let region = state.pin(id, unused).ok_or(Error::NoElem)?;
            let address = self.opener.address(&region.open);
            let known = |list: &&mut Vec<Interest<O>>| list.iter().any(|i| i.id() == id);
            let wanted = interest.filter(|list| !known(list));
            if wanted.is_some() {
                region.keys += 1;
            }
            state.shrink(&self.opener, place);
            (id, address, wanted)
        };
        if let Some(list) = wanted {
            list.push(Interest::new(self, (place, *what), id));
        }
        Ok(Pin::new(self, id, address))
    }

    /// Counts an endpoint to that process: with the last of them all goes that is not in use.
    pub fn peer(self: &Arc<Self>, process: Process) -> Peer<O> {
        *self.state.lock().peers.entry(process).or_default() += 1;
        Peer::new(self, process)
    }

    /// Closes all that is not in use, and the rest with its last user.
    pub fn purge(&self) {
        self.state.lock().forget(&self.opener, |_| true);
    }

    fn unpin(&self, id: u64) {
        self.state.lock().unpin(&self.opener, id);
    }

    fn release(&self, id: u64, of: (Place, &Allocation), unused: Unused) {
        self.state.lock().release(&self.opener, id, of, unused);
    }

    fn forget(&self, process: Process) {
        let mut state = self.state.lock();
        if state.is_last(process) {
            state.forget(&self.opener, |place| place.process == process);
        }
    }

    /// Open mappings.
    pub fn len(&self) -> usize {
        self.state.lock().regions.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<O: Opener> Drop for Cache<O> {
    /// Holders keep the cache, so nobody holds anything.
    fn drop(&mut self) {
        self.purge();
    }
}
