//! Put: writes to the peer's memory.

use std::rc::Rc;
use std::sync::Arc;

use super::order::Way;
use crate::sys::usermem::UserMem;
use crate::ucp::dt::SendBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::print::used::Operation;
use crate::ucp::proto::rma::put::{Put, send_one, suits_rails};
use crate::ucp::proto::{Flight, Op};
use crate::ucp::request::TagInfo;
use crate::ucp::rkey::RemoteKey;
use crate::ucp::worker::{Posted, ReqOptions};
use crate::ucs::status::{Error, Result};

/// The fast path: bytes in one piece to memory that is mapped here, with nothing to wait for.
/// `None`: take the long way.
#[inline]
pub fn try_mapped(ep: &Endpoint, src: UserMem, remote: u64, key: &RemoteKey) -> Option<()> {
    let dst = key.mapped(remote, src.len())?;
    if !super::may_be_done_at_once(ep) {
        return None;
    }
    src.copy_to(dst);
    Some(())
}

/// Writes `buf` to `remote`. It has completed when the buffer may be used again.
pub fn post(
    ep: &Rc<Endpoint>,
    buf: SendBuf,
    remote: u64,
    key: &Arc<RemoteKey>,
    options: &ReqOptions,
) -> Result<Posted> {
    let len = buf.len();
    if len == 0 {
        drop(buf);
        return ep.worker().now(options, Ok(()), TagInfo::default(), 0);
    }
    super::check(ep, key, remote, len)?;
    ep.worker()
        .note_use(ep, Some(key), Operation::Put, options, len);
    let way = way(ep, &buf, remote, key);
    if ep.order().allows(way) {
        let done = match way {
            Way::Mapped => {
                let dst = key.mapped(remote, len).ok_or(Error::InvalidAddr)?;
                buf.copy_to(dst)?;
                true
            }
            Way::Message => send_one(ep, &buf, remote, key)?,
            Way::Lane | Way::Rails => false,
        };
        if done {
            drop(buf);
            return ep.worker().now(options, Ok(()), TagInfo::default(), 0);
        }
    }
    if options.force_immediate {
        return Err(Error::NoResource);
    }
    let req = ep.worker().new_request(options)?;
    let id = ep.worker().name_op(req);
    let put = Put::new(buf, key.clone(), remote, way, id);
    req.set_op(Op::Put(Flight::new(put)));
    ep.begin_one_sided(req, way);
    ep.worker().settle(req, options)
}

/// Small puts go as messages where a lane costs a system call.
fn way(ep: &Endpoint, buf: &SendBuf, remote: u64, key: &RemoteKey) -> Way {
    if key.mapped(remote, buf.len()).is_some() {
        return Way::Mapped;
    }
    if buf.suits_devices() && super::device_lane(ep, key).is_some() {
        return Way::Lane;
    }
    let by_lane = key.allows_copy()
        && buf.len() >= ep.config().put_lane_min
        && buf.is_in_memory()
        && ep.put_lane().is_some();
    match () {
        () if by_lane => Way::Lane,
        () if suits_rails(ep, buf, key) => Way::Rails,
        () => Way::Message,
    }
}
