//! The list of event handlers, and the events that others report.

use parking_lot::RwLock;
use smallvec::SmallVec;

use super::events;
use crate::ucs::status::{Error, Result};

struct Entry<H> {
    events: u32,
    priority: i32,
    handler: H,
}

/// Handlers of type `H` by event and priority.
pub struct Handlers<H> {
    state: RwLock<State<H>>,
}

struct State<H> {
    /// By priority, lowest first; equal ones in the order of registration.
    entries: Vec<Entry<H>>,
    /// Events that somebody else reports to us.
    external: u32,
}

/// Handlers with their priority, as called for one event.
pub type Called<H> = SmallVec<[(i32, H); 4]>;

impl<H: Copy + PartialEq> Handlers<H> {
    pub const fn new() -> Self {
        Handlers {
            state: RwLock::new(State {
                entries: Vec::new(),
                external: 0,
            }),
        }
    }

    /// Registers a handler.
    ///
    /// # Errors
    /// `InvalidParam` for bits without a meaning. `Unsupported` for events that nobody reports,
    /// unless the caller wants no hooks to be installed.
    pub fn add(&self, wanted: u32, priority: i32, handler: H) -> Result<()> {
        if wanted & !events::ALL != 0 {
            return Err(Error::InvalidParam);
        }
        let mut state = self.state.write();
        let bits = wanted & !events::FLAGS;
        if wanted & events::FLAG_NO_INSTALL == 0 && bits & !state.external != 0 {
            return Err(Error::Unsupported);
        }
        let at = state
            .entries
            .partition_point(|entry| entry.priority <= priority);
        state.entries.insert(
            at,
            Entry {
                events: bits,
                priority,
                handler,
            },
        );
        Ok(())
    }

    /// Takes these events away from a handler, and the handler away when none is left.
    pub fn remove(&self, unwanted: u32, handler: H) {
        let mut state = self.state.write();
        for entry in state
            .entries
            .iter_mut()
            .filter(|entry| entry.handler == handler)
        {
            entry.events &= !unwanted;
        }
        state
            .entries
            .retain(|entry| entry.handler != handler || entry.events != 0);
    }

    /// The handlers of an event, in their order. They are called after the list was let go, so
    /// that a handler may change it.
    pub fn of(&self, event: u32) -> Called<H> {
        let state = self.state.read();
        let wanted = state
            .entries
            .iter()
            .filter(|entry| entry.events & event != 0);
        wanted
            .map(|entry| (entry.priority, entry.handler))
            .collect()
    }

    /// From now on somebody reports these events.
    pub fn set_external(&self, bits: u32) {
        self.state.write().external |= bits & !events::FLAGS;
    }

    /// Nobody reports these events any more.
    pub fn unset_external(&self, bits: u32) {
        self.state.write().external &= !bits;
    }

    /// The events that somebody reports.
    pub fn external(&self) -> u32 {
        self.state.read().external
    }
}

impl<H: Copy + PartialEq> Default for Handlers<H> {
    fn default() -> Self {
        Handlers::new()
    }
}

#[cfg(test)]
mod tests {
    use super::events::{ALL, FLAG_NO_INSTALL, MMAP, VM_MAPPED, VM_UNMAPPED};
    use super::*;

    #[test]
    fn events_need_somebody_who_reports_them() {
        let handlers = Handlers::new();
        assert_eq!(handlers.add(VM_UNMAPPED, 0, 1), Err(Error::Unsupported));
        assert_eq!(handlers.add(!ALL, 0, 1), Err(Error::InvalidParam));
        handlers.set_external(VM_UNMAPPED);
        assert_eq!(handlers.add(VM_UNMAPPED, 0, 1), Ok(()));
        assert_eq!(
            handlers.add(VM_UNMAPPED | MMAP, 0, 2),
            Err(Error::Unsupported)
        );
        handlers.unset_external(VM_UNMAPPED);
        assert_eq!(handlers.external(), 0);
    }

    #[test]
    fn handlers_are_called_by_priority() {
        let handlers = Handlers::new();
        for (priority, handler) in [(5, 'a'), (-1, 'b'), (5, 'c')] {
            handlers
                .add(FLAG_NO_INSTALL | VM_MAPPED, priority, handler)
                .expect("registered");
        }
        let order: String = handlers
            .of(VM_MAPPED)
            .iter()
            .map(|(_, handler)| *handler)
            .collect();
        assert_eq!(order, "bac");
        handlers.remove(VM_MAPPED, 'a');
        assert_eq!(handlers.of(VM_MAPPED).len(), 2);
        assert!(handlers.of(VM_UNMAPPED).is_empty());
    }
}
