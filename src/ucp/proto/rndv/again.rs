//! A message that is announced once more: its sender has given up the attempt before, and begins
//! another. Whoever has met it already is bound to that one; nobody meets it twice.

use std::rc::Rc;

use super::rtr;
use crate::ucp::ep::Endpoint;
use crate::ucp::proto::Op;
use crate::ucp::wire::rndv::Rts;
use crate::ucp::worker::Worker;
use crate::ucp::worker::tally::up;

/// Whether the message was announced before. If so, this announcement has been dealt with.
pub fn is_known(worker: &Worker, rts: &Rts) -> bool {
    if !rts.restartable {
        return false;
    }
    let Some(ep) = worker.endpoint_of(rts.identity.origin) else {
        return false;
    };
    if ep.order().announce(rts.identity.seq) {
        return false;
    }
    up(&worker.tally.duplicates);
    crate::ucs_debug!(
        "{}: message {} is announced again, attempt {}",
        ep.peer_name(),
        rts.identity.seq,
        rts.attempt
    );
    if !worker.tag.unexpected.borrow_mut().rebind(rts) {
        rebind(worker, &ep, rts);
    }
    // Else it is over, and its answer, which is never lost, tells so; or the user keeps it.
    true
}

/// Receives of this message, the whole or fragments of it, ask for the rest anew.
fn rebind(worker: &Worker, ep: &Rc<Endpoint>, rts: &Rts) {
    let ours = |other: Option<Rc<Endpoint>>| other.is_some_and(|other| Rc::ptr_eq(&other, ep));
    for id in worker.op_ids() {
        let Some(req) = worker.op_by_id(id).filter(|req| ours(req.ep())) else {
            continue;
        };
        match req.take_op() {
            Op::Receive(receive) if receive.is_of(rts.op) => {
                rtr::ask_again(req, ep, receive, rts.attempt);
            }
            // Fragments to come are asked for in this attempt.
            Op::Ppln(mut ppln) if ppln.is_of(rts.op) => {
                ppln.announced(rts.attempt);
                req.set_op(Op::Ppln(ppln));
            }
            // What reads by itself goes on; the sender's memory is where it was.
            op => req.set_op(op),
        }
    }
}
