//! The operations that programs reach through inline functions: one table for each interface, in
//! which everything that its transport doesn't have answers `UCS_ERR_UNSUPPORTED`.

mod access;
mod atomic;
mod message;
mod rest;
mod unsupported;

pub use unsupported::TABLE as UNSUPPORTED;

use smallvec::SmallVec;

use core::marker::PhantomData;
use std::rc::Rc;

use super::iface::Interface;
use super::reach::{Other, Own, Reach};
use crate::abi::prelude::*;
use crate::uct::registry::{Transport, Visitor, visit};
use crate::uct::{Ep, Iface, IfaceCaps, IoVec};

/// Pieces of memory; most operations have few.
type Pieces = SmallVec<[IoVec; 8]>;

/// How an interface is reached: the functions that were generated for its transport.
#[derive(Clone, Copy)]
pub struct Calls {
    pub ops: uct_iface_ops_t,
    pub progress: unsafe fn(*const c_void) -> c_uint,
    pub iface_at: fn(&Rc<dyn Iface>) -> Option<*const c_void>,
    pub ep_at: fn(&Rc<dyn Ep>) -> Option<*const c_void>,
}

/// The functions for an interface. `direct`: the processor accesses what keys are for.
pub fn calls(tl: &Rc<dyn Iface>, direct: bool) -> Calls {
    struct OfType<'a>(&'a Rc<dyn Iface>, bool);

    impl Visitor for OfType<'_> {
        type Out = Calls;

        fn visit<T: Transport>(&self) -> Option<Calls> {
            Own::<T>::iface_at(self.0)?;
            Some(Table::<Own<T>>::calls(self.0.attr().caps, self.1))
        }
    }

    let own = visit(&OfType(tl, direct));
    own.unwrap_or_else(|| Table::<Other>::calls(tl.attr().caps, direct))
}

/// The functions for transports that are reached in this way.
struct Table<R>(PhantomData<R>);

impl<R: Reach> Table<R> {
    fn calls(caps: IfaceCaps, direct: bool) -> Calls {
        Calls {
            ops: table::<R>(caps, direct),
            progress: Interface::progress_at::<R>,
            iface_at: R::iface_at,
            ep_at: R::ep_at,
        }
    }
}

fn table<R: Reach>(caps: IfaceCaps, direct: bool) -> uct_iface_ops_t {
    let mut ops = UNSUPPORTED;
    rest::fill::<R>(&mut ops);
    if caps.contains(IfaceCaps::AM_SHORT) {
        ops.ep_am_short = Some(message::am_short::<R>);
    }
    if caps.contains(IfaceCaps::AM_BCOPY) {
        ops.ep_am_bcopy = Some(message::am_bcopy::<R>);
        ops.ep_am_short_iov = Some(message::am_short_iov::<R>);
    }
    if caps.contains(IfaceCaps::AM_ZCOPY) {
        ops.ep_am_zcopy = Some(message::am_zcopy::<R>);
    }
    if caps.contains(IfaceCaps::PUT_ZCOPY) {
        ops.ep_put_zcopy = Some(access::put_zcopy::<R>);
    }
    if caps.contains(IfaceCaps::GET_ZCOPY) {
        ops.ep_get_zcopy = Some(access::get_zcopy::<R>);
    }
    if caps.contains(IfaceCaps::PUT_SHORT) {
        ops.ep_put_short = Some(access::put_short_by_transport::<R>);
    }
    if caps.contains(IfaceCaps::GET_SHORT) {
        ops.ep_get_short = Some(access::get_short_by_transport::<R>);
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
