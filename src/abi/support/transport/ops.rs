//! The operations that programs reach through inline functions: one table for each interface, in
//! which everything that its transport doesn't have answers `UCS_ERR_UNSUPPORTED`.

mod access;
mod atomic;
mod message;
mod rest;
mod unsupported;

pub use unsupported::TABLE as UNSUPPORTED;

use smallvec::SmallVec;

use crate::abi::prelude::*;
use crate::uct::{IfaceCaps, IoVec};

/// Pieces of memory; most operations have few.
type Pieces = SmallVec<[IoVec; 8]>;

/// The table of an interface with these capabilities. `direct`: the processor accesses what keys
/// are for.
pub fn table(caps: IfaceCaps, direct: bool) -> uct_iface_ops_t {
    let mut ops = UNSUPPORTED;
    rest::fill(&mut ops);
    if caps.contains(IfaceCaps::AM_SHORT) {
        ops.ep_am_short = Some(message::am_short);
    }
    if caps.contains(IfaceCaps::AM_BCOPY) {
        ops.ep_am_bcopy = Some(message::am_bcopy);
        ops.ep_am_short_iov = Some(message::am_short_iov);
    }
    if caps.contains(IfaceCaps::AM_ZCOPY) {
        ops.ep_am_zcopy = Some(message::am_zcopy);
    }
    if caps.contains(IfaceCaps::PUT_ZCOPY) {
        ops.ep_put_zcopy = Some(access::put_zcopy);
    }
    if caps.contains(IfaceCaps::GET_ZCOPY) {
        ops.ep_get_zcopy = Some(access::get_zcopy);
    }
    if caps.contains(IfaceCaps::PUT_SHORT) {
        ops.ep_put_short = Some(access::put_short_by_transport);
    }
    if caps.contains(IfaceCaps::GET_SHORT) {
        ops.ep_get_short = Some(access::get_short_by_transport);
    }
    if direct {
        ops.ep_put_short = Some(access::put_short);
        ops.ep_put_bcopy = Some(access::put_bcopy);
        ops.ep_get_bcopy = Some(access::get_bcopy);
        atomic::fill(&mut ops);
    }
    ops
}

/// A length or a status, as calls return it that pack.
fn length(status: ucs_status_t, len: usize) -> ssize_t {
    match status {
        Status::OK => len as ssize_t,
        status => status.0 as ssize_t,
    }
}

/// The pieces of a list of buffers.
///
/// # Safety
/// `iov` is NULL with a count of 0, or has `count` entries.
unsafe fn pieces(iov: *const uct_iov_t, count: usize) -> Result<Pieces, ucs_status_t> {
    let entries = match count {
        0 => &[],
        _ if iov.is_null() => return Err(Error::InvalidParam.into()),
        // SAFETY: as the caller says.
        _ => unsafe { core::slice::from_raw_parts(iov, count) },
    };
    let mut out = Pieces::new();
    for entry in entries {
        let ptr = entry.buffer.cast::<u8>().cast_const();
        let (len, blocks) = (entry.length, entry.count as usize);
        if blocks <= 1 || entry.stride == len {
            let len = len.checked_mul(blocks).ok_or(Error::InvalidParam)?;
            out.push(IoVec { ptr, len });
            continue;
        }
        for block in 0..blocks {
            let ptr = ptr.wrapping_add(block.wrapping_mul(entry.stride));
            out.push(IoVec { ptr, len });
        }
    }
    Ok(out)
}
