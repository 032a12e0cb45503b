//! Memory of devices that the other side opens: what RTS and RTR tell of it, and who moves the bytes.
#![forbid(unsafe_code)]

use std::rc::Rc;

use crate::ucp::context::Context;
use crate::ucp::dt::{RecvBuf, SendBuf};
use crate::ucp::ep::{Endpoint, Rail, RailInfo};
use crate::ucp::mem::device;
use crate::ucp::rkey::wire::Entry;
use crate::ucp::select::RndvScheme;
use crate::ucp::wire::rndv::{Region, Rts};
use crate::uct;
use crate::uct::cuda::ipc::Named;

/// What the receiver needs to open the buffer. The region is the buffer itself.
pub fn region(ep: &Endpoint, buf: &SendBuf) -> Option<Region> {
    let SendBuf::Device(buf) = buf else {
        return None;
    };
    let (memory, _) = buf.memory()?;
    ep.device_lane()?;
    let base = memory.ptr().addr() as u64;
    let entry = device::entry(ep.worker().context(), base)?;
    Some(Region {
        base,
        len: memory.len() as u64,
        entries: core::iter::once(entry).collect(),
    })
}

/// The sender's memory as a key of the lane for device memory, and where the message is.
pub fn key(context: &Context, rts: &Rts) -> Option<(Named, u64)> {
    let region = rts.region.as_ref().filter(|_| rts.address == 0)?;
    let key = device::key_of(context, &region.entries)?;
    Some((key, region.base))
}

/// The receiver's memory, if this side can open it. Nothing is mapped by that.
pub fn opened(context: &Context, entry: Option<&Entry>) -> Option<Named> {
    device::key_of(context, core::slice::from_ref(entry?))
}

/// The lane that reads, if this buffer can be filled by it.
pub fn lane(ep: &Endpoint, buf: &RecvBuf) -> Option<Rc<dyn uct::Ep>> {
    ep.device_reader().filter(|_| buf.suits_devices())
}

/// The lane as one that writes. What it has told to be done is in place.
pub fn rail(ep: &Endpoint) -> Option<Rail> {
    let index = ep.config().lanes.device?;
    Some(Rail {
        lane: ep.device_lane()?,
        info: RailInfo {
            index,
            keyed: false,
            ordered: true,
            max_iov: 1,
            max_len: usize::MAX,
            bandwidth: 0.0,
        },
    })
}

/// Whether the message goes through host memory although a device could move it itself: between
/// devices, if the user didn't ask for a scheme.
pub fn stages(ep: &Endpoint, buf: &RecvBuf, rts: &Rts, is_tag: bool) -> bool {
    let rndv = &ep.config().rndv;
    let between_devices = rts.staged && matches!(buf, RecvBuf::Device(_));
    let size = usize::try_from(rts.total).unwrap_or(usize::MAX);
    rndv.forced.is_none() && between_devices && rndv.device.stages(size, is_tag)
}

/// Whether the receiver can read, and may: always, unless the user wants another scheme. Mapping the
/// sender's memory and copying out of it is what a lane of devices does.
pub fn reads(ep: &Endpoint, buf: &RecvBuf, rts: &Rts) -> bool {
    let forced = ep.config().rndv.forced;
    let wanted =
        forced.is_none_or(|scheme| matches!(scheme, RndvScheme::Get | RndvScheme::RkeyPtr));
    wanted && lane(ep, buf).is_some() && key(ep.worker().context(), rts).is_some()
}

/// How the sender opens the receiver's memory to write to it, from a device of its own: where that is
/// wanted, or nothing else is and reading is not possible.
pub fn target(ep: &Endpoint, buf: &RecvBuf, rts: &Rts) -> Option<Entry> {
    let forced = ep.config().rndv.forced;
    let wanted = forced.is_none_or(|scheme| scheme == RndvScheme::Put);
    let RecvBuf::Device(buf) = buf else {
        return None;
    };
    let (memory, _) = buf.memory()?;
    let context = ep.worker().context();
    // The sender has told that a device of its own could be read, so it has the lane.
    let able = wanted && rts.staged && ep.device_lane().is_some() && key(context, rts).is_some();
    let at = memory.ptr().addr() as u64;
    able.then(|| device::entry(context, at)).flatten()
}
