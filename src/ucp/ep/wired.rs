//! What an endpoint has once its peer is known: lanes and the configuration that goes with them.
//!
//! An endpoint made from a worker address has them from the start. One made from a socket address
//! has none until the server answers; meanwhile what is posted waits in the endpoint's queue.

use std::rc::Rc;

use smallvec::SmallVec;

use super::EpConfig;
use crate::ucp::wireup::attempts::Attempts;
use crate::ucs::status::Result;
use crate::uct::{self, Ep, Post};

/// See the module.
pub struct Wired {
    /// The lane of active messages, one of `lanes`.
    pub am: Rc<dyn uct::Ep>,
    pub config: Rc<EpConfig>,
    /// All lanes, in the order of `config.lanes`, unless that of active messages is the only one.
    lanes: Option<Box<Lanes>>,
    /// The lane of active messages, if there are others that could do instead.
    pub attempts: Option<Rc<Attempts>>,
}

/// Lanes of an endpoint, in the order of its configuration.
pub type Lanes = SmallVec<[Rc<dyn uct::Ep>; 1]>;

impl Wired {
    /// `am`: the lane of active messages, one of `lanes`.
    pub fn new(
        am: Rc<dyn uct::Ep>,
        config: Rc<EpConfig>,
        lanes: Lanes,
        attempts: Option<Rc<Attempts>>,
    ) -> Wired {
        Wired {
            am,
            config,
            lanes: (lanes.len() != 1).then(|| Box::new(lanes)),
            attempts,
        }
    }

    pub fn lanes(&self) -> &[Rc<dyn uct::Ep>] {
        match &self.lanes {
            Some(lanes) => lanes,
            None => core::slice::from_ref(&self.am),
        }
    }

    /// What stands in for lanes that are not there yet.
    pub fn not_yet() -> Wired {
        Wired {
            am: Rc::new(NoLane),
            config: Rc::new(EpConfig::unwired()),
            lanes: Some(Box::default()),
            attempts: None,
        }
    }
}

/// A lane that never has room.
struct NoLane;

impl Ep for NoLane {
    fn am_short(&self, _id: u8, _header: u64, _payload: &[u8]) -> Result<Post> {
        Ok(Post::NoResource)
    }

    fn am_bcopy(
        &self,
        _id: u8,
        _max_len: usize,
        _pack: &mut dyn FnMut(&mut [u8]) -> usize,
    ) -> Result<Post> {
        Ok(Post::NoResource)
    }
}
