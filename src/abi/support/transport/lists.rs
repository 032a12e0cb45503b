//! Transfers by lists of buffers.

use super::ep::Endpoint;
use super::iface::Interface;
use crate::abi::prelude::*;
use crate::uct::{Ep, Post, Transfer};

/// Buffers, lengths, remote addresses and their keys.
type Arrays = (
    *const *mut c_void,
    *const usize,
    *const u64,
    *const uct_rkey_t,
);

/// The transfers of `count` elements, of which each is repeated as `counts` and `strides` say, if
/// they are there.
///
/// # Errors
/// `InvalidParam` for arrays or buffers that are NULL, and for more bytes than there can be.
///
/// # Safety
/// The arrays have `count` elements.
pub unsafe fn read(
    (buffers, lengths, remote, keys): Arrays,
    (counts, strides): (*const usize, *const usize),
    count: usize,
) -> Result<Vec<Transfer>, Error> {
    let arrays = [
        buffers.is_null(),
        lengths.is_null(),
        remote.is_null(),
        keys.is_null(),
    ];
    if count > 0 && arrays.contains(&true) {
        return Err(Error::InvalidParam);
    }
    let mut list = Vec::new();
    for i in 0..count {
        // SAFETY: as the caller says; those that may be NULL are looked at first.
        let (first, blocks, stride) = unsafe {
            let first = Transfer {
                local: buffers.add(i).read().cast(),
                len: lengths.add(i).read(),
                remote: remote.add(i).read(),
                rkey: keys.add(i).read() as u64,
            };
            let or = |array: *const usize, none| match array.is_null() {
                true => none,
                false => array.add(i).read(),
            };
            (first, or(counts, 1), or(strides, 0))
        };
        if first.len == 0 {
            continue;
        }
        let span = stride.checked_mul(blocks).ok_or(Error::InvalidParam)?;
        if first.local.is_null() || first.local.addr().checked_add(span).is_none() {
            return Err(Error::InvalidParam);
        }
        list.try_reserve(blocks).map_err(|_| Error::NoMemory)?;
        list.extend((0..blocks).map(|block| Transfer {
            local: first.local.wrapping_add(block * stride),
            remote: first.remote.wrapping_add((block * stride) as u64),
            ..first
        }));
    }
    Ok(list)
}

/// Posts a list on an endpoint.
///
/// # Safety
/// `ep` is NULL or live; buffers stay until the operation has completed.
pub unsafe fn post(
    ep: uct_ep_h,
    list: Result<Vec<Transfer>, Error>,
    comp: *mut uct_completion_t,
    post: impl FnOnce(&dyn Ep, &[Transfer], u64) -> Result<Post, Error>,
) -> ucs_status_t {
    // SAFETY: as the caller says.
    unsafe {
        let Some(of) = ep.as_ref() else {
            return Error::InvalidParam.into();
        };
        let tl = Interface::from(of.iface).and_then(|_| Endpoint::from(ep).connected());
        match (tl, list) {
            (Ok(tl), Ok(list)) => Endpoint::from(ep).post(comp, |token| post(tl, &list, token)),
            (Err(error), _) | (_, Err(error)) => error.into(),
        }
    }
}
