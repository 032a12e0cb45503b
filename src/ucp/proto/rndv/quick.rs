//! The usual case in one go: contiguous memory of the host at both ends, and one lane, whose copy has
//! most often ended when the call that asks for it returns. Then nothing is kept of the operation,
//! and nothing allocated for it; whatever is not usual goes the long way.

use std::rc::Rc;

use super::announce::{Source, Wanted};
use super::ats::{answer, send_atp};
use super::{Fetch, Put, get, put};
use crate::ucp::dt::{RecvBuf, SendBuf};
use crate::ucp::ep::{Endpoint, Rail};
use crate::ucp::proto::{Flight, Op};
use crate::ucp::request::ReqRef;
use crate::ucp::wire::am;
use crate::ucp::wire::rndv::{Atp, How, Rtr, Rts};
use crate::ucp::worker::Worker;
use crate::ucs::status::Status;
use crate::uct::{IoVec, IoVecMut, Post};

/// Writes what is asked for by `rtr`. False: nothing has been done.
pub fn put(worker: &Worker, req: ReqRef, ep: &Rc<Endpoint>, rtr: &Rtr) -> bool {
    let (Some(mem), How::Put { address, key }) = (req.offered(), rtr.how) else {
        return false;
    };
    if rtr.part || rtr.device.is_some() || rtr.len == 0 || ep.is_blocked() {
        return false;
    }
    let (Some(wanted), Some((info, lane))) = (Wanted::of(rtr, mem.len()), ep.only_put_rail())
    else {
        return false;
    };
    // The kernel copies: what it says to have done is in place, without the peer.
    if info.keyed || !info.ordered || wanted.len > info.max_len {
        return false;
    }
    let (part, op) = (mem.part(wanted.offset, wanted.len), req.id());
    let piece = IoVec {
        ptr: part.ptr(),
        len: part.len(),
    };
    match lane.put_zcopy(&[piece], address, key, op) {
        Ok(Post::Done) => {
            let atp = Atp {
                receiver_op: rtr.receiver_op,
                offset: rtr.offset,
                len: rtr.len,
                attempt: rtr.attempt,
                status: Status::OK.0,
            };
            worker.keys().used();
            send_atp(ep, &atp);
            worker.finish(req, Ok(()));
            true
        }
        Ok(Post::Pending) => {
            let rail = ep.put_rails().into_iter().next();
            let source = Source {
                buf: Rc::new(SendBuf::Contig(mem)),
                whole: 0,
            };
            let stage = Put::new(worker, source, &wanted, (address, key), op);
            let attempt = rail.map(|rail: Rail| put::Attempt::posted(rail, wanted.len, op));
            worker.keys().let_go();
            req.take_offered();
            req.set_op(Op::RndvPut(match attempt {
                Some(attempt) => Flight::running(stage, attempt),
                None => Flight::new(stage),
            }));
            true
        }
        // It is tried once more there.
        Ok(Post::NoResource) | Err(_) => false,
    }
}

/// Reads what `rts` announces, as the operation `op`. False: nothing has been done.
pub fn fetch(
    worker: &Worker,
    req: ReqRef,
    ep: &Rc<Endpoint>,
    buf: &RecvBuf,
    rts: &Rts,
    op: u64,
) -> bool {
    let (Some(mem), Some(lane)) = (buf.contig(), ep.fetch_lane_now()) else {
        return false;
    };
    if rts.address == 0 {
        return false;
    }
    let part = mem.part(0, req.info().length);
    let piece = IoVecMut {
        ptr: part.ptr(),
        len: part.len(),
    };
    match lane.get_leased(&[piece], rts.address, rts.lease, op) {
        Ok(Post::Done) => {
            worker.keys().used();
            answer(ep, am::ATS, rts.op, Status::OK);
            worker.finish(req, Ok(()));
            true
        }
        Ok(Post::Pending) => {
            let stage = Fetch::new(worker, RecvBuf::Contig(mem), rts, part.len(), op);
            let attempt = ep.fetch_lane();
            let attempt = attempt.map(|lane| get::Attempt::posted(lane, part.len(), op));
            req.set_op(Op::Fetch(match attempt {
                Some(attempt) => Flight::running(stage, attempt),
                None => Flight::new(stage),
            }));
            true
        }
        // It is tried once more there.
        Ok(Post::NoResource) | Err(_) => false,
    }
}
