//! Memory of the sender's device that the receiver opens: what the RTS tells of it, and who reads it.
#![forbid(unsafe_code)]

use std::rc::Rc;

use crate::ucp::context::Context;
use crate::ucp::dt::{RecvBuf, SendBuf};
use crate::ucp::ep::Endpoint;
use crate::ucp::mem::device;
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

/// The lane, if this buffer can be filled by it.
pub fn lane(ep: &Endpoint, buf: &RecvBuf) -> Option<Rc<dyn uct::Ep>> {
    ep.device_lane().filter(|_| buf.suits_devices())
}

/// Whether the message goes through host memory although it can be read: between devices, if the
/// user didn't ask for reading.
pub fn stages(ep: &Endpoint, buf: &RecvBuf, rts: &Rts, is_tag: bool) -> bool {
    let rndv = &ep.config().rndv;
    let between_devices = rts.staged && matches!(buf, RecvBuf::Device(_));
    let size = usize::try_from(rts.total).unwrap_or(usize::MAX);
    rndv.forced.is_none() && between_devices && rndv.device.stages(size, is_tag)
}

/// Whether the receiver can read, and may: always, unless the user wants another scheme.
pub fn reads(ep: &Endpoint, buf: &RecvBuf, rts: &Rts) -> bool {
    let forced = ep.config().rndv.forced;
    let wanted = forced.is_none_or(|scheme| scheme == RndvScheme::Get);
    wanted && lane(ep, buf).is_some() && key(ep.worker().context(), rts).is_some()
}
