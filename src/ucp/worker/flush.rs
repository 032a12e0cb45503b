//! Flush and fence of a whole worker.

use std::rc::Rc;

use super::{Posted, ReqOptions, Worker};
use crate::ucp::proto::Op;
use crate::ucp::request::ReqRef;
use crate::ucs::status::{Error, Result};

/// A flush of all endpoints: it waits for a flush of each.
pub struct WorkerFlush {
    remaining: usize,
    result: Result<()>,
}

impl Worker {
    /// Completes when all that was posted on any endpoint before has completed.
    pub fn flush(self: &Rc<Self>, options: &ReqOptions) -> Result<Posted> {
        let parent = self.new_request(options)?;
        let endpoints: Vec<_> = self.endpoints.borrow().values().cloned().collect();
        let flush = WorkerFlush {
            remaining: endpoints.len() + 1,
            result: Ok(()),
        };
        parent.set_op(Op::WorkerFlush(flush));
        for ep in endpoints {
            if let Err(error) = ep.flush_for(parent) {
                self.child_flushed(parent, Err(error));
            }
        }
        self.child_flushed(parent, Ok(()));
        self.settle(parent, options)
    }

    /// One of the flushes that `parent` waits for has ended.
    pub(in crate::ucp) fn child_flushed(&self, parent: ReqRef, result: Result<()>) {
        match parent.take_op() {
            Op::WorkerFlush(mut flush) => {
                flush.remaining = flush.remaining.saturating_sub(1);
                // An endpoint that has failed has nothing left to wait for.
                if let Err(error) = result
                    && error == Error::NoMemory
                {
                    flush.result = Err(error);
                }
                if flush.remaining != 0 {
                    return parent.set_op(Op::WorkerFlush(flush));
                }
                self.finish(parent, flush.result);
            }
            other => parent.set_op(other),
        }
    }

    /// Orders what follows after what was posted: our lanes are ordered by themselves.
    pub fn fence(&self) -> Result<()> {
        Ok(())
    }
}
