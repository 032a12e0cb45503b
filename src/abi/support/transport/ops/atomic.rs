//! Atomic operations of the processor. They are done at once, so completions are not needed.

use super::super::ep::Endpoint;
use crate::abi::prelude::*;
use crate::uct::ops::direct::{Change, Word, local};

pub fn fill(ops: &mut uct_iface_ops_t) {
    ops.ep_atomic32_post = Some(post::<u32>);
    ops.ep_atomic64_post = Some(post::<u64>);
    ops.ep_atomic32_fetch = Some(fetch::<u32>);
    ops.ep_atomic64_fetch = Some(fetch::<u64>);
    ops.ep_atomic_cswap32 = Some(cswap::<u32>);
    ops.ep_atomic_cswap64 = Some(cswap::<u64>);
}

fn change(opcode: c_uint) -> Result<Change, ucs_status_t> {
    match opcode {
        UCT_ATOMIC_OP_ADD => Ok(Change::Add),
        UCT_ATOMIC_OP_AND => Ok(Change::And),
        UCT_ATOMIC_OP_OR => Ok(Change::Or),
        UCT_ATOMIC_OP_XOR => Ok(Change::Xor),
        UCT_ATOMIC_OP_SWAP => Ok(Change::Swap),
        _ => Err(Error::Unsupported.into()),
    }
}

/// Stores what was there; a word that is not aligned is refused.
///
/// # Safety
/// `result` is writable.
#[inline(always)]
unsafe fn give<T>(before: Option<T>, result: *mut T) -> ucs_status_t {
    match before {
        Some(before) => {
            // SAFETY: as the caller says.
            unsafe { result.write(before) };
            Status::OK
        }
        None => Error::InvalidParam.into(),
    }
}

unsafe extern "C" fn post<W: Word + Default>(
    ep: uct_ep_h,
    opcode: c_uint,
    value: W,
    remote: u64,
    rkey: uct_rkey_t,
) -> ucs_status_t {
    if opcode == UCT_ATOMIC_OP_SWAP {
        return Error::Unsupported.into();
    }
    let mut before = W::default();
    let none = core::ptr::null_mut();
    // SAFETY: the caller's own arguments, and a place of our own.
    unsafe { fetch(ep, opcode, value, &raw mut before, remote, rkey, none) }
}

unsafe extern "C" fn fetch<W: Word>(
    ep: uct_ep_h,
    opcode: c_uint,
    value: W,
    result: *mut W,
    remote: u64,
    rkey: uct_rkey_t,
    _comp: *mut uct_completion_t,
) -> ucs_status_t {
    // SAFETY: an endpoint of ours; memory that the key is for; the caller's place.
    unsafe {
        match (Endpoint::from(ep).open(), change(opcode)) {
            (Err(status), _) | (_, Err(status)) => status,
            _ if result.is_null() => Error::InvalidParam.into(),
            (Ok(_), Ok(change)) => give(W::fetch(local(remote, rkey), change, value), result),
        }
    }
}

unsafe extern "C" fn cswap<W: Word>(
    ep: uct_ep_h,
    compare: W,
    swap: W,
    remote: u64,
    rkey: uct_rkey_t,
    result: *mut W,
    _comp: *mut uct_completion_t,
) -> ucs_status_t {
    // SAFETY: an endpoint of ours; memory that the key is for; the caller's place.
    unsafe {
        match Endpoint::from(ep).open() {
            _ if result.is_null() => Error::InvalidParam.into(),
            Ok(_) => give(W::compare(local(remote, rkey), compare, swap), result),
            Err(status) => status,
        }
    }
}
