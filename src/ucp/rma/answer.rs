//! What the target answers, and asking again where an answer can't come any more.

use std::rc::Rc;

use super::order::{InFlight, Kind};
use crate::ucp::ep::{Endpoint, Message};
use crate::ucp::proto::Op;
use crate::ucp::wire::am;
use crate::ucp::wire::rma::Flush;
use crate::ucp::wire::rndv::Answer;
use crate::ucp::worker::Worker;
use crate::ucs::status::{Error, Result};

/// `ONE_SIDED_ANSWER`: a flush is done, or a get is refused.
pub fn on_answer(worker: &Worker, data: &[u8]) -> Option<()> {
    let answer = Answer::decode(data)?;
    let req = worker.op_by_id(answer.op)?;
    let ep = req.ep()?;
    let result: Result<()> = Error::from_code(answer.status).map_or(Ok(()), Err);
    if let Err(error) = result {
        let peer = ep.peer_name();
        crate::ucs_error!("{peer} refused a one-sided operation: {error}");
    }
    match req.take_op() {
        Op::Asked(asked) => {
            drop(asked);
            // A get ends with its data, so this is a refusal whatever it says.
            ep.one_sided_failed(req, result.err().unwrap_or(Error::IoError));
        }
        op @ Op::Fence(_) => {
            req.set_op(op);
            ep.fence_answered(req, result);
        }
        op @ Op::Flush(_) => {
            req.set_op(op);
            ep.flush_answered(req, result);
        }
        other => {
            req.set_op(other);
            return None;
        }
    }
    Some(())
}

impl Endpoint {
    /// Asks the target to answer the operation `op` when the messages before have taken effect.
    pub(in crate::ucp) fn ask_flush(self: &Rc<Self>, op: u64) -> InFlight {
        self.announce();
        self.order().set_unflushed(false);
        self.send_message(self.flush_message(op));
        self.note_one_sided();
        self.order().count(Kind::Flush)
    }

    /// The peer's endpoint for this connection is gone. What it had not answered by then it has
    /// not carried out: it is asked again, of the endpoint that our announcement makes there, and
    /// before whatever else waits for the lane, so that numbers keep their order.
    pub(in crate::ucp) fn ask_again(self: &Rc<Self>) {
        let mut again: Vec<(u64, Message)> = Vec::new();
        for req in self.worker().named_of(self) {
            let op = req.take_op();
            match &op {
                Op::Asked(asked) => again.push(asked.message()),
                Op::AtomicWait(wait) => again.push(wait.message()),
                Op::Fence(_) => again.push((u64::MAX, self.flush_message(req.id()))),
                Op::Flush(flush) if flush.is_asked() => {
                    again.push((u64::MAX, self.flush_message(req.id())));
                }
                _ => {}
            }
            req.set_op(op);
        }
        if !again.is_empty() {
            again.sort_unstable_by_key(|(seq, _)| *seq);
            self.send_ahead(again.into_iter().map(|(_, message)| message));
        }
    }

    fn flush_message(&self, op: u64) -> Message {
        let flush = Flush {
            origin: self.origin(),
            op,
        };
        Message::new(am::FLUSH, Flush::LEN, |w| flush.encode(w))
    }
}
