//! Memory of other processes, mapped here.
//!
//! All keys of a process that lead to the same memory share one mapping of it, whatever context
//! or endpoint they belong to. It goes with the last of them.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::sys::usermem::UserMem;
use crate::ucp::address::TlId;
use crate::ucp::context::Context;
use crate::ucp::rkey::wire::{Entry, Packed};
use crate::ucs::status::Result;
use crate::uct::{Component, Shared};

/// Transport and key: a key names the memory for good, see [`crate::uct::SharedMemory::key`].
type Name = (u16, Vec<u8>);

static MAPPED: Mutex<BTreeMap<Name, Weak<Attached>>> = Mutex::new(BTreeMap::new());

/// A mapping that keys share.
pub struct Attached {
    name: Name,
    shared: Shared,
}

impl Attached {
    pub fn tl(&self) -> TlId {
        TlId(self.name.0)
    }

    pub fn key(&self) -> &[u8] {
        &self.name.1
    }

    /// The memory, for as long as this lives.
    pub fn memory(&self) -> UserMem {
        self.shared.memory()
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let mut mapped = MAPPED.lock();
        // A new mapping may have taken the place meanwhile.
        if mapped
            .get(&self.name)
            .is_some_and(|weak| weak.strong_count() == 0)
        {
            mapped.remove(&self.name);
        }
    }
}

/// Maps the memory of the first entry that a transport of the context can use.
pub fn first(context: &Context, packed: &Packed) -> Option<Arc<Attached>> {
    let usable = |entry: &Entry| {
        let mut components = context.components_in_use();
        let component = components.find(|c| TlId::of(c.name()) == entry.tl)?;
        let attached = map(context, component, entry).ok()?;
        (attached.memory().len() as u64 >= packed.len).then_some(attached)
    };
    packed.entries.iter().find_map(usable)
}

fn map(context: &Context, component: &dyn Component, entry: &Entry) -> Result<Arc<Attached>> {
    let name = (entry.tl.0, entry.bytes.to_vec());
    let mut mapped = MAPPED.lock();
    if let Some(attached) = mapped.get(&name).and_then(Weak::upgrade) {
        return Ok(attached);
    }
    let shared = component.attach(&context.config, &entry.bytes)?;
    let attached = Arc::new(Attached {
        name: name.clone(),
        shared,
    });
    mapped.insert(name, Arc::downgrade(&attached));
    Ok(attached)
}

/// True if a key of this process has the memory mapped.
#[cfg(test)]
pub fn is_mapped(entry: &Entry) -> bool {
    let name = (entry.tl.0, entry.bytes.to_vec());
    MAPPED.lock().contains_key(&name)
}
