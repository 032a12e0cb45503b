//! Sources of the topology that a program puts before ours.

use parking_lot::Mutex;

use crate::abi::prelude::*;

static SOURCES: Mutex<Vec<ucs_sys_topo_ops_t>> = Mutex::new(Vec::new());

/// From now on this one is asked.
pub fn push(source: ucs_sys_topo_ops_t) {
    SOURCES.lock().push(source);
}

/// The one before is asked again.
pub fn pop() {
    if SOURCES.lock().pop().is_none() {
        crate::ucs_debug!("there is no source of the topology to be taken back");
    }
}

/// The one to be asked, if there is one.
pub fn current() -> Option<ucs_sys_topo_ops_t> {
    SOURCES.lock().last().copied()
}
