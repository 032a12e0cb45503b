//! Memory events (UCM): who wants to hear of memory that comes and goes.
//!
//! Events come from calls that are intercepted in the whole program ([`hook`]), from the library's
//! own calls with events (`ucm_munmap`), and from somebody else who has hooks and reports
//! (`ucm_vm_munmap`). Nothing is intercepted before somebody has asked for an event.

pub mod event;
pub mod events;
#[allow(unsafe_code)]
pub mod handlers;
pub mod settings;

#[allow(unsafe_code)]
pub mod calls;
#[allow(unsafe_code)]
pub mod device;
#[allow(unsafe_code)]
mod hook;
#[allow(unsafe_code)]
mod maps;
#[allow(unsafe_code)]
pub mod orig;
#[allow(unsafe_code)]
mod probe;
#[allow(unsafe_code)]
mod watch;

pub use event::Event;
pub use handlers::{Callback, Handler};
pub use hook::forks;
pub use settings::{Mode, Settings};
pub use watch::{Watch, Watcher};

use crate::ucs::status::{Error, Result};

/// Calls a handler for these events, in the order of priorities: negative ones before the call
/// itself, others after it. `VM_UNMAPPED` always comes before the memory goes.
///
/// # Errors
/// `InvalidParam` for bits without a meaning, `Unsupported` for events that nobody reports and
/// that can't be intercepted.
pub fn set_handler(wanted: u32, priority: i32, handler: Handler) -> Result<()> {
    if wanted & !events::ALL != 0 {
        return Err(Error::InvalidParam);
    }
    let settings = Settings::get();
    if wanted != 0 && !settings.events {
        return Err(Error::Unsupported);
    }
    let unreported = wanted & !events::FLAGS & !handlers::external();
    if wanted & events::FLAG_NO_INSTALL == 0 && unreported != 0 {
        hook::require(unreported, &settings)?;
    }
    handlers::add(wanted, priority, handler)
}

/// Takes these events away from a handler. It doesn't run any more when this returns; not to be
/// called from a handler.
pub fn unset_handler(unwanted: u32, handler: Handler) {
    handlers::remove(unwanted, handler);
}

/// Tries whether the events that are intercepted come.
///
/// # Errors
/// `Unsupported` if not.
pub fn test(wanted: u32) -> Result<()> {
    nothing(hook::broken(wanted & !events::FLAGS)?, "intercepted")
}

/// Tries whether the events come that somebody else promised to report.
///
/// # Errors
/// `Unsupported` if not.
pub fn test_external(wanted: u32) -> Result<()> {
    nothing(hook::broken_external(wanted & !events::FLAGS)?, "external")
}

fn nothing(missing: u32, kind: &str) -> Result<()> {
    if missing == 0 {
        return Ok(());
    }
    crate::ucs_diag!("{kind} memory events that don't come: {missing:#x}");
    Err(Error::Unsupported)
}

#[cfg(test)]
#[allow(unsafe_code)]
mod tests;
