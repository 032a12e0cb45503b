//! Atomic operations on a peer's memory: by the instructions of this processor where the memory
//! is mapped here, by the target otherwise. The target uses the same instructions, so both mix.

pub mod target;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use crate::sys::atomic::{AtomicOp, Operation};
use crate::sys::usermem::UserMem;
use crate::ucp::context::Features;
use crate::ucp::ep::{Endpoint, Message};
use crate::ucp::print::used::Operation as Used;
use crate::ucp::proto::amo::{Atomic, Target, store};
use crate::ucp::proto::{Flight, Op};
use crate::ucp::request::{TagInfo, flag};
use crate::ucp::rkey::RemoteKey;
use crate::ucp::rma::{Way, may_be_done_at_once};
use crate::ucp::wire::{am, rma};
use crate::ucp::worker::{Posted, ReqOptions};
use crate::ucs::status::{Error, Result};

/// The fast path: memory that is mapped here, with nothing to wait for. `None`: take the long way.
#[inline]
pub fn try_mapped(
    ep: &Endpoint,
    key: &RemoteKey,
    remote: u64,
    size: usize,
    operation: Operation,
) -> Option<u64> {
    let feature = if size == 4 {
        Features::AMO32
    } else {
        Features::AMO64
    };
    let usable = may_be_done_at_once(ep) && ep.worker().context().has_feature(feature);
    if !usable || !remote.is_multiple_of(size as u64) {
        return None;
    }
    operation.apply(key.mapped(remote, size)?)
}

/// Posts an operation. With `reply` the value before is stored there, and the operation has
/// completed when it is; without, it has completed at once, and a flush tells when it has taken
/// effect.
pub fn post(
    ep: &Rc<Endpoint>,
    target: Target,
    reply: Option<UserMem>,
    options: &ReqOptions,
) -> Result<Posted> {
    check(ep, &target)?;
    let what = match (target.operation.op, reply.is_some()) {
        (AtomicOp::CompareSwap, _) => Used::CompareSwap,
        (_, true) => Used::AtomicFetch,
        (_, false) => Used::AtomicPost,
    };
    ep.worker()
        .note_use(ep, Some(&target.key), what, options, target.size);
    let mapped = target.key.mapped(target.remote, target.size).is_some();
    let way = if mapped { Way::Mapped } else { Way::Message };
    let now = || ep.worker().now(options, Ok(()), TagInfo::default(), 0);
    if ep.order().allows(way) {
        if mapped {
            let value = target.apply()?;
            if let Some(reply) = reply {
                store(reply, value);
            }
            return now();
        }
        if reply.is_none() {
            send(ep, &target);
            return now();
        }
    }
    if reply.is_none() {
        // Held behind a fence. The operand is ours, so the user has nothing to wait for.
        let req = ep.worker().new_request(&ReqOptions::default())?;
        req.add_flags(flag::RELEASED);
        let op = ep.worker().name_op(req);
        req.set_op(Op::Atomic(Flight::new(Atomic::new(target, way, None, op))));
        ep.begin_one_sided(req, way);
        return now();
    }
    if options.force_immediate {
        return Err(Error::NoResource);
    }
    let req = ep.worker().new_request(options)?;
    let op = ep.worker().name_op(req);
    req.set_op(Op::Atomic(Flight::new(Atomic::new(target, way, reply, op))));
    ep.begin_one_sided(req, way);
    ep.worker().settle(req, options)
}

/// A message that nobody waits for; it is queued where the lane has no room.
fn send(ep: &Rc<Endpoint>, target: &Target) {
    ep.announce();
    let request = target.request(ep.next_identity(), 0);
    ep.send_message(Message::new(am::ATOMIC, rma::Atomic::LEN, |w| {
        request.encode(w);
    }));
    ep.note_message();
}

fn check(ep: &Endpoint, target: &Target) -> Result<()> {
    let Target { remote, size, .. } = *target;
    let feature = match size {
        4 => Features::AMO32,
        8 => Features::AMO64,
        _ => {
            crate::ucs_error!("an atomic operation is on 4 or 8 bytes, not on {size}");
            return Err(Error::InvalidParam);
        }
    };
    if !ep.worker().context().has_feature(feature) {
        let bits = size * 8;
        crate::ucs_error!("atomic operations on {bits} bits need UCP_FEATURE_AMO{bits}");
        return Err(Error::InvalidParam);
    }
    if !remote.is_multiple_of(size as u64) {
        crate::ucs_error!("an atomic variable of {size} bytes can't be at {remote:#x}");
        return Err(Error::InvalidParam);
    }
    if !target.key.memory_type().is_host() {
        crate::ucs_error!("there are no atomic operations on memory of a device");
        return Err(Error::Unsupported);
    }
    crate::ucp::rma::check(ep, &target.key, remote, size)
}
