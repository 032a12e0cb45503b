//! One-sided operations that don't end at once.

pub mod get;
pub mod put;

pub use get::{Asked, Get};
pub use put::Put;

use std::rc::Rc;

use crate::ucp::ep::Endpoint;
use crate::ucp::rkey::RemoteKey;
use crate::ucs::status::Error;
use crate::uct::{Ep, Which};

/// What a lane is copying. It stops when this is let go, so that no memory is touched after its
/// operation has ended.
struct Posted {
    lane: Rc<dyn Ep>,
    /// The key that it wants.
    rkey: u64,
    token: u64,
    /// Bytes; 0 when nothing is under way.
    len: usize,
}

impl Posted {
    fn new(lane: Rc<dyn Ep>, rkey: u64, token: u64) -> Posted {
        Posted {
            lane,
            rkey,
            token,
            len: 0,
        }
    }
}

impl Drop for Posted {
    fn drop(&mut self) {
        if self.len != 0 {
            self.lane.let_go(Which::One(self.token));
        }
    }
}

/// What the lane for device memory can't do the target does.
fn is_devices(ep: &Endpoint, key: &RemoteKey) -> bool {
    key.device().is_some() && ep.failure().is_none()
}

/// The kernel forbids the lane what it was chosen for, as opposed to a failure.
fn is_refusal(error: Error) -> bool {
    matches!(
        error,
        Error::Unsupported | Error::InvalidAddr | Error::InvalidParam | Error::Unreachable
    )
}
