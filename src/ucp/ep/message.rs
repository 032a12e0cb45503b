//! A small message of ours, from its encoding to the lane that takes it.

use std::rc::Rc;

use smallvec::SmallVec;

use crate::ucp::wire::Writer;
use crate::ucp::worker::Worker;
use crate::ucs::status::Result;
use crate::uct::{Ep, Post};

/// A small message of ours.
pub struct Message {
    pub(super) id: u8,
    bytes: SmallVec<[u8; 64]>,
}

impl Message {
    /// `len`: most bytes that `encode` writes.
    pub fn new(id: u8, len: usize, encode: impl Fn(&mut Writer<'_>)) -> Message {
        let mut bytes: SmallVec<[u8; 64]> = SmallVec::from_elem(0, len);
        let mut w = Writer::new(&mut bytes);
        encode(&mut w);
        let len = w.len();
        bytes.truncate(len);
        Message { id, bytes }
    }

    /// Says it by a way of its own, over the worker's interface `local`, which is closed behind it.
    pub(in crate::ucp) fn say_apart(
        &self,
        worker: &Worker,
        local: u8,
        open: impl FnOnce() -> Result<Rc<dyn Ep>>,
    ) {
        match open().and_then(|way| self.post(&*way)) {
            Ok(_) => worker.activate(local),
            Err(error) => crate::ucs_debug!("a peer can't be told by one way: {error}"),
        }
    }

    pub(super) fn post(&self, lane: &dyn Ep) -> Result<Post> {
        let Message { id, bytes } = self;
        lane.am_bcopy(
            *id,
            bytes.len(),
            &mut |dst| match dst.get_mut(..bytes.len()) {
                Some(dst) => {
                    dst.copy_from_slice(bytes);
                    bytes.len()
                }
                None => 0,
            },
        )
    }
}
