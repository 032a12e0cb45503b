//! One-sided operations: put and get, and what fence and flush promise about them.
//!
//! Three ways lead to a peer's memory, tried in this order:
//! - *mapped*: the memory is this process's too; loads and stores do it, at once.
//! - *lane*: a transport accesses the peer's memory through the kernel.
//! - *message*: the target carries the operation out when it progresses.
//!
//! [`put`] and [`get`] choose; [`crate::ucp::proto::rma`] runs what does not end at once;
//! [`target`] is the other side; [`fence`] and [`order`] keep operations in order across ways.

pub mod answer;
mod fence;
pub mod get;
pub mod order;
pub mod put;
pub mod target;
#[cfg(test)]
pub(super) mod tests;

pub use order::{Order, Way};

use std::rc::Rc;

use crate::ucp::ep::Endpoint;
use crate::ucp::rkey::RemoteKey;
use crate::ucs::status::Result;
use crate::uct;

/// The lane that writes the memory of a key without the target's help, and what it needs to be
/// given for that.
pub(super) fn device_lane(ep: &Endpoint, key: &RemoteKey) -> Option<(Rc<dyn uct::Ep>, u64)> {
    Some((ep.device_lane()?, key.device()?))
}

/// The same for reading.
pub(super) fn device_reader(ep: &Endpoint, key: &RemoteKey) -> Option<(Rc<dyn uct::Ep>, u64)> {
    Some((ep.device_reader()?, key.device()?))
}

/// Whether an operation on memory that is mapped here may be done by the call, past all queues: nothing is
/// to be waited for, and nobody counts the operations that are posted.
#[inline]
pub(in crate::ucp) fn may_be_done_at_once(ep: &Endpoint) -> bool {
    ep.order().allows(Way::Mapped) && ep.failure().is_none() && ep.worker().used.is_none()
}

/// Checks that an operation may be posted at all.
pub(super) fn check(ep: &Endpoint, key: &RemoteKey, remote: u64, len: usize) -> Result<()> {
    ep.check_usable()?;
    key.check(remote, len).inspect_err(|_| {
        crate::ucs_error!("{len} bytes at {remote:#x} are not in the region of the remote key");
    })
}
