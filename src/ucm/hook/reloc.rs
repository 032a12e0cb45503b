//! Hooks by the relocation tables: every loaded object's references to a function lead to ours.
//!
//! Objects that are loaded later are changed when `dlopen`, which is redirected too, returns. What
//! libc calls inside itself isn't reached, so its heap is told to unmap nothing; see [`super::heap`].

use core::ffi::{CStr, c_void};

use parking_lot::Mutex;

use super::elf::{self, Redirect};
use super::{Call, definitions, dlopen, heap};
use crate::ucm::settings::Settings;
use crate::ucs::status::{Error, Result};

/// Everything that is redirected, for objects loaded later.
static REDIRECTS: Mutex<Vec<Redirect>> = Mutex::new(Vec::new());

/// Redirects these calls in the whole program.
///
/// # Errors
/// `NoElem` if libc doesn't have one of the functions.
pub fn install(calls: &[Call], settings: &Settings) -> Result<()> {
    let mut redirects = REDIRECTS.lock();
    let mut wanted: Vec<(&'static CStr, usize)> = calls
        .iter()
        .flat_map(|call| call.names().iter().map(|name| (*name, call.hook())))
        .collect();
    if dlopen::prepare(settings.rpath) {
        let hook = dlopen::hook as *const c_void;
        wanted.push((c"dlopen", hook.expose_provenance()));
    }
    if settings.heap {
        wanted.extend(heap::prepare(settings.heap_blocks));
    }
    for (name, target) in wanted {
        if redirects.iter().any(|redirect| redirect.name == name) {
            continue;
        }
        let original = *definitions(name).first().ok_or(Error::NoElem)?;
        redirects.push(Redirect {
            name,
            target,
            original,
        });
    }
    let found = elf::redirect(&redirects);
    crate::ucs_debug!("memory events: {found} references of loaded objects redirected");
    Ok(())
}

/// Redirects what was loaded meanwhile.
pub fn refresh() {
    elf::redirect(&REDIRECTS.lock());
}
