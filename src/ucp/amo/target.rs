//! The target's side of atomic operations that arrive as messages, and what comes back.

use crate::sys::atomic::{AtomicOp, Operation};
use crate::ucp::proto::Op;
use crate::ucp::rma::target::{find, refuse};
use crate::ucp::wire::am;
use crate::ucp::wire::rma::{Atomic, AtomicReply};
use crate::ucp::worker::Worker;
use crate::ucs::status::{Error, Result, Status};

/// `ATOMIC`: carries it out, and answers if a value is waited for.
pub fn on_atomic(worker: &Worker, data: &[u8]) -> Option<()> {
    let atomic = Atomic::decode(data)?;
    let origin = atomic.identity.origin;
    if atomic.op == 0 {
        if let Err(error) = apply(worker, &atomic) {
            refuse(worker, origin, "atomic operation", atomic.address, error);
        }
        return Some(());
    }
    // Without a way back it is not carried out: the origin asks again when it learns that our
    // endpoint is gone, and the operation must happen once.
    let ep = worker.endpoint_to_answer(origin)?;
    if !ep.order().serve(atomic.identity.seq) {
        return None;
    }
    let (value, status) = match apply(worker, &atomic) {
        Ok(value) => (value, Status::OK),
        Err(error) => {
            let (at, peer) = (atomic.address, ep.peer_name());
            crate::ucs_error!("refused an atomic operation at {at:#x} from {peer}: {error}");
            (0, error.into())
        }
    };
    let reply = AtomicReply {
        op: atomic.op,
        value,
        status: status.0,
    };
    ep.send_control(am::ATOMIC_REPLY, AtomicReply::LEN, |w| reply.encode(w));
    Some(())
}

fn apply(worker: &Worker, atomic: &Atomic) -> Result<u64> {
    let op = AtomicOp::from_code(u32::from(atomic.code)).ok_or(Error::InvalidParam)?;
    if !matches!(atomic.size, 4 | 8) {
        return Err(Error::InvalidParam);
    }
    let (memory, mem) = find(worker, atomic.region, atomic.address, atomic.size.into())?;
    if memory.owner().is_some() {
        return Err(Error::Unsupported);
    }
    let operation = Operation {
        op,
        operand: atomic.operand,
        swap: atomic.swap,
    };
    operation.apply(mem).ok_or(Error::InvalidParam)
}

/// `ATOMIC_REPLY`: the value before.
pub fn on_reply(worker: &Worker, data: &[u8]) -> Option<()> {
    let reply = AtomicReply::decode(data)?;
    let req = worker.op_by_id(reply.op)?;
    match req.take_op() {
        Op::AtomicWait(wait) => {
            let result = match Error::from_code(reply.status) {
                None => {
                    wait.replied(reply.value);
                    Ok(())
                }
                Some(error) => {
                    drop(wait);
                    let peer = req.ep().map(|ep| ep.peer_name()).unwrap_or_default();
                    crate::ucs_error!("{peer} refused an atomic operation: {error}");
                    Err(error)
                }
            };
            worker.finish(req, result);
            Some(())
        }
        other => {
            req.set_op(other);
            None
        }
    }
}
