//! Rendezvous: the payload moves when both sides are ready.
//!
//! ```text
//! sender                               receiver
//! Announce --- RTS ------------------> matched?
//!    |                                   | get: a lane reads the sender's memory
//! Offered                               Fetch
//!    | <------------------------- ATS --- done
//!    |                                   | put: a lane of the sender writes the receiver's
//!    | <-------------------- RTR, key -- Receive (exposed)
//! Put ------------------------ ATP ---->   | complete
//!    |                                   | neither, or the receiver wants it so
//!    | <------------------------- RTR -- Receive
//! Stream ---- RNDV_DATA (n times) ----->   | complete when all bytes are in
//! ```
//!
//! A file per protocol: [`announce`] (RTS), [`get`], [`rtr`] (asking, and exposed memory), [`put`]
//! (and ATP), [`ats`] (answers, abort), [`stream`] (active messages), [`rkey_ptr`] (the receiver
//! maps the sender's memory), [`ppln`] (fragments through staging buffers). Which one is used is
//! the receiver's decision: [`scheme`]. What none of them can do goes as active messages.

pub mod again;
pub mod announce;
pub mod ats;
mod device;
pub mod get;
pub mod ppln;
pub mod put;
mod quick;
pub mod ranges;
pub mod rkey_ptr;
pub mod rtr;
pub mod scheme;
mod staging;
pub mod stream;
#[cfg(test)]
#[allow(unsafe_code)]
mod tests;

pub use announce::{Announce, Announced, Offered, on_rtr};
pub use ats::{Drain, answer, on_abort, on_answer};
pub use get::Fetch;
pub use ppln::Ppln;
pub use put::Put;
pub use rkey_ptr::Load;
pub use rtr::{Receive, on_atp};
pub use stream::Stream;

use std::rc::Rc;

use super::verdict::is_lane_class;
use super::{Driven, Flight, Op};
use crate::ucp::dt::RecvBuf;
use crate::ucp::ep::{Endpoint, ErrorMode};
use crate::ucp::request::ReqRef;
use crate::ucp::select::RndvScheme;
use crate::ucp::wire::am;
use crate::ucp::wire::rndv::Rts;
use crate::ucp::worker::Worker;
use crate::ucp::worker::tally::up;
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
        return worker.finish(req, Err(Error::Canceled));
    };
    let over = ep.receives_no_more().then_some(Error::ConnectionReset);
    if let Some(error) = ep.failure().or(over) {
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
    ep.service_started(req);
    let op = worker.name_op(req);
    // What comes later are data of active messages.
    let scheme = scheme::choose(&ep, &buf, rts, at_once);
    match scheme {
        RndvScheme::Get => {
            if at_once && quick::fetch(worker, req, &ep, &buf, rts, op) {
                return;
            }
            let flight = Flight::new(Fetch::new(worker, buf, rts, total, op));
            settle_fetch(worker, req, &ep, begin(flight, &ep, at_once));
        }
        RndvScheme::RkeyPtr => {
            let step = ep.config().rndv.ptr_step;
            let flight = Flight::new(Load::new(worker, buf, rts, total, step));
            rkey_ptr::settle(worker, req, &ep, begin(flight, &ep, at_once));
        }
        RndvScheme::GetPpln => ppln::start(worker, req, buf, rts, total, ppln::Kind::Get, at_once),
        RndvScheme::PutPpln => ppln::start(worker, req, buf, rts, total, ppln::Kind::Put, at_once),
        RndvScheme::Put | RndvScheme::Am => {
            let ask = rtr::Ask {
                sender_op: rts.op,
                offset: 0,
                len: total,
                attempt: rts.attempt,
                got: 0,
                part: None,
            };
            let device = device::target(&ep, &buf, rts);
            match (scheme, device) {
                (RndvScheme::Put, Some(entry)) => rtr::expose_device(worker, req, buf, entry, ask),
                (RndvScheme::Put, None) => rtr::expose(worker, req, buf, ask),
                _ => rtr::ask(worker, req, buf, ask),
            }
        }
    }
}

fn begin<S: super::Stage>(flight: Flight<S>, ep: &Rc<Endpoint>, at_once: bool) -> Driven<S> {
    match at_once {
        true => flight.drive(ep),
        false => Driven::Blocked(flight),
    }
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
        Driven::Next(ack) => fetched(worker, req, ep, ack, Ok(())),
        Driven::Ended(stage, error) => get::fall_back(worker, req, ep, stage, error),
    }
}

/// The receiver has what it wants of the sender's memory.
fn fetched(worker: &Worker, req: ReqRef, ep: &Rc<Endpoint>, ack: get::Ack, result: Result<()>) {
    match ack.part {
        None => {
            answer(ep, am::ATS, ack.sender_op, Status::OK);
            worker.finish(req, result);
        }
        Some(part) => ppln::part_ended(worker, req, part, result),
    }
}

/// Something that a flight had posted has ended. `None`: its turn comes when a lane has room.
fn ended<S: super::Stage>(
    req: ReqRef,
    ep: &Rc<Endpoint>,
    mut flight: Flight<S>,
    result: Result<()>,
    wrap: fn(Flight<S>) -> Op,
) -> Option<Driven<S>> {
    if ep.is_queued(req) {
        if result.is_ok() {
            flight.ended(result);
            req.set_op(wrap(flight));
            return None;
        }
        ep.unqueue(req);
    }
    Some(flight.completed(result, ep))
}

/// Whether the rest of a rendezvous goes as active messages after a lane operation ended with
/// `error`: the lane may not do what it was chosen for, or it is lost and others are not.
fn falls_back(ep: &Endpoint, error: Error) -> bool {
    let refused = matches!(
        error,
        Error::Unsupported | Error::InvalidAddr | Error::InvalidParam
    );
    let lost = is_lane_class(error)
        && ep.error_mode() == ErrorMode::Failover
        && ep.is_alive(ep.config().lanes.am);
    ep.failure().is_none() && (refused || lost)
}

/// One request ends with an error although its endpoint lives.
fn tell_aborted(ep: &Endpoint, error: Error) {
    up(&ep.worker().tally.given_up);
    crate::ucs_error!(
        "a rendezvous with {} was given up: {error}, and no other lane can take it over",
        ep.peer_name()
    );
}
