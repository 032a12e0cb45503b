//! Rendezvous: the payload moves when both sides are ready.
//!
//! ```text
//! sender                               receiver
//! Announce --- RTS ------------------> matched?
//!    |                                   | the lanes can read the sender's memory:
//! Offered                               Fetch: get
//!    | <------------------------- ATS --- done
//!    |                                   | they can't:
//!    | <------------------------- RTR -- Receive
//! Stream ---- RNDV_DATA (n times) ----->   | complete when all bytes are in
//! ```
//!
//! A file per protocol: [`announce`] (RTS), [`get`] (fetch by the receiver), [`stream`]
//! (fragments as active messages).

pub mod announce;
pub mod get;
pub mod stream;

pub use announce::{Announce, Offered};
pub use get::Fetch;
pub use stream::{Receive, Stream};

use std::rc::Rc;

use super::{Driven, Flight, Op};
use crate::ucp::dt::RecvBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::request::ReqRef;
use crate::ucp::wire::am;
use crate::ucp::wire::rndv::{Answer, Rtr, Rts};
use crate::ucp::worker::Worker;
use crate::ucs::status::{Error, Result, Status};

/// A receive has met an RTS: moves the payload, or refuses it.
pub fn receive(worker: &Worker, req: ReqRef, buf: RecvBuf, rts: &Rts) {
    receive_when(worker, req, buf, rts, true);
}

/// The same, but no payload is fetched before the next progress.
pub fn receive_later(worker: &Worker, req: ReqRef, buf: RecvBuf, rts: &Rts) {
    receive_when(worker, req, buf, rts, false);
}

fn receive_when(worker: &Worker, req: ReqRef, buf: RecvBuf, rts: &Rts, at_once: bool) {
    let Some(ep) = worker.endpoint_of(rts.identity.origin) else {
        crate::ucs_diag!("rendezvous from an endpoint that is gone or was never announced");
        drop(buf);
        return worker.finish(req, Err(Error::Unreachable));
    };
    if let Some(error) = ep.failure() {
        // It has ended what was in flight already.
        drop(buf);
        return worker.finish(req, Err(error));
    }
    let total = req.info().length;
    if total > buf.len() || total == 0 {
        drop(buf);
        answer(&ep, am::ATS, rts.op, Status::OK);
        let result = if total == 0 {
            Ok(())
        } else {
            Err(Error::MessageTruncated)
        };
        return worker.finish(req, result);
    }
    ep.op_started(req);
    let op = worker.name_op(req);
    if rts.address != 0 && ep.fetch_lane().is_some() && buf.pieces(0, 1, 1).is_some() {
        let flight = Flight::new(Fetch::new(worker, buf, rts, total, op));
        let driven = if at_once {
            flight.drive(&ep)
        } else {
            Driven::Blocked(flight)
        };
        settle_fetch(worker, req, &ep, driven);
    } else {
        ask(worker, req, buf, rts.op, 0, total);
    }
}

/// Asks for the payload from `offset` on as active messages.
pub fn ask(
    worker: &Worker,
    req: ReqRef,
    buf: RecvBuf,
    sender_op: u64,
    offset: usize,
    total: usize,
) {
    let Some(ep) = req.ep() else {
        return worker.finish(req, Err(Error::Unreachable));
    };
    let rtr = Rtr {
        sender_op,
        receiver_op: req.id(),
        offset: offset as u64,
        attempt: 0,
    };
    req.set_op(Op::Receive(Receive::new(buf, offset, total)));
    ep.send_control(am::RTR, Rtr::LEN, |w| rtr.encode(w));
}

/// What a fetch had posted has ended.
pub fn fetch_completed(worker: &Worker, req: ReqRef, flight: Flight<Fetch>, result: Result<()>) {
    let Some(ep) = req.ep() else { return };
    settle_fetch(worker, req, &ep, flight.completed(result, &ep));
}

/// Acts on what became of a fetch.
pub fn settle_fetch(worker: &Worker, req: ReqRef, ep: &Rc<Endpoint>, driven: Driven<Fetch>) {
    match driven {
        Driven::Blocked(flight) => {
            req.set_op(Op::Fetch(flight));
            ep.queue(req);
        }
        Driven::Waiting(flight) => req.set_op(Op::Fetch(flight)),
        Driven::Next(ack) => {
            answer(ep, am::ATS, ack.sender_op, Status::OK);
            worker.finish(req, Ok(()));
        }
        Driven::Ended(stage, error) => get::fall_back(worker, req, ep, stage, error),
    }
}

/// Sends an answer that names an operation of the peer.
pub fn answer(ep: &Rc<Endpoint>, id: u8, op: u64, status: Status) {
    let answer = Answer {
        op,
        status: status.0,
    };
    ep.send_control(id, Answer::LEN, |w| answer.encode(w));
}

/// `ATS`, or a `SYNC_ACK`: the peer has all it wanted.
pub fn on_answer(worker: &Worker, data: &[u8]) -> Option<()> {
    let answer = Answer::decode(data)?;
    let req = worker.op_by_id(answer.op)?;
    let result: Result<()> = match Error::from_code(answer.status) {
        None => Ok(()),
        Some(error) => Err(error),
    };
    match req.take_op() {
        Op::SyncWait | Op::Offered(_) => worker.finish(req, result),
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

/// `RTR`: the receiver asks for the payload.
pub fn on_rtr(worker: &Worker, data: &[u8]) -> Option<()> {
    let rtr = Rtr::decode(data)?;
    let req = worker.op_by_id(rtr.sender_op)?;
    match req.take_op() {
        Op::Offered(offered) => {
            let stream = offered.stream(&rtr)?;
            req.set_op(Op::Stream(Flight::new(stream)));
            let ep = req.ep()?;
            ep.submit(req);
            Some(())
        }
        other => {
            req.set_op(other);
            None
        }
    }
}
