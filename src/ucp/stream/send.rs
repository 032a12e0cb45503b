//! Sending stream bytes.

use std::rc::Rc;

use crate::sys::usermem::UserMem;
use crate::ucp::dt::SendBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::print::used::Operation;
use crate::ucp::proto::stream::{CONN, SHORT_MAX, StreamSend, send_only, send_short};
use crate::ucp::proto::{Flight, Op};
use crate::ucp::request::TagInfo;
use crate::ucp::wire::stream;
use crate::ucp::worker::{Posted, ReqOptions};
use crate::ucs::status::{Error, Result};
use crate::uct::Post;

/// The fast path: a few bytes to a peer that has the endpoint, with nothing queued before them.
/// False: take the long way.
#[inline(always)]
pub fn try_now(ep: &Endpoint, mem: UserMem) -> bool {
    let len = mem.len();
    let fits = len != 0 && len <= SHORT_MAX - CONN && ep.short_fits(len + CONN);
    fits && ep.is_announced() && matches!(send_short(ep, mem), Ok(Post::Done))
}

/// Sends the bytes of `buf` behind those sent before. Done when the buffer may be used again.
pub fn post(ep: &Rc<Endpoint>, buf: SendBuf, options: &ReqOptions) -> Result<Posted> {
    ep.check_usable()?;
    // The bytes are for an endpoint, so the peer must have it.
    ep.announce();
    let len = buf.len();
    let done = || ep.worker().now(options, Ok(()), TagInfo::default(), 0);
    if len == 0 {
        return done();
    }
    let what = Operation::StreamSend;
    ep.worker().note_use(ep, None, what, options, len);
    let is_plain = !matches!(buf, SendBuf::Generic(_));
    let fits = len + stream::LEN <= ep.config().bcopy_max;
    if is_plain && fits && !ep.is_blocked() && send_only(ep, &buf)? == Post::Done {
        return done();
    }
    if options.force_immediate {
        return Err(Error::NoResource);
    }
    let req = ep.worker().new_request(options)?;
    ep.op_started(req);
    let id = ep.worker().name_op(req);
    req.set_op(Op::StreamSend(Flight::new(StreamSend::new(buf, id))));
    ep.submit(req);
    ep.worker().settle(req, options)
}
