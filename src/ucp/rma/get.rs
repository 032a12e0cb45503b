//! Get: reads from the peer's memory.

use std::rc::Rc;
use std::sync::Arc;

use super::order::Way;
use crate::sys::usermem::UserMem;
use crate::ucp::dt::RecvBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::print::used::Operation;
use crate::ucp::proto::rma::get::Get;
use crate::ucp::proto::{Flight, Op};
use crate::ucp::request::TagInfo;
use crate::ucp::rkey::RemoteKey;
use crate::ucp::worker::{Posted, ReqOptions};
use crate::ucs::status::{Error, Result};

/// As [`super::put::try_mapped`].
#[inline]
pub fn try_mapped(ep: &Endpoint, dst: UserMem, remote: u64, key: &RemoteKey) -> Option<()> {
    let src = key.mapped(remote, dst.len())?;
    if !super::may_be_done_at_once(ep) {
        return None;
    }
    src.copy_to(dst);
    Some(())
}

/// Reads as many bytes at `remote` as `buf` has. It has completed when they are there.
pub fn post(
    ep: &Rc<Endpoint>,
    buf: RecvBuf,
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
        .note_use(ep, Some(key), Operation::Get, options, len);
    let way = way(ep, &buf, remote, key);
    if way == Way::Mapped && ep.order().allows(way) {
        let src = key.mapped(remote, len).ok_or(Error::InvalidAddr)?;
        buf.copy_from(src)?;
        drop(buf);
        return ep.worker().now(options, Ok(()), TagInfo::default(), 0);
    }
    if options.force_immediate {
        return Err(Error::NoResource);
    }
    let req = ep.worker().new_request(options)?;
    let id = ep.worker().name_op(req);
    let get = Get::new(buf, key.clone(), remote, way, id);
    req.set_op(Op::Get(Flight::new(get)));
    ep.begin_one_sided(req, way);
    ep.worker().settle(req, options)
}

fn way(ep: &Endpoint, buf: &RecvBuf, remote: u64, key: &RemoteKey) -> Way {
    if key.mapped(remote, buf.len()).is_some() {
        return Way::Mapped;
    }
    if buf.suits_devices() && super::device_reader(ep, key).is_some() {
        return Way::Lane;
    }
    let by_lane = key.allows_copy() && buf.is_in_memory() && ep.fetch_lane().is_some();
    if by_lane { Way::Lane } else { Way::Message }
}
