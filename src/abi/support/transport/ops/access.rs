//! Put and get.

use super::super::ep::Endpoint;
use super::super::reach::Reach;
use super::pieces;
use crate::abi::prelude::*;
use crate::uct::ops::direct::local;
use crate::uct::{Ep, IoVec, IoVecMut};

pub unsafe extern "C" fn put_short(
    ep: uct_ep_h,
    buffer: *const c_void,
    len: c_uint,
    remote: u64,
    rkey: uct_rkey_t,
) -> ucs_status_t {
    // SAFETY: an endpoint of ours; the caller's buffer, and memory that the key is for.
    unsafe {
        match Endpoint::from(ep).open() {
            Ok(_) if buffer.is_null() && len > 0 => Error::InvalidParam.into(),
            Ok(_) => {
                let to = local(remote, rkey);
                crate::sys::usermem::copy(buffer.cast(), to, len as usize);
                Status::OK
            }
            Err(status) => status,
        }
    }
}

/// For transports that do it themselves.
pub unsafe extern "C" fn put_short_by_transport<R: Reach>(
    ep: uct_ep_h,
    buffer: *const c_void,
    len: c_uint,
    remote: u64,
    rkey: uct_rkey_t,
) -> ucs_status_t {
    // SAFETY: an endpoint of ours.
    let ep = unsafe { Endpoint::from(ep) };
    match ep.ready::<R>() {
        Ok(_) if buffer.is_null() && len > 0 => Error::InvalidParam.into(),
        Ok(tl) => {
            let from = IoVec {
                ptr: buffer.cast(),
                len: len as usize,
            };
            ep.posted(tl.put_short(from, remote, rkey as u64))
        }
        Err(status) => status,
    }
}

/// The same for a get.
pub unsafe extern "C" fn get_short_by_transport<R: Reach>(
    ep: uct_ep_h,
    buffer: *mut c_void,
    len: c_uint,
    remote: u64,
    rkey: uct_rkey_t,
) -> ucs_status_t {
    // SAFETY: an endpoint of ours.
    let ep = unsafe { Endpoint::from(ep) };
    match ep.ready::<R>() {
        Ok(_) if buffer.is_null() && len > 0 => Error::InvalidParam.into(),
        Ok(tl) => {
            let to = IoVecMut {
                ptr: buffer.cast(),
                len: len as usize,
            };
            ep.posted(tl.get_short(to, remote, rkey as u64))
        }
        Err(status) => status,
    }
}

pub unsafe extern "C" fn put_bcopy(
    ep: uct_ep_h,
    pack_cb: uct_pack_callback_t,
    arg: *mut c_void,
    remote: u64,
    rkey: uct_rkey_t,
) -> ssize_t {
    let Some(pack) = pack_cb else {
        return Error::InvalidParam as i8 as ssize_t;
    };
    // SAFETY: an endpoint of ours; the caller's function, which writes where the key is for.
    unsafe {
        match Endpoint::from(ep).open() {
            Ok(_) => pack(local(remote, rkey).cast(), arg) as ssize_t,
            Err(status) => status.0 as ssize_t,
        }
    }
}

pub unsafe extern "C" fn get_bcopy(
    ep: uct_ep_h,
    unpack_cb: uct_unpack_callback_t,
    arg: *mut c_void,
    len: usize,
    remote: u64,
    rkey: uct_rkey_t,
    comp: *mut uct_completion_t,
) -> ucs_status_t {
    // It is done at once.
    let _ = comp;
    let Some(unpack) = unpack_cb else {
        return Error::InvalidParam.into();
    };
    // SAFETY: an endpoint of ours; the caller's function reads where the key is for.
    unsafe {
        match Endpoint::from(ep).open() {
            Ok(_) if len > 0 => {
                unpack(arg, local(remote, rkey).cast_const().cast(), len);
                Status::OK
            }
            Ok(_) => Status::OK,
            Err(status) => status,
        }
    }
}

pub unsafe extern "C" fn put_zcopy<R: Reach>(
    ep: uct_ep_h,
    iov: *const uct_iov_t,
    iovcnt: usize,
    remote: u64,
    rkey: uct_rkey_t,
    comp: *mut uct_completion_t,
) -> ucs_status_t {
    // SAFETY: an endpoint of ours, the caller's pieces.
    unsafe {
        let ep = Endpoint::from(ep);
        let pieces = match pieces(iov, iovcnt) {
            Ok(pieces) => pieces,
            Err(status) => return status,
        };
        match ep.ready::<R>() {
            Ok(tl) => ep.post(comp, |token| {
                tl.put_zcopy(&pieces, remote, rkey as u64, token)
            }),
            Err(status) => status,
        }
    }
}

pub unsafe extern "C" fn get_zcopy<R: Reach>(
    ep: uct_ep_h,
    iov: *const uct_iov_t,
    iovcnt: usize,
    remote: u64,
    rkey: uct_rkey_t,
    comp: *mut uct_completion_t,
) -> ucs_status_t {
    // SAFETY: an endpoint of ours, the caller's pieces.
    unsafe {
        let ep = Endpoint::from(ep);
        let pieces = match pieces(iov, iovcnt) {
            Ok(pieces) => pieces,
            Err(status) => return status,
        };
        let pieces: smallvec::SmallVec<[IoVecMut; 8]> = pieces
            .iter()
            .map(|piece| IoVecMut {
                ptr: piece.ptr.cast_mut(),
                len: piece.len,
            })
            .collect();
        match ep.ready::<R>() {
            Ok(tl) => ep.post(comp, |token| {
                tl.get_zcopy(&pieces, remote, rkey as u64, token)
            }),
            Err(status) => status,
        }
    }
}
