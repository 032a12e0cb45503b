//! Sending a tagged message: which protocol, and the first try.

use std::rc::Rc;

use crate::sys::usermem::UserMem;
use crate::ucp::dt::SendBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::print::used::Operation;
use crate::ucp::proto::eager::{self, Eager, EagerZcopy};
use crate::ucp::proto::rndv::Announce;
use crate::ucp::proto::{Flight, Op};
use crate::ucp::request::TagInfo;
use crate::ucp::wire::am;
use crate::ucp::worker::{Posted, ReqOptions};
use crate::ucs::status::{Error, Result};
use crate::uct::Post;

/// The fast path: a contiguous message that fits into one active message and is worth a copy,
/// with nothing queued before it. False: take the long way.
#[inline(always)]
pub fn try_now(ep: &Endpoint, tag: u64, mem: UserMem) -> bool {
    let len = mem.len();
    let post = if ep.short_fits(len) {
        ep.am_lane().am_short(am::EAGER_ONLY, tag, mem.as_slice())
    } else if ep.copy_fits(len) {
        eager::copy_only(ep, tag, mem)
    } else {
        return false;
    };
    matches!(post, Ok(Post::Done))
}

/// Sends `buf`. With `sync`, the request completes only when the message has been matched.
pub fn post(
    ep: &Rc<Endpoint>,
    buf: SendBuf,
    tag: u64,
    sync: bool,
    options: &ReqOptions,
) -> Result<Posted> {
    ep.check_usable()?;
    let len = buf.len();
    let what = match sync {
        true => Operation::TagSendSync,
        false => Operation::TagSend,
    };
    ep.worker().note_use(ep, None, what, options, len);
    let rndv = len >= ep.config().rndv_thresh(options.fast_completion);
    let zcopy = !rndv && !sync && EagerZcopy::fits(ep, &buf, 8);
    if !rndv && !sync && !zcopy && !ep.is_blocked() && len <= ep.config().only_max {
        match eager::send_only(ep, tag, &buf)? {
            Post::Done => {
                drop(buf);
                return ep.worker().now(options, Ok(()), TagInfo::default(), 0);
            }
            Post::Pending | Post::NoResource => {}
        }
    }
    if options.force_immediate {
        return Err(Error::NoResource);
    }
    if rndv || sync {
        // The peer must know whom to answer before it gets something to answer.
        ep.announce();
    }
    let req = ep.worker().new_request(options)?;
    ep.op_started(req);
    let identity = ep.next_identity();
    if rndv {
        let id = ep.worker().name_op(req);
        Announce::new(tag, buf, identity, id).start(req, ep);
        return ep.worker().settle(req, options);
    }
    req.set_op(if zcopy {
        let id = ep.worker().name_op(req);
        Op::EagerZcopy(Flight::new(EagerZcopy::tagged(tag, buf, id)))
    } else {
        let ack = if sync { ep.worker().name_op(req) } else { 0 };
        Op::Eager(Flight::new(Eager::new(tag, buf, identity, ack)))
    });
    ep.submit(req);
    ep.worker().settle(req, options)
}
