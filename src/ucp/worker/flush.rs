//! Flush and fence of a whole worker.

use std::rc::Rc;

use smallvec::SmallVec;

use super::{Posted, ReqOptions, Worker};
use crate::ucp::context::Features;
use crate::ucp::ep::Endpoint;
use crate::ucp::proto::Op;
use crate::ucp::request::{ReqRef, TagInfo};
use crate::ucs::status::Result;

/// A flush of all endpoints: it waits for a flush of each.
pub struct WorkerFlush {
    remaining: usize,
    result: Result<()>,
}

impl Worker {
    /// `ucp_worker_flush_nbx`: completes when each endpoint is flushed.
    pub fn flush(self: &Rc<Self>, options: &ReqOptions) -> Result<Posted> {
        let endpoints: SmallVec<[Rc<Endpoint>; 8]> = {
            let endpoints = self.endpoints.borrow();
            let busy = |ep: &&Rc<Endpoint>| !ep.has_nothing_to_flush();
            endpoints.values().filter(busy).cloned().collect()
        };
        if endpoints.is_empty() {
            self.serve_peers();
            return self.now(options, Ok(()), TagInfo::default(), 0);
        }
        let parent = self.new_request(options)?;
        let flush = WorkerFlush {
            remaining: endpoints.len() + 1,
            result: Ok(()),
        };
        parent.set_op(Op::WorkerFlush(flush));
        for ep in endpoints {
            // An endpoint that has failed has nothing left to wait for.
            if ep.failure().is_some() {
                self.child_flushed(parent, Ok(()));
            } else if let Err(error) = ep.flush_for(parent) {
                self.child_flushed(parent, Err(error));
            }
        }
        self.child_flushed(parent, Ok(()));
        self.settle(parent, options)
    }

    /// Carries out what peers have asked for, on behalf of a flush that is done at once. A program
    /// that waits for its memory to change may do nothing but flush (mpi4py's locks over OpenMPI's
    /// `osc ucx` do), and the change may be a message that waits here. Only where all messages are
    /// of this kind: a flush must not call a handler of the user.
    pub(in crate::ucp) fn serve_peers(&self) {
        if !self
            .context
            .has_feature(Features::TAG | Features::AM | Features::STREAM)
        {
            self.progress();
        }
    }

    /// One of the flushes that `parent` waits for has ended.
    pub(in crate::ucp) fn child_flushed(&self, parent: ReqRef, result: Result<()>) {
        match parent.take_op() {
            Op::WorkerFlush(mut flush) => {
                flush.remaining = flush.remaining.saturating_sub(1);
                flush.result = flush.result.and(result);
                if flush.remaining != 0 {
                    return parent.set_op(Op::WorkerFlush(flush));
                }
                self.finish(parent, flush.result);
            }
            other => parent.set_op(other),
        }
    }
}
