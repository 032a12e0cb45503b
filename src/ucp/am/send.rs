//! Sending an active message.

use std::rc::Rc;

use crate::ucp::dt::SendBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::print::used::Operation;
use crate::ucp::proto::am::{AmEager, fits_only, send_only};
use crate::ucp::proto::eager::EagerZcopy;
use crate::ucp::proto::rndv::Announce;
use crate::ucp::proto::{Flight, Op};
use crate::ucp::request::TagInfo;
use crate::ucp::wire::amsg::{Head, only_len};
use crate::ucp::worker::{Posted, ReqOptions};
use crate::ucs::status::{Error, Result};
use crate::uct::Post;

/// What the user said about the message.
#[derive(Clone, Copy, Default, Debug)]
pub struct Flags {
    /// The receiver may reply on the handler's endpoint.
    pub reply: bool,
    pub force_eager: bool,
    pub force_rndv: bool,
}

/// Sends `header` and `buf` to the handler of `id`. The header is copied.
pub fn post(
    ep: &Rc<Endpoint>,
    id: u16,
    header: &[u8],
    buf: SendBuf,
    flags: Flags,
    options: &ReqOptions,
) -> Result<Posted> {
    ep.check_usable()?;
    let max = ep.worker().am.max_header();
    if header.len() > max {
        crate::ucs_error!(
            "an active message header of {} bytes is longer than the allowed {max}",
            header.len()
        );
        return Err(Error::InvalidParam);
    }
    let len = buf.len();
    let what = Operation::AmSend { reply: flags.reply };
    ep.worker().note_use(ep, None, what, options, len);
    let by_size = len >= ep.config().rndv_thresh(options.fast_completion);
    let rndv = len != 0 && (flags.force_rndv || (by_size && !flags.force_eager));
    let head = Head {
        id,
        header_len: header.len() as u32,
        reply: flags.reply,
    };
    if flags.reply || rndv {
        ep.announce();
    }
    let before = only_len(head.reply) + header.len();
    let zcopy = !rndv && EagerZcopy::fits(ep, &buf, before);
    if !rndv && !zcopy && !ep.is_blocked() && fits_only(ep, head, header.len(), len) {
        match send_only(ep, head, header, &buf)? {
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
    let req = ep.worker().new_request(options)?;
    ep.op_started(req);
    let identity = ep.next_identity();
    if rndv {
        let op = ep.worker().name_op(req);
        Announce::active(head.to_bits(), header, buf, identity, op).start(req, ep);
        return ep.worker().settle(req, options);
    }
    req.set_op(if zcopy {
        let op = ep.worker().name_op(req);
        Op::EagerZcopy(Flight::new(EagerZcopy::active(ep, head, header, buf, op)))
    } else {
        Op::AmEager(Flight::new(AmEager::new(head, header, buf, identity)))
    });
    ep.submit(req);
    ep.worker().settle(req, options)
}
