//! ATS and its relatives: the peer says what has become of an operation, or wants it stopped.

use std::rc::Rc;

use super::announce::{Source, Wanted, sent, serve};
use crate::ucp::ep::Endpoint;
use crate::ucp::proto::Op;
use crate::ucp::request::ReqRef;
use crate::ucp::wire::am;
use crate::ucp::wire::rndv::{Abort, Answer, Atp};
use crate::ucp::worker::Worker;
use crate::ucs::status::{Error, Result, Status};

/// Sends an answer that names an operation of the peer.
pub fn answer(ep: &Rc<Endpoint>, id: u8, op: u64, status: Status) {
    let answer = Answer {
        op,
        status: status.0,
    };
    ep.send_control(id, Answer::LEN, |w| answer.encode(w));
}

/// `ATS`, or a `SYNC_ACK`: the peer has all it wanted. It counts for the operation, whatever the
/// attempt that brought the bytes there.
pub fn on_answer(worker: &Worker, data: &[u8]) -> Option<()> {
    let answer = Answer::decode(data)?;
    let req = worker.op_by_id(answer.op)?;
    let result: Result<()> = Error::from_code(answer.status).map_or(Ok(()), Err);
    match req.take_op() {
        Op::SyncWait => worker.finish(req, result),
        Op::Offered(offered) => match offered.answered(result) {
            None => worker.finish(req, result),
            Some(offered) => req.set_op(Op::Offered(offered)),
        },
        op @ (Op::Stream(_) | Op::RndvPut(_)) => {
            let ep = req.ep()?;
            stop(req, &ep, op, Then::Finish(result));
        }
        // The payload may still be queued behind a full lane: it has been matched early.
        Op::Eager(flight) if flight.stage().is_sync() => {
            req.set_op(Op::Eager(flight));
            worker.drop_name(req);
        }
        other => {
            req.set_op(other);
            return None;
        }
    }
    Some(())
}

/// `RNDV_ABORT`: the receiver wants its memory back. It hears when nothing is written any more.
pub fn on_abort(worker: &Worker, data: &[u8]) -> Option<()> {
    let abort = Abort::decode(data)?;
    let stopped = Atp {
        receiver_op: abort.receiver_op,
        offset: 0,
        len: 0,
        attempt: abort.attempt,
        status: Status::from(GIVEN_UP).0,
    };
    let req = worker.op_by_id(abort.sender_op);
    if let Some((req, ep)) = req.and_then(|req| Some((req, req.ep()?))) {
        match req.take_op() {
            op @ (Op::Stream(_) | Op::RndvPut(_)) => {
                stop(req, &ep, op, Then::Stopped(stopped));
                return Some(());
            }
            op => req.set_op(op),
        }
    }
    let ep = worker.endpoint_of(abort.origin)?;
    send_atp(&ep, &stopped);
    Some(())
}

/// The error of an operation that the peer gave up.
const GIVEN_UP: Error = Error::Canceled;

pub fn send_atp(ep: &Rc<Endpoint>, atp: &Atp) {
    ep.send_control(am::ATP, Atp::LEN, |w| atp.encode(w));
}

/// What follows when nothing that was posted is outstanding.
pub enum Then {
    Finish(Result<()>),
    /// The receiver has asked anew.
    Serve(Wanted),
    /// It has given up.
    Stopped(Atp),
}

/// A sender that was stopped, while lanes still read from the user's memory.
pub struct Drain {
    flight: Box<Op>,
    then: Then,
}

fn outstanding(op: &Op) -> usize {
    match op {
        Op::Stream(flight) => flight.outstanding(),
        Op::RndvPut(flight) => flight.outstanding(),
        _ => 0,
    }
}

/// Stops what a sender does; `then` follows when the lanes have let go of its memory.
pub fn stop(req: ReqRef, ep: &Rc<Endpoint>, mut op: Op, then: Then) {
    ep.unqueue(req);
    if let Op::RndvPut(flight) = &mut op {
        flight.account(|_, attempt| attempt.cancel());
    }
    if outstanding(&op) == 0 {
        return drained(req, ep, op, then);
    }
    let flight = Box::new(op);
    req.set_op(Op::Drain(Drain { flight, then }));
}

impl Drain {
    /// Something that was posted has ended.
    pub fn completed(mut self, req: ReqRef, ep: &Rc<Endpoint>, result: Result<()>) {
        match &mut *self.flight {
            Op::Stream(flight) => flight.ended(result),
            Op::RndvPut(flight) => flight.ended(result),
            _ => {}
        }
        if outstanding(&self.flight) == 0 {
            drained(req, ep, *self.flight, self.then);
        } else {
            req.set_op(Op::Drain(self));
        }
    }
}

fn drained(req: ReqRef, ep: &Rc<Endpoint>, op: Op, then: Then) {
    let (source, _key) = match op {
        Op::Stream(flight) => (flight.end().into_source(), None),
        Op::RndvPut(flight) => {
            let (source, key) = flight.end().into_parts();
            (source, Some(key))
        }
        _ => return,
    };
    let Source { whole, .. } = source;
    match then {
        Then::Finish(result) => {
            drop(source);
            sent(ep.worker(), req, whole, result);
        }
        Then::Serve(wanted) => serve(req, ep, source, wanted, req.id()),
        Then::Stopped(atp) => {
            drop(source);
            send_atp(ep, &atp);
            sent(ep.worker(), req, whole, Err(GIVEN_UP));
        }
    }
}
