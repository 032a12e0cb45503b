//! Active messages.

use super::super::ep::Endpoint;
use super::super::reach::Reach;
use super::{length, pieces};
use crate::abi::prelude::*;
use crate::sys::usermem::UserMem;
use crate::uct::{Ep, Iface, IfaceCaps};

/// The caller's bytes.
///
/// # Safety
/// `data` is valid for `len` bytes, or `len` is 0.
#[inline(always)]
unsafe fn bytes<'a>(data: *const c_void, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: as the caller says.
    unsafe { core::slice::from_raw_parts(data.cast(), len) }
}

pub unsafe extern "C" fn am_short<R: Reach>(
    ep: uct_ep_h,
    id: u8,
    header: u64,
    payload: *const c_void,
    len: c_uint,
) -> ucs_status_t {
    // SAFETY: an endpoint of ours, and the caller's payload.
    unsafe {
        let ep = Endpoint::from(ep);
        if payload.is_null() && len > 0 {
            return Error::InvalidParam.into();
        }
        match ep.ready::<R>() {
            Ok(tl) => ep.posted(tl.am_short(id, header, bytes(payload, len as usize))),
            Err(status) => status,
        }
    }
}

pub unsafe extern "C" fn am_short_iov<R: Reach>(
    ep: uct_ep_h,
    id: u8,
    iov: *const uct_iov_t,
    iovcnt: usize,
) -> ucs_status_t {
    // SAFETY: an endpoint of ours, and the caller's pieces.
    unsafe {
        let ep = Endpoint::from(ep);
        let pieces = match pieces(iov, iovcnt) {
            Ok(pieces) => pieces,
            Err(status) => return status,
        };
        let total = pieces
            .iter()
            .try_fold(0usize, |sum, piece| sum.checked_add(piece.len));
        let attr = ep.interface().reached::<R>().attr();
        let limit = attr.max_short + size_of::<u64>();
        let too_many = attr.caps.contains(IfaceCaps::AM_ZCOPY) && iovcnt > attr.max_iov;
        let Some(total) = total.filter(|total| *total <= limit && !too_many) else {
            return Error::InvalidParam.into();
        };
        let tl = match ep.ready::<R>() {
            Ok(tl) => tl,
            Err(status) => return status,
        };
        ep.posted(tl.am_bcopy(id, total, &mut |mut room| {
            for piece in &pieces {
                let piece = UserMem::new(piece.ptr.cast_mut(), piece.len);
                let copied = piece.read_at(0, room);
                room = room.get_mut(copied..).unwrap_or_default();
            }
            total
        }))
    }
}

pub unsafe extern "C" fn am_bcopy<R: Reach>(
    ep: uct_ep_h,
    id: u8,
    pack_cb: uct_pack_callback_t,
    arg: *mut c_void,
    flags: c_uint,
) -> ssize_t {
    let _ = flags;
    let Some(pack) = pack_cb else {
        return Error::InvalidParam as i8 as ssize_t;
    };
    // SAFETY: an endpoint of ours, and the caller's function, which writes no more than the limit.
    unsafe {
        let ep = Endpoint::from(ep);
        let tl = match ep.ready::<R>() {
            Ok(tl) => tl,
            Err(status) => return status.0 as ssize_t,
        };
        let max = ep.interface().reached::<R>().attr().max_bcopy;
        let mut packed = 0;
        let post = tl.am_bcopy(id, max, &mut |room| {
            packed = pack(room.as_mut_ptr().cast(), arg);
            packed
        });
        length(ep.posted(post), packed)
    }
}

pub unsafe extern "C" fn am_zcopy<R: Reach>(
    ep: uct_ep_h,
    id: u8,
    header: *const c_void,
    header_length: c_uint,
    iov: *const uct_iov_t,
    iovcnt: usize,
    flags: c_uint,
    comp: *mut uct_completion_t,
) -> ucs_status_t {
    let _ = flags;
    // SAFETY: an endpoint of ours, the caller's header and pieces.
    unsafe {
        let ep = Endpoint::from(ep);
        if header.is_null() && header_length > 0 {
            return Error::InvalidParam.into();
        }
        let pieces = match pieces(iov, iovcnt) {
            Ok(pieces) => pieces,
            Err(status) => return status,
        };
        let header = bytes(header, header_length as usize);
        match ep.ready::<R>() {
            Ok(tl) => ep.post(comp, |token| tl.am_zcopy(id, header, &pieces, token)),
            Err(status) => status,
        }
    }
}
