//! Memory of devices, which others of the host open by `cuda_ipc`.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use parking_lot::Mutex;

use crate::sys::usermem::UserMem;
use crate::ucp::address::TlId;
use crate::ucp::context::Context;
use crate::ucp::rkey::wire::{Entry, Packed};
use crate::ucs::status::{Error, Result};
use crate::uct::Component;
use crate::uct::cuda::ipc::cache::Unused;
use crate::uct::cuda::ipc::wire::Handle;
use crate::uct::cuda::ipc::{CUDA_IPC, Key, Named, key as ipc, owner};
use crate::uct::cuda::memtype;

/// What others need to open a region. Made once, and kept as long as the region: keys name it.
#[derive(Default)]
pub struct Export(OnceLock<Option<Exported>>);

struct Exported {
    entry: Entry,
    _memory: owner::Exported,
}

impl Export {
    #[allow(clippy::declare_interior_mutable_const)]
    pub const NONE: Export = Export(OnceLock::new());

    /// `None` for memory of the host, or where `cuda_ipc` is not in use.
    pub fn get(&self, context: &Context, at: u64) -> Option<Entry> {
        let exported = self.0.get_or_init(|| export(context, at));
        exported.as_ref().map(|exported| exported.entry.clone())
    }
}

fn is_in_use(context: &Context) -> bool {
    let mut used = context.components_in_use();
    used.any(|component| component.name() == CUDA_IPC.name())
}

fn export(context: &Context, at: u64) -> Option<Exported> {
    if !is_in_use(context) {
        return None;
    }
    let (driver, _) = ipc::mappings().ok()?;
    let memory = owner::export(driver, at).ok()?;
    let tl = TlId::of(CUDA_IPC.name());
    Some(Exported {
        entry: Entry::new(tl, &memory.key.encode()),
        _memory: memory,
    })
}

/// By what others open the allocation that a buffer lies in, for the time of a message. What was
/// found is remembered as long as the allocation is the same.
pub fn entry(context: &Context, at: u64) -> Option<Entry> {
    /// Most allocations that are remembered.
    const MOST: usize = 1024;
    static KNOWN: Mutex<BTreeMap<u64, (u64, Entry)>> = Mutex::new(BTreeMap::new());
    if !is_in_use(context) {
        return None;
    }
    let (driver, _) = ipc::mappings().ok()?;
    let base = memtype::detect(at as usize).ok()??.base as u64;
    let id = driver.buffer_id(at).ok()??;
    if let Some((known, entry)) = KNOWN.lock().get(&base)
        && *known == id
    {
        return Some(entry.clone());
    }
    let exported = owner::export(driver, at).ok()?;
    // A descriptor would keep the memory alive.
    let lasting = !matches!(
        exported.key.handle,
        Handle::Nothing | Handle::Descriptor { .. }
    );
    if !lasting || exported.key.what.base != base {
        return None;
    }
    let entry = Entry::new(TlId::of(CUDA_IPC.name()), &exported.key.encode());
    let mut known = KNOWN.lock();
    if known.len() >= MOST {
        known.clear();
    }
    known.insert(base, (id, entry.clone()));
    Some(entry)
}

/// The key of device memory among a region's entries. Nothing is mapped by that.
pub fn key(context: &Context, packed: &Packed, unused: Unused) -> Option<Named> {
    read(context, &packed.entries, unused)
}

/// The same for a rendezvous: what it maps stays, for the next.
pub fn key_of(context: &Context, entries: &[Entry]) -> Option<Named> {
    read(context, entries, Unused::Stays)
}

fn read(context: &Context, entries: &[Entry], unused: Unused) -> Option<Named> {
    let tl = TlId::of(CUDA_IPC.name());
    let entry = entries.iter().find(|entry| entry.tl == tl)?;
    if !is_in_use(context) {
        return None;
    }
    let key = Key::read(&entry.bytes, unused);
    let key = key.inspect_err(|_| crate::ucs_error!("a key of cuda_ipc is damaged"));
    key.ok().map(Named::new)
}

/// Where the owner's address is for the current device, as long as the key lives.
///
/// # Errors
/// `Unreachable` if the device can't get there.
pub fn pointer(key: &Named, remote: u64) -> Result<UserMem> {
    let at = key.key().pointer(remote);
    let at = at.map_err(|error| match error {
        Error::InvalidAddr => error,
        _ => Error::Unreachable,
    })?;
    let rest = key.key().wire().what.len;
    let offset = remote.wrapping_sub(key.key().wire().what.base);
    let rest = usize::try_from(rest.saturating_sub(offset)).map_err(|_| Error::Unreachable)?;
    Ok(user_memory(at, rest))
}

/// An address of the driver's, for the user. The processor can't use it.
#[allow(unsafe_code)]
fn user_memory(at: u64, len: usize) -> UserMem {
    let at = core::ptr::with_exposed_provenance_mut(at as usize);
    // SAFETY: the user gets the address alone, and it is mapped as long as the key lives.
    unsafe { UserMem::new(at, len) }
}
